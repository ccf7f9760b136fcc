"""The words of a program: `choose`, `flip`, `pick`, `reward` and `outcome`.

They call the current `Runner`, which decides what they do. `Program.model` does not
run them at all: it reads the source.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from recurl.errors import RecurlError
from recurl.model.numbers import exact

if TYPE_CHECKING:
    from recurl.model.spec import Number
    from recurl.programs.decorator import Program

T = TypeVar("T")

TOLERANCE = Fraction(1, 10**9)
"""How far probabilities may be from a sum of 1; the last one takes the difference."""


class Runner(Protocol):
    """Runs a program: decides, draws, counts, and follows calls."""

    def choose(self, options: tuple[Any, ...], frame: FrameType) -> Any:
        """One of the options, for the choice at which the frame stands."""

    def draw(self, outcomes: Mapping[Any, Number]) -> Any:
        """A value drawn from a distribution."""

    def reward(self, amount: Number) -> None:
        """Count a reward."""

    def outcome(self, work: Callable[[], Any], exceptions: tuple[type[Exception], ...]) -> Any:
        """The result of some work, or an exception of the types given."""

    def call(
        self, program: Program, arguments: tuple[Any, ...], named: dict[str, Any], frame: FrameType
    ) -> Any:
        """The result of a call of a decorated function."""


RUNNER: ContextVar[Runner | None] = ContextVar("recurl_runner", default=None)


@contextmanager
def running(runner: Runner) -> Iterator[None]:
    """Make a runner the current one for a while."""
    token = RUNNER.set(runner)
    try:
        yield
    finally:
        RUNNER.reset(token)


def caller() -> FrameType:
    """The frame that called the function which asks."""
    own = inspect.currentframe()
    frame = own and own.f_back and own.f_back.f_back
    assert frame is not None
    return frame


def current(word: str) -> Runner:
    """The current runner, for a word of the language."""
    runner = RUNNER.get()
    if runner is None:
        raise RecurlError(
            f"{word} was called outside a program: decorate the function that calls it with "
            "@program, and run that with .play(), .live() or a completion's .run()"
        )
    return runner


def choose(*options: T) -> T:
    """An open choice among the options: the solver or the learner fills it in.

    A single tuple, list or range stands for its elements: ``choose(range(n))``.

    Example:
        >>> import recurl
        >>> @recurl.program
        ... def walk():
        ...     if choose("short", "long") == "short":
        ...         reward(-1)
        ...     else:
        ...         reward(-2)
        >>> walk.solve().value
        -1.0
    """
    chosen: T = current("choose").choose(options_of(options), caller())
    return chosen


def options_of(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The different options of a choice, in order.

    Example:
        >>> options_of(("a", "b", "a")), options_of((range(3),)), options_of((1, True))
        (('a', 'b'), (0, 1, 2), (1, True))
    """
    if len(given) == 1 and isinstance(given[0], list | tuple | range):
        given = tuple(given[0])
    if not given:
        raise ValueError("choose() has no options: give at least one")
    return tuple({(value, types_in(value)): value for value in given}.values())


def types_in(value: Any) -> Any:
    """The types that a value is made of: values are the same if these and the values are equal.

    Example:
        >>> types_in((1, "a")), (1,) == (True,), types_in((1,)) == types_in((True,))
        ((<class 'tuple'>, <class 'int'>, <class 'str'>), True, False)
    """
    kind = type(value)
    if isinstance(value, tuple):
        return kind, *map(types_in, value)
    if isinstance(value, frozenset):
        return kind, frozenset((item, types_in(item)) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return kind, *(types_in(getattr(value, field.name)) for field in fields(value))
    return kind


def flip(p: Number) -> bool:
    """True with probability p; floats are read as the decimals that they print as."""
    return bool(current("flip").draw(coin(p)))


def coin(p: Number) -> dict[bool, Fraction]:
    """The distribution of a flip; outcomes of probability 0 are left out."""
    heads = exact(p)
    if not 0 <= heads <= 1:
        raise ValueError(f"flip({p}): a probability lies between 0 and 1")
    return {side: q for side, q in ((True, heads), (False, 1 - heads)) if q}


def pick(outcomes: Mapping[T, Number]) -> T:
    """A value drawn from a distribution, given as {value: probability}."""
    drawn: T = current("pick").draw(distribution(outcomes))
    return drawn


def distribution(outcomes: Mapping[T, Number]) -> dict[T, Fraction]:
    """The distribution of a pick, exactly; a rounding error goes to the last value.

    Example:
        >>> distribution({"a": "1/3", "b": 0.5, "c": "1/6", "d": 0})
        {'a': Fraction(1, 3), 'b': Fraction(1, 2), 'c': Fraction(1, 6)}
    """
    found = {value: exact(p) for value, p in outcomes.items() if p}
    off = sum(found.values(), Fraction(-1))
    if not found or min(found.values()) < 0 or abs(off) > TOLERANCE:
        raise ValueError(f"pick: probabilities must be positive and sum to 1, not to {1 + off}")
    found[list(found)[-1]] -= off
    return found


def reward(amount: Number) -> None:
    """Earn an amount, or pay it if it is negative."""
    current("reward").reward(amount)


def amount_of(given: Number) -> Fraction:
    """The amount of a reward; a truth value counts as 1 or 0."""
    return exact(int(given) if isinstance(given, bool) else given)


def outcome(work: Callable[[], T], *exceptions: type[Exception]) -> T | Exception:
    """Do some real work of a live run; exceptions of the types given become its result.

    The learner sees how it went: what follows a failure is another state than what follows
    success. Exceptions of other types propagate. A model has no use for work: there, say with
    `pick` how likely each result is.

    Example:
        >>> import recurl
        >>> @recurl.program
        ... def fetch():
        ...     answer = outcome(lambda: 1 / 0, ZeroDivisionError)
        ...     return "failed" if isinstance(answer, Exception) else "ok"
        >>> fetch.play().result
        'failed'
    """
    done: T | Exception = current("outcome").outcome(work, exceptions)
    return done


def attempt(work: Callable[[], T], exceptions: tuple[type[Exception], ...]) -> T | Exception:
    """The result of some work, or an exception of the types given."""
    try:
        return work()
    except exceptions as error:
        return error


WORDS: dict[Callable[..., Any], str] = {
    choose: "choose",
    flip: "flip",
    pick: "pick",
    reward: "reward",
    outcome: "outcome",
}
"""The functions above, and their names."""
