"""Conditions on the stack, in words: in which contexts a policy takes an action."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

SHOWN = 5
"""Names in a list; more are counted."""


class Condition(Protocol):
    """When a clause of a rule applies."""

    @property
    def text(self) -> str:
        """The condition in words, on its own."""

    @property
    def short(self) -> str:
        """The condition in words, after another one of the same kind."""

    def holds(self, stack: Sequence[int], context: int) -> bool:
        """Whether it applies in a context, with these boxes pending, the outermost first."""


@dataclass(frozen=True)
class Always:
    """Every stack."""

    text: str = ""
    short: str = ""

    def holds(self, stack: Sequence[int], context: int) -> bool:
        """Always."""
        return True


@dataclass(frozen=True)
class Span:
    """Numbers from the first to the last one in equal steps; endless without a last one.

    Example:
        >>> str(Span(0, 7)), str(Span(3, 3)), str(Span(8)), str(Span(1, step=2))
        ('0..7', '3', '8 or more', '1, 3, 5, ...')
        >>> 9 in Span(8), 4 in Span(1, step=2)
        (True, False)
    """

    first: int
    last: int | None = None
    step: int = 1

    def __contains__(self, number: int) -> bool:
        inside = self.first <= number <= (math.inf if self.last is None else self.last)
        return inside and (number - self.first) % self.step == 0

    def __str__(self) -> str:
        if self.last is not None:
            return f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"
        if self.step == 1:
            return f"{self.first} or more"
        return ", ".join(f"{self.first + i * self.step}" for i in range(3)) + ", ..."


@dataclass(frozen=True)
class Pending:
    """The number of pending calls, of those that count, is in some range.

    Attributes:
        spans: Numbers of pending calls.
        boxes: Boxes whose calls count; None for all.
        where: Which calls count, in words: ``" of H"``.
        most: Most calls that are pending in a run, where the condition goes beyond; else None.
    """

    spans: tuple[Span, ...]
    boxes: frozenset[int] | None
    where: str
    most: int | None = None

    @property
    def text(self) -> str:
        """``with 0..7 pending calls of H``."""
        numbers = " or ".join(map(str, self.spans))
        calls = "call" if numbers == "1" else "calls"
        return f"with {numbers} pending {calls}{self.where}"

    @property
    def short(self) -> str:
        """``from 8 on``."""
        if len(self.spans) == 1 and self.spans[0].last is None and self.spans[0].step == 1:
            return f"from {self.spans[0].first} on{self.note}"
        return f"with {' or '.join(map(str, self.spans))}{self.note}"

    @property
    def note(self) -> str:
        """How far runs go, where the condition goes further."""
        return "" if self.most is None else f" (in runs there are at most {self.most})"

    def holds(self, stack: Sequence[int], context: int) -> bool:
        """Whether the number of pending calls that count is one of these."""
        count = sum(self.boxes is None or box in self.boxes for box in stack)
        return any(count in span for span in self.spans)


@dataclass(frozen=True)
class CalledAt:
    """The call was made at one of some boxes.

    Attributes:
        boxes: The boxes, -1 for the start of a run.
        names: Names of the boxes.
        rest: Whether these are all that other clauses do not name.
        also: Boxes and contexts for which it holds as an exception.
        but: Boxes and contexts for which it does not, as an exception.
    """

    boxes: frozenset[int]
    names: tuple[str, ...]
    rest: bool = False
    also: frozenset[tuple[int, int]] = frozenset()
    but: frozenset[tuple[int, int]] = frozenset()

    @property
    def text(self) -> str:
        """``when called at S.b4``."""
        if self.rest:
            return "otherwise"
        start = ["at the start"] if -1 in self.boxes else []
        called = [f"when called at {_either(self.names)}"] if self.names else []
        return " or ".join([*start, *called]) or "in exceptions"

    @property
    def short(self) -> str:
        """As on its own."""
        return self.text

    def holds(self, stack: Sequence[int], context: int) -> bool:
        """Whether the innermost pending box is one of these."""
        box = stack[-1] if stack else -1
        if (box, context) in self.also:
            return True
        return box in self.boxes and (box, context) not in self.but


@dataclass(frozen=True)
class Worth:
    """One exit is worth more than another by an amount in some range.

    Attributes:
        ranges: Least and greatest difference, several times; infinite where there is no end.
        exits: Names of the two exits.
        contexts: Contexts with such a difference.
    """

    ranges: tuple[tuple[float, float], ...]
    exits: tuple[str, str]
    contexts: frozenset[int] = field(repr=False)

    @property
    def text(self) -> str:
        """``where u7 is worth at most 0.2 more than u6``."""
        one, other = self.exits
        return f"where {one} is worth {self._amounts()} than {other}"

    @property
    def short(self) -> str:
        """``where at least 0.3 more``."""
        return f"where {self._amounts()}"

    def _amounts(self) -> str:
        return " or ".join(_amount(low, high) for low, high in self.ranges)

    def holds(self, stack: Sequence[int], context: int) -> bool:
        """Whether the context is one of these."""
        return context in self.contexts


@dataclass(frozen=True)
class InContexts:
    """The context is one of a list.

    Attributes:
        contexts: The contexts.
        names: Their names.
        rest: Whether these are all that other clauses do not name.
    """

    contexts: frozenset[int]
    names: tuple[str, ...]
    rest: bool = False

    @property
    def text(self) -> str:
        """``in H within 3 calls of H``."""
        return "otherwise" if self.rest else f"in {_either(self.names)}"

    @property
    def short(self) -> str:
        """As on its own."""
        return self.text

    def holds(self, stack: Sequence[int], context: int) -> bool:
        """Whether the context is one of these."""
        return context in self.contexts


def _amount(low: float, high: float) -> str:
    """A range of differences in words.

    Example:
        >>> _amount(-math.inf, 0.2), _amount(0.3, math.inf), _amount(-math.inf, -0.1)
        ('at most 0.2 more', 'at least 0.3 more', 'at least 0.1 less')
        >>> _amount(-0.1, 0.2), _amount(0.1, 0.1)
        ('0.1 less to 0.2 more', '0.1 more')
    """
    if math.isinf(low):
        return f"at {'most' if high >= 0 else 'least'} {_difference(high)}"
    if math.isinf(high):
        return f"at {'least' if low >= 0 else 'most'} {_difference(low)}"
    return _difference(low) if low == high else f"{_difference(low)} to {_difference(high)}"


def _difference(value: float) -> str:
    return f"{abs(value):.4g} {'more' if value >= 0 else 'less'}"


def _either(names: Sequence[str]) -> str:
    """Names with `or` before the last one, the last ones only counted if they are many.

    Example:
        >>> _either(["a"]), _either(["a", "b", "c"]), _either("abcdefgh")
        ('a', 'a, b or c', 'a, b, c, d, e or 3 more')
    """
    if len(names) == 1:
        return names[0]
    shown = names if len(names) <= SHOWN + 1 else [*names[:SHOWN], f"{len(names) - SHOWN} more"]
    return f"{', '.join(shown[:-1])} or {shown[-1]}"
