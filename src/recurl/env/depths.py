"""Whether an observation and an action mean the same at all depths of the call stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

LEVEL = 0.001
"""Probability that anything is said where everything is the same."""

_ROOT, _CHILD, _DEEPER = range(3)
_NAMES = ("in the outermost call", "in calls of it", "in deeper ones", "in calls")
_SHOWN = 3
_LONG = 20


class Result(NamedTuple):
    """The reward of a step, and its kind: see `step_kind`."""

    reward: float
    kind: str


Groups = list[Counter[Result]]
"""How often each result was met: in the outermost call, in calls of it, in deeper ones."""

Pair = tuple[Counter[Result], Counter[Result]]

WATCHED = 5_000
"""Steps of a run that a learner compares."""


class Depths:
    """Results of steps by what was seen, what was done, and how many calls were pending.

    Learners take calls that show the same for the same, except the outermost one. Rewards and
    kinds of steps with the same observation and action are compared between the outermost call and
    the others, and between those that it makes and deeper ones, by Fisher's exact test.

    Example:
        >>> depths = Depths()
        >>> for i in range(60):
        ...     depths.note("open", 1, i % 3, 10.0 if i % 3 == 0 else 0.0, "leaves")
        >>> print(depths.at_root()[0])
        observation open, action 1: its mean reward is 10 in the outermost call and 0 in calls
        >>> depths.inside()
        []
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Hashable, Any], Groups] = {}

    def note(
        self, observation: Hashable, action: Any, depth: int, reward: float, kind: str
    ) -> None:
        """Note a step that was made with a number of calls pending."""
        found = self._seen.get((observation, action))
        if found is None:
            found = self._seen[observation, action] = [Counter(), Counter(), Counter()]
        found[min(depth, _DEEPER)][Result(reward, kind)] += 1

    def at_root(self, name: Callable[[Any], str] = str) -> list[str]:
        """Where the outermost call differs from the others.

        Args:
            name: Text for an observation, as it was noted.
        """
        return self._differences(lambda by: (by[_ROOT], by[_CHILD] + by[_DEEPER]), (_ROOT, 3), name)

    def inside(self, name: Callable[[Any], str] = str) -> list[str]:
        """Where calls made by the outermost one differ from deeper ones."""
        return self._differences(lambda by: (by[_CHILD], by[_DEEPER]), (_CHILD, _DEEPER), name)

    def _differences(
        self, groups: Callable[[Groups], Pair], names: tuple[int, int], name: Callable[[Any], str]
    ) -> list[str]:
        pairs = [(place, groups(by)) for place, by in self._seen.items()]
        events = [
            (place, what, one, other)
            for place, (first, second) in pairs
            if first and second
            for what, one, other in _events(first, second)
        ]
        level = LEVEL / max(1, len(events))
        found: dict[Any, str] = {}
        for place, what, one, other in events:
            if place not in found and _p_value(one, other) < level:
                where = f"{what[0]} {_NAMES[names[0]]} and {what[1]} {_NAMES[names[1]]}"
                found[place] = f"observation {name(place[0])}, action {place[1]}: {where}"
        return list(found.values())


def step_kind(event: Any, terminated: bool) -> str:
    """The kind of a step: it leaves the call that ran, calls, or goes on in it."""
    if terminated or event == "return":
        return "leaves"
    return "calls" if event == "call" else "goes on"


def shown(value: Any) -> str:
    """A short text for an observation or an action; other ones have other texts.

    Example:
        >>> shown(3), shown(np.array([0.5])), shown(np.zeros((9, 9)))[:13]
        ('3', '[0.5]', 'array of (9, ')
    """
    if isinstance(value, np.ndarray) and value.size > _LONG:
        return f"array of {value.shape} with hash {hash(value.tobytes()) % 2**32:08x}"
    return str(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)


def summary(lines: list[str]) -> str:
    """The first of some lines, and how many more there are."""
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more


def _events(
    first: Counter[Result], second: Counter[Result]
) -> list[tuple[tuple[str, str], tuple[int, int], tuple[int, int]]]:
    """Events that may be more frequent in one group, chosen by what both have in common.

    Each comes with what is said of both groups if it is, and with how often it was so and not so.
    """
    both = first + second
    mean = _mean(both)
    one, other = (_split(group, partial(_is_more, mean)) for group in (first, second))
    said = f"its mean reward is {_mean(first):.3g}", f"{_mean(second):.3g}"
    found = [(said, one, other)]
    for kind in sorted({result.kind for result in both}):
        one, other = (_split(group, partial(_is_kind, kind)) for group in (first, second))
        said = f"it {kind} in {_share(one):.0%} of the steps", f"{_share(other):.0%}"
        found.append((said, one, other))
    return found


def _mean(group: Counter[Result]) -> float:
    return sum(result.reward * n for result, n in group.items()) / group.total()


def _share(counts: tuple[int, int]) -> float:
    return counts[0] / sum(counts)


def _is_more(mean: float, result: Result) -> bool:
    return result.reward > mean


def _is_kind(kind: str, result: Result) -> bool:
    return result.kind == kind


def _split(group: Counter[Result], event: Callable[[Result], bool]) -> tuple[int, int]:
    yes = sum(n for result, n in group.items() if event(result))
    return yes, group.total() - yes


def _p_value(one: tuple[int, int], other: tuple[int, int]) -> float:
    """That of Fisher's exact test; 1 where nothing varies."""
    if one[0] + other[0] == 0 or one[1] + other[1] == 0:
        return 1.0
    from scipy.stats import fisher_exact

    return float(fisher_exact([one, other])[1])
