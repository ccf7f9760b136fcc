"""Numbers kept exactly, next to their floats.

In a document ``0.3`` and ``0.7`` sum to 1; as binary floats they do not. A model therefore keeps
what was written (decimal, fraction or integer) and turns it into a `fractions.Fraction` when an
exact check asks for it. Models built from float arrays are *binary*: their exact numbers are the
floats themselves, and the rounding residue of each distribution belongs to its last transition.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from recurl.model.spec import Number

_FORM = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?|[+-]?\d+/\d+", re.ASCII)
_PLAIN_CHARACTERS = re.compile(r"[-+0-9.eE\n]*")
_LONG_EXPONENT = re.compile(r"[eE][-+]?[0-9]{4}")
_LONGEST = 400
_SHORT = 300
_LONGEST_BITS = 20_000
# Wide enough that sums of written decimals (at most 400 digits, exponents up to 999) stay exact.
_WIDE = Context(prec=4000)


def number_text(number: Number) -> str:
    """The text that a number is read from: a float stands for its shortest decimal.

    Raises:
        ValueError: The number is not finite, or its text is not a decimal, integer or fraction.
    """
    if type(number) is str:
        text = number.strip()
    elif isinstance(number, float):
        text = repr(float(number))
    else:
        text = str(number)
    if len(text) > _LONGEST:
        raise ValueError(f"the number {text[:20]}... has more than {_LONGEST} characters")
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r} is not a finite decimal, integer or fraction such as 1/3")
    return text


def exact(number: Number) -> Fraction:
    """The exact value of a number as people write it.

    Example:
        >>> exact("1/3"), exact(0.3), exact("-1e-2")
        (Fraction(1, 3), Fraction(3, 10), Fraction(-1, 100))
    """
    if isinstance(number, Fraction):
        return number
    text = number_text(number)
    try:
        return _fraction(text)
    except ZeroDivisionError:
        raise ValueError(f"{number} divides by zero") from None
    except OverflowError:
        raise ValueError(f"{text[:20]} is too large for a float") from None


@lru_cache(4096)
def _fraction(text: str) -> Fraction:
    """A text as a fraction; models have few different numbers, and ask for them often."""
    value = Fraction(text)
    # Only such a text can be beyond all floats, as rewards and probabilities never are.
    if len(text) > _SHORT or "e" in text or "E" in text:
        float(value)
    return value


def to_float(number: Number) -> float:
    """The float nearest to a number as people write it; ValueError where there is none.

    Negative zero becomes zero, so that equal numbers have equal floats.

    Example:
        >>> to_float("1/4"), to_float("-0")
        (0.25, 0.0)
    """
    text = number_text(number)
    try:
        value = float(exact(text)) if "/" in text else float(text)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is too large for a float")
    return value + 0.0


class NumberColumn:
    """Many numbers, as text and as floats; anything else is NaN."""

    def __init__(self, texts: list[str] | None = None, values: list[float] | None = None) -> None:
        self.texts, self.values = texts or [], values or []

    @classmethod
    def read(cls, numbers: Sequence[Number]) -> NumberColumn:
        """Read numbers as people write them, at C speed where all are decimals.

        Example:
            >>> column = NumberColumn.read(["1/4", 0.5, "half"])
            >>> column.texts, column.values
            (['1/4', '0.5', 'half'], [0.25, 0.5, nan])
        """
        texts = [n if type(n) is str else _lenient_text(n) for n in numbers]
        values = _plain_floats(texts)
        if values is None:
            known = {text: _lenient_float(text) for text in set(texts)}
            values = [known[text] for text in texts]
        return cls(texts, values)

    def __iadd__(self, other: NumberColumn) -> NumberColumn:
        self.texts += other.texts
        self.values += other.values
        return self

    def replace(self, first: int, texts: list[str]) -> None:
        """Put other numbers in the place of some."""
        block = slice(first, first + len(texts))
        self.texts[block], self.values[block] = texts, NumberColumn.read(texts).values


def _plain_floats(texts: list[str]) -> list[float] | None:
    """The floats of texts, if all are decimals that `float` reads as `to_float` does.

    Negative zeros are left to the arrays that floats go to, which have none.
    """
    together = "\n".join(texts)
    if not _PLAIN_CHARACTERS.fullmatch(together) or _LONG_EXPONENT.search(together):
        return None
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    short = len(max(texts, key=len, default="")) <= _LONGEST
    return values if short and math.inf not in values and -math.inf not in values else None


def _lenient_text(number: Number) -> str:
    try:
        return number_text(number)
    except ValueError:
        return "nan"


def _lenient_float(text: str) -> float:
    try:
        return to_float(text)
    except ValueError:
        return math.nan


def exact_sum(numbers: Iterable[Number]) -> Fraction:
    """The exact sum of numbers as people write them.

    Raises:
        ValueError: Their denominators have too little in common to be added with reasonable effort.
    """
    total = Fraction(0)
    for number in numbers:
        total += exact(number)
        if total.denominator.bit_length() > _LONGEST_BITS:
            raise ValueError("the common denominator is too long to add them up exactly")
    return total


def sum_is_one(numbers: Sequence[Number]) -> bool:
    """Whether probabilities sum to 1 exactly.

    Example:
        >>> sum_is_one(["0.1", "0.2", "0.7"]), sum_is_one(["1/3", "0.666"])
        (True, False)
    """
    try:
        total = Decimal(0)
        for number in numbers:
            text = number if type(number) is str else number_text(number)
            total = _WIDE.add(total, _WIDE.create_decimal(text))
        return total == 1
    except InvalidOperation:  # a fraction among them
        return exact_sum(numbers) == 1


def remainder_text(numbers: Sequence[Number]) -> str | None:
    """The remainder of 1 after some numbers, as a document writes it; None if there is none.

    Example:
        >>> remainder_text(["1/3", "1/3"]), remainder_text(["0.25"]), remainder_text(["1"])
        ('1/3', '0.75', None)
    """
    rest = 1 - exact_sum(numbers)
    # An integer of more bits has more digits than a number may have, and takes long to print.
    if rest <= 0 or rest.denominator.bit_length() > 4 * _LONGEST:
        return None
    text = shortest_text(rest)
    return text if len(text) <= _LONGEST else None


def shortest_text(value: Fraction) -> str:
    """A number as a document writes it: a decimal where one is exact, else a fraction.

    Example:
        >>> [shortest_text(Fraction(*pair)) for pair in ((3, 10), (1, 3), (7, 1))]
        ['0.3', '1/3', '7']
    """
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(value)
    return format(_WIDE.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")


def short_number(value: Fraction, sign: str = "", longest: int = 12, *, digits: int = 6) -> str:
    """A number as a person writes it: exact unless that is long.

    Args:
        value: The number.
        sign: ``"+"`` shows the sign of numbers that are not negative, too.
        longest: A longer text is replaced by a rounded number.
        digits: Digits of a rounded number.

    Example:
        >>> short_number(Fraction(1, 3)), short_number(Fraction(1, 2), "+")
        ('1/3', '+0.5')
        >>> short_number(Fraction(10**9, 3 * 10**9 + 1))
        '0.333333'
    """
    text = shortest_text(value)
    if len(text) > longest:
        return f"{float(value):{sign}.{digits}g}"
    return f"+{text}" if sign and value >= 0 else text


class ExactNumbers:
    """The exact probabilities and rewards of a model, by transition.

    Args:
        start: Start probabilities, as written.
        prob: Transition probabilities as written, or None if the model is binary.
        reward: Transition rewards as written, or None if the model is binary.
        floats: The float arrays ``(start, prob, reward, transition_start)``.
    """

    def __init__(
        self,
        start: Sequence[Number] | None,
        prob: Sequence[Number] | None,
        reward: Sequence[Number] | None,
        *,
        floats: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    ) -> None:
        self._start, self._prob, self._reward = start, prob, reward
        self._floats = floats

    @property
    def binary(self) -> bool:
        """Whether the exact numbers are the floats themselves."""
        return self._prob is None

    def prob(self, transition: int) -> Fraction:
        """Exact probability of a transition."""
        if self._prob is not None:
            return exact(self._prob[transition])
        import numpy as np

        _, prob, _, begins = self._floats
        action = int(np.searchsorted(begins, transition, side="right")) - 1
        row = prob[begins[action] : begins[action + 1]]
        return _binary_probability(row, transition - begins[action])

    def reward(self, transition: int) -> Fraction:
        """Exact reward of a transition."""
        if self._reward is not None:
            return exact(self._reward[transition])
        return Fraction(float(self._floats[2][transition]))

    @cached_property
    def reward_range(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest reward."""
        if self._reward is not None:
            every = [exact(x) for x in set(self._reward)]
            return min(every), max(every)
        return Fraction(float(self._floats[2].min())), Fraction(float(self._floats[2].max()))

    def times(self, factor: Fraction, reward: np.ndarray) -> ExactNumbers:
        """The same with all rewards times a factor, and their floats.

        Args:
            factor: The factor.
            reward: The products, as floats.
        """
        start, prob, _, begins = self._floats
        products = [factor * self.reward(i) for i in range(len(reward))]
        return ExactNumbers(self._start, self._prob, products, floats=(start, prob, reward, begins))

    def distinct(self) -> tuple[list[str | float], list[int], list[int]]:
        """All different numbers, and which one each probability and each reward is.

        They are texts; in binary models floats, taken as what they are in binary, and the last
        probability of an action is ``rest``: what the others leave.
        """
        import numpy as np

        found: dict[str, int] = {}
        if self._prob is not None and self._reward is not None:
            known: dict[object, int] = {}
            columns = []
            for values in (self._prob, self._reward):
                for x in values:
                    if (key := (type(x), x)) not in known:
                        known[key] = found.setdefault(str(exact(x)), len(found))
                columns.append([known[type(x), x] for x in values])
            return list(found), columns[0], columns[1]
        _, prob, reward, begins = self._floats
        every, index = np.unique(np.concatenate([prob, reward]), return_inverse=True)
        index[begins[1:] - 1] = len(every)
        return [*every.tolist(), "rest"], index[: len(prob)].tolist(), index[len(prob) :].tolist()

    def nearest(self) -> tuple[np.ndarray, np.ndarray]:
        """The floats nearest to the exact probabilities and rewards of all transitions."""
        import numpy as np

        _, prob, reward, begins = self._floats
        if self._prob is not None and self._reward is not None:
            known = {x: float(exact(x)) for x in {*self._prob, *self._reward}}
            prob, reward = (np.array([known[x] for x in row]) for row in (self._prob, self._reward))
            return prob, reward
        minus = (-prob).tolist()
        pairs = itertools.pairwise(begins.tolist())
        rest = [math.fsum([1.0, *minus[first : last - 1]]) for first, last in pairs]
        prob = prob.copy()
        prob[begins[1:] - 1] = rest
        return prob, reward

    def start(self, entry: int) -> Fraction:
        """Exact probability that a run starts at an entry of the start component."""
        if self._start is not None:
            return exact(self._start[entry])
        row = self._floats[0]
        last = int(row.nonzero()[0][-1])
        return _binary_probability(row[: last + 1], entry) if entry <= last else Fraction(0)

    def start_text(self, entry: int) -> str:
        """Start probability of an entry as a document writes it."""
        return _text(self._start, self._floats[0], entry)

    def prob_text(self, transition: int) -> str:
        """Probability of a transition as a document writes it."""
        return _text(self._prob, self._floats[1], transition)

    def reward_text(self, transition: int) -> str:
        """Reward of a transition as a document writes it."""
        return _text(self._reward, self._floats[2], transition)

    def deviations(self) -> Iterator[str]:
        """Numbers that differ from the shortest decimal of their float, as text for hashing."""
        if self.binary:
            yield "binary"
            return
        for kind, written, floats in zip(
            "spr", (self._start, self._prob, self._reward), self._floats[:3], strict=True
        ):
            assert written is not None
            # Texts only: among numbers, 0.1 and the fraction that it is in binary would be equal.
            plain: set[str] = set()
            for index, (number, value) in enumerate(zip(written, floats.tolist(), strict=True)):
                if type(number) is str and (number in plain or number == repr(value)):
                    continue
                precise = exact(number)
                if precise != Fraction(repr(value)):
                    yield f"{kind}{index}={precise}"
                elif type(number) is str:
                    plain.add(number)


def _text(written: Sequence[Number] | None, floats: np.ndarray, index: int) -> str:
    if written is None:
        return repr(float(floats[index]))
    number = written[index]
    return number if type(number) is str else number_text(number)


def _binary_probability(row: np.ndarray, index: int) -> Fraction:
    """Probability in a row of floats whose last one is the remainder of the others."""
    if index < len(row) - 1:
        return Fraction(float(row[index]))
    return 1 - sum((Fraction(float(p)) for p in row[:-1]), Fraction(0))
