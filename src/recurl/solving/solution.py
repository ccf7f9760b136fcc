"""A solution: an interval that contains the optimum, with its evidence, and those before it."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from recurl.compilation import Stopwatch
from recurl.errors import CertificateError, RecurlError
from recurl.model import html
from recurl.solving.budget import seconds_left, without_limit_of_time
from recurl.solving.question import Question
from recurl.verification import verify

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.policy import Policy
    from recurl.solving.one_exit_search import Callback

NEARLY_BALANCED = "where calls and returns are nearly balanced, floats prove no narrower interval"
"""Why an interval is wide although the total is finite."""
MOST = 2000
"""Intervals that are kept; of more, every other one is dropped."""
_FAR = 16.0
"""Multiple of the known width up to which an interval is that of its certificate."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The interval, the policy and the evidence for the optimum from the start of a model.

    Attributes:
        model: The model that was solved.
        question: What was asked of it.
        lower: The optimum is at least this.
        upper: The optimum is at most this.
        method: How it was found.
        reason: Why this method, or why no more is known.
        policy: A policy that attains the lower end (the upper one if the least total was asked).
        values_lower: Lower bounds by vertex with exits worth what they are at the root. What the
            vertices of other components are worth depends on who calls them, unless there is one
            exit: nan. Bounds are only as narrow as asked where a best run comes to. None where the
            method gives none.
        values_upper: Upper bounds by vertex, likewise.
        points: Values of all vertices at the points that the upper bound rests on, by component, to
            begin with in a search on a similar model. ``[vertices, n]`` each; empty where the
            method has none.
        epsilon: Width that was asked for; None if a threshold was.
        work: What it took, by the words that the page on solving explains: policies, rounds, points
            and others.
        seconds: Time it took, without compiling and without the certificate.
        history: Intervals on the way, the last one this one: seconds, lower end, upper end. Methods
            for 1-exit models note more than the last one only for a callback or with progress.
    """

    model: RMDP
    question: Question
    lower: float
    upper: float
    method: str
    reason: str = ""
    policy: Policy | None = None
    values_lower: Floats | None = None
    values_upper: Floats | None = None
    points: tuple[Floats, ...] = ()
    epsilon: float | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    history: tuple[tuple[float, float, float], ...] = ()
    _certify: Callable[[], Certificate] | None = None

    def __post_init__(self) -> None:
        least, most = self.question.clear_bounds(self.model)
        object.__setattr__(self, "lower", max(self.lower, least))
        object.__setattr__(self, "upper", min(self.upper, most))
        assert self.lower <= self.upper, (
            f"{self.model.name}: {self.method} gave lower {self.lower} > upper {self.upper}"
        )

    def at(
        self,
        vertex: str,
        exit_values: Sequence[float] | None = None,
        *,
        stack: Sequence[str] = (),
        seconds: float | None = None,
    ) -> Solution:
        """The same total from any vertex of the model, as a solution of its own.

        This is x(v, q), for a vector v of what the exits of the vertex's component are worth, and
        y(κ, q) with a stack κ of boxes; then v is what the exits of the outermost box's component
        are worth. It is solved for, so that it takes about as long as a solution.

        Args:
            vertex: Full name of the vertex, such as ``"H.u5"``.
            exit_values: What each exit is worth; 0 if not given.
            stack: Full names of the pending boxes, outermost first; see `recurl.start_at`.
            seconds: Time that it may take, about; see `recurl.solve`.

        Example:
            What a stack means is what it makes the exits worth, here those of ``H`` within ``S``:

            >>> import recurl
            >>> solution = recurl.solve(recurl.zoo.cloud(), epsilon=1e-9)
            >>> ports = ["S.b4.u6", "S.b4.u7"]
            >>> vector = [solution.at(port, stack=["T.b1"]).value for port in ports]
            >>> y = solution.at("H.u5", stack=["T.b1", "S.b4"])
            >>> x = solution.at("H.u5", vector)
            >>> abs(x.value - y.value) <= 1e-8
            True
        """
        from recurl.solving.api import solve

        worth = () if exit_values is None else tuple(exit_values)
        return solve(
            self.model,
            epsilon=1e-6 if self.epsilon is None else self.epsilon,
            of=replace(self.question, exit_values=worth),
            start=vertex,
            stack=stack,
            seconds=seconds,
        )

    @property
    def value(self) -> float:
        """Middle of the interval, or its infinite end."""
        if math.isinf(self.lower) or math.isinf(self.upper):
            return self.lower if self.lower == self.upper else math.nan
        return (self.lower + self.upper) / 2

    @property
    def is_open(self) -> bool:
        """Whether one end, or both, is not known: infinite, while the other is not that too."""
        return math.isinf(self.gap)

    @property
    def gap(self) -> float:
        """Width of the interval."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @cached_property
    def certificate(self) -> Certificate:
        """Evidence of both ends that `recurl.verify` checks without trusting the solver.

        It has been checked when you get it.

        Raises:
            CertificateError: There is none for this answer, or the checker does not accept it.
        """
        if self._certify is None:
            raise CertificateError(f"this answer has no certificate: {self.reason}")
        with without_limit_of_time():
            proved = self._certify()
        # What is clear depends on all of the model; the evidence may leave out parts of it.
        least, most = self.question.clear_bounds(self.model)
        lower = None if proved.lower is None else max(proved.lower, least)
        upper = None if proved.upper is None else min(proved.upper, most)
        claim = proved.question(self.model)
        proved = msgspec.structs.replace(proved, lower=lower, upper=upper, claim=claim)
        try:
            verify(self.model, proved)
        except CertificateError as error:
            raise CertificateError(
                f"{self.model.name}: no certificate was found that holds in exact arithmetic "
                f"({error})"
            ) from error
        return proved

    def as_proved(self, narrow: float) -> Solution:
        """The same answer with the interval of its certificate, unless that is much wider.

        Args:
            narrow: Width that is asked for. An interval that has it never becomes wider than it.
        """
        try:
            proved = self.certificate
        except CertificateError:
            return self
        low, high = -math.inf, math.inf
        if proved.infinite is not None:
            low = high = float(proved.infinite)
        low = low if proved.lower is None else proved.lower
        high = high if proved.upper is None else proved.upper
        width = narrow if self.gap <= narrow else min(_FAR * self.gap, sys.float_info.max)
        if not (low == high or high - low <= width):
            low, high = self.lower, self.upper
        return replace(self, lower=low, upper=high, _certify=lambda: proved)

    def __getstate__(self) -> dict[str, Any]:
        """Everything, with the certificate in place of the function that makes it."""
        with suppress(RecurlError):
            _ = self.certificate
        return {**vars(self), "_certify": None}

    def __deepcopy__(self, memo: object) -> Solution:
        return self  # immutable

    def at_least(self, threshold: float) -> bool | None:
        """Whether the optimum reaches a threshold; None if the interval does not decide it."""
        if self.lower >= threshold:
            return True
        return False if self.upper < threshold else None

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot how the bounds closed over time.

        Args:
            axes: Axes of matplotlib to draw in; new ones if not given.
        """
        from recurl.model.plotting import BLUE, own_or_new

        axes = own_or_new(axes)
        known = [one for one in self.history if all(map(math.isfinite, one))]
        if not known:
            raise ValueError(f"there is nothing to plot: the value is {self._interval()}")
        seconds, lower, upper = (list(column) for column in zip(*known, strict=True))
        style: Any = {"where": "post", "color": BLUE, "linewidth": 1.5}
        axes.step(seconds, lower, marker="^", markersize=4, label="lower bound", **style)
        axes.step(seconds, upper, marker="v", markersize=4, label="upper bound", **style)
        axes.fill_between(seconds, lower, upper, step="post", color=BLUE, alpha=0.16, linewidth=0)
        axes.set_ylim(*_seen(lower, upper))
        axes.set_xlabel("seconds")
        axes.set_ylabel(_asked(self.model, self.question))
        axes.set_title(f"{self.model.name}: {self._interval()}")
        axes.legend(frameon=False)
        return axes

    @property
    def statement(self) -> str:
        """The question and the interval in words."""
        return f"the {_asked(self.model, self.question)} is {self._interval()}"

    def __str__(self) -> str:
        work = ", ".join(_counted(what, count) for what, count in self.work.items() if count)
        said = self.statement
        if self.is_open:
            said = f"open end: {said}; {self.reason}"
        elif self.epsilon is not None and self.gap > self.epsilon:
            said += f", wider than the {self.epsilon:g} asked for"
        known = f" ({self.reason})" if self.reason and not self.is_open else ""
        parts = [
            f"{self.model.name}: {said}",
            f"Method: {self.method}{known}",
            f"{work} in {self.seconds:.3g} s" if work else f"{self.seconds:.3g} s",
        ]
        if self.policy is not None:
            uses = self.policy.uses_stack
            kind = "a policy that uses the stack" if uses else "a stackless policy"
            parts.append(f"Attained by {kind}")
        return ". ".join(parts) + "."

    def _repr_html_(self) -> str:
        facts = [
            (_asked(self.model, self.question), self._interval()),
            ("method", f"{self.method} ({self.reason})" if self.reason else self.method),
            ("policy", self.policy.kind if self.policy else "none"),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        known = html.paragraph(self.model.name) + html.table(("", ""), facts)
        return known if self.policy is None else known + self.policy.table_html()

    def _interval(self) -> str:
        if self.lower == self.upper:
            return f"{self.lower:.10g}"
        return f"in [{self.lower:.10g}, {self.upper:.10g}], width {self.gap:.2g}"


def _seen(lower: Sequence[float], upper: Sequence[float]) -> tuple[float, float]:
    """Heights to show: bounds that are far wider than usual are cut off."""
    gaps = [high - low for low, high in zip(lower, upper, strict=True)]
    usual = 10 * statistics.median(gaps)
    pairs = zip(lower, upper, gaps, strict=True)
    shown = [(low, high) for low, high, gap in pairs if gap <= usual]
    low, high = min(one for one, _ in shown), max(one for _, one in shown)
    margin = 0.06 * (high - low) or 0.05 * max(1.0, abs(high))
    return low - margin, high + margin


def _counted(what: str, count: float) -> str:
    """A count with its noun in the plural."""
    one = {"policies": "policy", "vertices": "vertex"}.get(what, what.removesuffix("s"))
    return f"{count:g} {one if count == 1 else what}"


def _asked(model: RMDP, question: Question) -> str:
    """The question in words."""
    if question.rewards == "given end":
        best = "greatest" if question.objective == "max" else "least"
        return f"{best} expected total reward of the runs that end"
    return question.certificate(model, (None, None)).question(model)


class History:
    """A callback that notes seconds, lower and upper end of every interval, and passes it on.

    Args:
        callback: Whoever else is to be told.

    Example:
        >>> history = History()
        >>> history(-2.0, 1.0, {})
        >>> [interval[1:] for interval in history.intervals]
        [(-2.0, 1.0)]
    """

    def __init__(self, callback: Callback | None = None) -> None:
        self.intervals: list[tuple[float, float, float]] = []
        self._watch, self._callback = Stopwatch(), callback

    @property
    def seconds(self) -> float:
        """Time since the search began, without compiling."""
        return self._watch.seconds

    def __call__(self, lower: float, upper: float, work: dict[str, float]) -> None:
        """Note an interval."""
        if len(self.intervals) >= MOST:
            del self.intervals[1::2]
        self.intervals.append((self.seconds, lower, upper))
        if self._callback is not None:
            self._callback(lower, upper, work)

    def is_heard(self) -> bool:
        """Whether more intervals are of use: to another callback, or because time is limited."""
        return self._callback is not None or math.isfinite(seconds_left())


def is_watched(callback: Callback | None) -> bool:
    """Whether somebody watches how the interval shrinks."""
    return callback.is_heard() if isinstance(callback, History) else callback is not None
