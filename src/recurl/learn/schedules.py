"""Schedules: how a step size or an exploration rate changes as a run goes on.

A schedule is a few numbers, so that compiled code can evaluate it. With t the steps of the run so
far and n the visits of the pair (state, action) at hand, this one included:

- `constant`: x
- `linear`: from ``first`` to ``last`` over a number of steps or a fraction of the budget, or the
  smaller of both, then ``last``
- `exponential`: ``last + (first - last) 2^(-t / half_life)``
- `harmonic`: ``first (1 + offset) / (n + offset)``, that is 1/n
- `power`: ``first ((1 + offset) / (n + offset))^omega``, that is n^-omega

As step sizes, the last two satisfy the conditions of Robbins and Monro for 1/2 < omega <= 1: their
sum over n is infinite, that of their squares is not. Then Recursive Q-learning converges on a
proper 1-exit model in which every pair is visited forever. As exploration rates, n counts the
visits of the state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.arguments import with_known_names

CONSTANT, LINEAR, EXPONENTIAL, POWER, FRACTION = range(5)
_NAMES = ("constant", "linear", "exponential", "power", "linear")


class Schedule(NamedTuple):
    """A schedule; make one with the functions of this module.

    Attributes:
        code: Which formula.
        first: Value at the beginning.
        last: Value that is approached, or not fallen below.
        scale: Steps, half-life, offset, or fraction of the budget.
        omega: Exponent of `power`.
        share: Part of the budget that the scale may be at most, once a budget is known; 0 for any.
    """

    code: int
    first: float
    last: float
    scale: float
    omega: float
    share: float = 0.0

    def __call__(self, step: int = 0, visits: int = 1) -> float:
        """Value at a step of the run, and at a visit of the pair counted from 1."""
        if self.code == FRACTION:
            raise ValueError(f"{self!r} has values once the budget is known: call learn")
        from recurl.learn.rule_kernel import scheduled

        # Kernels need no compiling to be read in Python.
        return float(scheduled.py_func(np.array(self), 0, step, visits))  # type: ignore[attr-defined]

    def __str__(self) -> str:
        if self.code == CONSTANT:
            return f"{self.first:g}"
        if self.takes_budget:
            return repr(self)
        numbers = ", ".join(f"{x:g}" for x in self[1:5])
        return f"{_NAMES[self.code]}({numbers})"

    def __repr__(self) -> str:
        first, last, scale = (f"{x:.12g}" for x in self[1:4])
        if self.code == CONSTANT:
            return f"constant({first})"
        most = f", fraction={self.share:.12g}" if self.share else ""
        if self.code == LINEAR:
            return f"linear({first}, {last}, {scale}{most})"
        if self.code == FRACTION:
            return f"linear({first}, {last}, fraction={scale})"
        below = "" if self.last == 0.0 else f", last={last}"
        if self.code == EXPONENTIAL:
            return f"exponential({first}, {scale}{below}{most})"
        begins = "" if self.first == 1.0 else f", {first}"
        later = "" if self.scale == 0.0 else f", offset={scale}"
        return f"power({self.omega:.12g}{begins}{later}{below})"

    def within(self, budget: float) -> Schedule:
        """The schedule in steps, for a run that has a number of steps to spend in all.

        Example:
            >>> linear(1, 0.1, fraction=0.5).within(20_000)
            linear(1, 0.1, 10000)
            >>> linear(1, 0.1, 80_000, fraction=0.5).within(20_000)
            linear(1, 0.1, 10000)
        """
        if self.code == FRACTION:
            return linear(self.first, self.last, max(1.0, self.scale * budget))
        if not self.share:
            return self
        return self._replace(scale=min(self.scale, max(1.0, self.share * budget)), share=0.0)

    @property
    def takes_budget(self) -> bool:
        """Whether it depends on the steps that a run has to spend."""
        return self.code == FRACTION or self.share > 0

    @property
    def without_budget(self) -> Schedule:
        """The schedule of a run whose budget is not known.

        It is the last value if the schedule has no number of steps.

        Example:
            >>> linear(0.3, 0.1, fraction=0.5).without_budget
            constant(0.1)
            >>> linear(0.3, 0.1, 1000, fraction=0.5).without_budget
            linear(0.3, 0.1, 1000)
        """
        return constant(self.last) if self.code == FRACTION else self._replace(share=0.0)

    @property
    def robbins_monro(self) -> bool:
        """Whether it satisfies the conditions of Robbins and Monro as a step size."""
        return self.code == POWER and 0.5 < self.omega <= 1.0 and self.last == 0.0


@with_known_names
def constant(value: float) -> Schedule:
    """Always the same.

    Example:
        >>> constant(0.1)(1_000_000)
        0.1
    """
    return _checked(Schedule(CONSTANT, value, value, 1.0, 1.0))


@with_known_names
def linear(
    first: float, last: float, steps: float | None = None, *, fraction: float | None = None
) -> Schedule:
    """From one value to another in a number of steps of the run, and constant from there.

    Args:
        first: Value at the beginning.
        last: Value at the end.
        steps: How many steps it takes.
        fraction: Or which part of the budget: of the steps asked of the first call of ``learn``, or
            of its argument ``budget``. With both, it takes the smaller number of steps.

    Example:
        >>> linear(1, 0.1, 30_000)(15_000)
        0.55
        >>> linear(1, 0.1, fraction=0.5)
        linear(1, 0.1, fraction=0.5)
    """
    if steps is not None:
        return _checked(Schedule(LINEAR, first, last, steps, 1.0, _share(fraction)))
    if fraction is None:
        raise ValueError("a linear schedule takes steps, a fraction of the budget, or both")
    return _checked(Schedule(FRACTION, first, last, _share(fraction), 1.0))


@with_known_names
def exponential(
    first: float, half_life: float, last: float = 0.0, *, fraction: float | None = None
) -> Schedule:
    """The distance to ``last`` halves in every ``half_life`` steps of the run.

    Args:
        first: Value at the beginning.
        half_life: Steps in which the distance halves.
        last: Value that is approached.
        fraction: Part of the budget that the half-life is at most.

    Example:
        >>> exponential(1, 1000)(2000)
        0.25
    """
    return _checked(Schedule(EXPONENTIAL, first, last, half_life, 1.0, _share(fraction)))


@with_known_names
def harmonic(first: float = 1.0, offset: float = 0.0, last: float = 0.0) -> Schedule:
    """1/n per visited pair (Robbins-Monro), slower at first with an offset.

    Example:
        >>> harmonic()(visits=4), harmonic(offset=9)(visits=11)
        (0.25, 0.5)
    """
    return power(1.0, first, offset=offset, last=last)


@with_known_names
def power(omega: float, first: float = 1.0, offset: float = 0.0, *, last: float = 0.0) -> Schedule:
    """n^-omega per visited pair (Robbins-Monro for 1/2 < omega <= 1).

    Args:
        omega: The exponent, above 0.
        first: Value at the first visit.
        offset: Added to n; makes the fall begin later.
        last: Not less than this; 0 for Robbins-Monro.

    Example:
        >>> round(power(0.75)(visits=16), 9)
        0.125
    """
    if omega <= 0:
        raise ValueError(f"omega must be positive, not {omega}")
    return _checked(Schedule(POWER, first, last, offset, omega), least_scale=0.0)


def as_schedule(value: Schedule | float) -> Schedule:
    """A number stands for a constant."""
    if isinstance(value, Schedule):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"must be a number or a schedule of recurl.schedules, not {value!r}")
    return constant(float(value))


def _share(fraction: float | None) -> float:
    """The share of a fraction of the budget, 0 for none."""
    if fraction is not None and not 0 < fraction <= 1:
        raise ValueError(f"the fraction must be in (0, 1], not {fraction}")
    return fraction or 0.0


def _checked(schedule: Schedule, least_scale: float = 1e-300) -> Schedule:
    _, first, last, scale, _, _ = schedule
    if not (0 <= first <= 1 and 0 <= last <= 1):
        both = f"{first:g}" if first == last else f"{first:g} and {last:g}"
        raise ValueError(f"rates must lie within [0, 1], not {both}")
    if not least_scale <= scale < float("inf"):
        raise ValueError(f"steps, half-life and offset must be positive, not {scale}")
    return Schedule(schedule.code, *map(float, schedule[1:]))
