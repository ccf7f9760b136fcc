"""Confidence sets as further actions: what nature may do becomes a choice.

The greatest value over all models in the sets, nature choosing anew at every step, is the optimum
of one model: each pair is replaced by the corners of its set. So a solver that knows nothing of
sets bounds the optimum of all of their models. With the choices of a policy fixed, the least value
over the sets is the least total of such a model, too (see `recurl.learn.pac.contexts`).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    from recurl.learn.pac.kernel import Sets
    from recurl.model.tables import Floats, Ints, Layout

EXACT = 5
"""Most outcomes of a pair whose set is taken with all its corners."""


class Opened(NamedTuple):
    """A model in which nature's choices are actions.

    Attributes:
        model: The model; vertices are numbered as before.
        pair: Pair, in the model before, of each action. ``[A]``
    """

    model: RMDP
    pair: Ints


def corners(low: Floats, high: Floats, centre: Floats, radius: float) -> list[Floats]:
    """The corners of the set of one pair; beyond `EXACT` outcomes, of a simplex around it.

    Distributions between least and greatest probabilities, or, for a radius below 2, within this
    sum of differences from the centre. Filling up outcomes in every order finds all corners.

    Example:
        >>> low, high, centre = np.array([0.2, 0.5]), np.array([0.5, 0.8]), np.array([0.4, 0.6])
        >>> [p.round(3).tolist() for p in corners(low, high, centre, 2.0)]
        [[0.5, 0.5], [0.2, 0.8]]
        >>> [p.round(3).tolist() for p in corners(0 * low, 0 * low + 1, centre, 0.2)]
        [[0.5, 0.5], [0.3, 0.7]]
    """
    if len(low) > EXACT:
        low = low if radius >= 2 else np.maximum(centre - radius / 2, 0.0)
        rest = max(1.0 - float(low.sum()), 0.0)
        return list(low + rest * np.eye(len(low)))
    found: dict[tuple[float, ...], Floats] = {}
    for order in itertools.permutations(range(len(low))):
        filled = _filled(low, high, order) if radius >= 2 else _moved(centre, radius, order)
        found.setdefault(tuple(filled.round(13).tolist()), filled)
    return list(found.values())


def _filled(low: Floats, high: Floats, order: tuple[int, ...]) -> Floats:
    """All outcomes at their least, then each in turn as high as it may be."""
    p = low.copy()
    for k in order:
        p[k] = min(high[k], low[k] + max(1.0 - float(p.sum()), 0.0))
    p[order[-1]] += 1.0 - float(p.sum())
    return p


def _moved(centre: Floats, radius: float, order: tuple[int, ...]) -> Floats:
    """Half the radius moved to the first outcome, taken from the last ones."""
    p = centre.copy()
    more = min(radius / 2, 1.0 - float(p[order[0]]))
    p[order[0]] += more
    for k in order[:0:-1]:
        less = min(more, float(p[k]))
        p[k] -= less
        more -= less
    return p


class Choices(NamedTuple):
    """What nature may do at a pair: distributions over outcomes, with targets and rewards."""

    corners: list[Floats]
    target: np.ndarray
    reward: np.ndarray


def choices_of(model: RMDP, sets: Sets, beyond: float = 0.0) -> list[Choices]:
    """The choices of nature at each pair.

    Args:
        model: The model.
        sets: The distributions that the data allow.
        beyond: What an outcome that was never seen is worth: it leaves by the last exit.
    """
    t = model.tables
    component = t.vertex_component[t.action_vertex]
    last = t.component_start[component] + t.n_entries[component] + t.n_exits[component] - 1
    found = []
    for a in range(t.n_actions):
        at = slice(t.transition_start[a], t.transition_start[a + 1])
        more = bool(sets.missing[a] > 0)
        low, high, centre = (
            np.append(part[at], [end] * more)
            for part, end in ((sets.low, 0.0), (sets.high, sets.missing[a]), (sets.centre, 0.0))
        )
        target = np.append(t.target[at], np.full(int(more), last[a]))
        reward = np.append(t.reward[at], [beyond] * more)
        found.append(Choices(corners(low, high, centre, float(sets.radius[a])), target, reward))
    return found


def opened(model: RMDP, sets: Sets, beyond: float = 0.0) -> Opened:
    """The model whose optimum is the greatest value over the sets.

    Args:
        model: The model.
        sets: The distributions that the data allow.
        beyond: What an outcome that was never seen may be worth.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.kernel import Sets
        >>> model = recurl.zoo.gambler(p=0.25)
        >>> p, low, high = model.tables.prob, np.array([0.2, 0.7, 1, 1]), np.array([0.3, 0.8, 1, 1])
        >>> wide = opened(model, Sets(low, high, p, np.full(3, 2.0), np.zeros(3)))
        >>> wide.pair.tolist(), round(recurl.solve(wide.model).value, 6)
        ([0, 0, 1, 2], 4.0)
    """
    t, rows = model.tables, Rows()
    pair: list[int] = []
    choices = choices_of(model, sets, beyond)
    for v in range(t.n_vertices):
        for a in range(t.action_start[v], t.action_start[v + 1]):
            rows.add(choices[a].corners, choices[a].target, choices[a].reward)
            pair += [a] * len(choices[a].corners)
        rows.end_vertex()
    made = rows.model(model.name, t.layout, t.start_component, t.start_prob)
    return Opened(made, np.array(pair, np.int32))


class Rows:
    """Actions and transitions that are written down vertex by vertex."""

    def __init__(self) -> None:
        self._actions, self._transitions = [0], [0]
        self._target: list[np.ndarray] = []
        self._prob: list[np.ndarray] = []
        self._reward: list[np.ndarray] = []

    def add(self, choices: list[Floats], target: np.ndarray, reward: np.ndarray) -> None:
        """An action for each of some distributions over the same outcomes."""
        for prob in choices:
            can = prob > 0
            self._target.append(target[can])
            self._prob.append(prob[can])
            self._reward.append(reward[can])
            self._transitions.append(self._transitions[-1] + int(can.sum()))

    def end_vertex(self) -> None:
        """The actions of the next vertex follow."""
        self._actions.append(len(self._transitions) - 1)

    def model(self, name: str, layout: Layout, start: int, start_prob: Floats) -> RMDP:
        """The model of what was written down."""
        return RMDP.from_arrays(
            layout,
            action_start=np.array(self._actions),
            transition_start=np.array(self._transitions),
            target=np.concatenate(self._target),
            prob=np.concatenate(self._prob),
            reward=np.concatenate(self._reward),
            start_component=start,
            start_prob=start_prob,
            name=name,
        )
