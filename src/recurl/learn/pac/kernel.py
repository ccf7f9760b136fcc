"""Compiled robust value iteration: 1-exit models whose probabilities are known to lie in sets.

A pair (vertex, action) may have any distribution of its set, each pair on its own. The best and the
worst expectation over a set are found by sorting: mass goes to the best outcomes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Floats, Tables

UNIT = 2.0**-53


class Sets(NamedTuple):
    """The distributions that the data allow.

    Attributes:
        low: Least probability of each transition. ``[T]``
        high: Greatest probability of each transition. ``[T]``
        centre: What was observed; a distribution for each pair. ``[T]``
        radius: Greatest sum of differences from the centre, by pair; 2 says nothing. ``[A]``
        missing: Greatest probability of outcomes that were never seen, by pair. ``[A]``
    """

    low: Floats
    high: Floats
    centre: Floats
    radius: Floats
    missing: Floats


@numba.njit(cache=True, inline="always")
def _worth(t: Tables, reward: np.ndarray, x: np.ndarray, i: int) -> float:
    """What transition i pays and leads to; a call is worth its entry and its return port."""
    target = t.target[i]
    if t.vertex_kind[target] == EXIT:
        return reward[i]
    if t.vertex_kind[target] == CALL:
        box = t.vertex_box[target]
        entry = t.component_start[t.box_component[box]] + t.vertex_port[target]
        return reward[i] + x[entry] + x[t.box_return[box]]
    return reward[i] + x[target]


@numba.njit(cache=True, nogil=True)
def expectation(
    t: Tables,
    sets: Sets,
    reward: np.ndarray,
    x: np.ndarray,
    action: int,
    sign: float,
    beyond: float,
    room: np.ndarray,
) -> float:
    """Greatest (sign 1) or least (-1) expectation of an action, rounded to the safe side.

    ``beyond`` is the best, or worst, that an outcome never seen may be worth. Rows 0, 1 and 2 of
    ``room`` hold worths, least and greatest probabilities, best outcomes first.
    """
    first, last = t.transition_start[action], t.transition_start[action + 1]
    missing = sets.missing[action]
    radius = sets.radius[action]
    count = 0
    for i in range(first, last + (1 if missing > 0.0 else 0)):
        worth = sign * (beyond if i == last else _worth(t, reward, x, i))
        at = count
        while at > 0 and room[0, at - 1] < worth:
            for row in range(4):
                room[row, at] = room[row, at - 1]
            at -= 1
        room[0, at] = worth
        room[1, at] = 0.0 if i == last else sets.low[i]
        room[2, at] = missing if i == last else sets.high[i]
        room[3, at] = 0.0 if i == last else sets.centre[i]
        count += 1
    largest = max(abs(room[0, 0]), abs(room[0, count - 1]))
    total = spread(room, count) if radius >= 2.0 else shift(room, count, radius)
    return sign * (total + 4.0 * (count + 2) * UNIT * largest)


@numba.njit(cache=True, inline="always")
def spread(room: np.ndarray, count: int) -> float:
    """Greatest expectation between least and greatest probabilities: the best get all they may."""
    rest = 1.0
    for k in range(count):
        rest -= room[1, k]
    total = 0.0
    for k in range(count):
        more = min(max(rest, 0.0), room[2, k] - room[1, k])
        rest -= more
        if k == count - 1 and rest > 0.0:
            more += rest
        if room[1, k] + more > 0.0:
            total += (room[1, k] + more) * room[0, k]
    return total


@numba.njit(cache=True, inline="always")
def shift(room: np.ndarray, count: int, radius: float) -> float:
    """Greatest expectation within an L1 ball: half the radius moves from the worst to the best."""
    more = min(0.5 * radius, 1.0 - room[3, 0])
    total = (room[3, 0] + more) * room[0, 0]
    for k in range(count - 1, 0, -1):
        less = min(more, room[3, k])
        more -= less
        if room[3, k] - less > 0.0:
            total += (room[3, k] - less) * room[0, k]
    return total


@numba.njit(cache=True, nogil=True)
def new_room(t: Tables) -> np.ndarray:
    """Space for the outcomes of any one action, and one more."""
    most = 0
    for a in range(len(t.action_vertex)):
        most = max(most, t.transition_start[a + 1] - t.transition_start[a])
    return np.empty((4, most + 1))


@numba.njit(cache=True, nogil=True)
def tighten(
    t: Tables,
    sets: Sets,
    reward: np.ndarray,
    x: np.ndarray,
    sign: float,
    beyond: float,
    tolerance: float,
    sweeps: int,
) -> int:
    """Tighten an upper (sign 1) or lower (-1) bound in place; returns the sweeps it took.

    With F the operator of the true model and G the optimistic one, x* <= u implies
    x* = F(x*) <= F(u) <= G(u). So min(u, G(u)) is a bound again, whenever one stops.
    """
    room = new_room(t)
    n = len(t.vertex_kind)
    for sweep in range(sweeps):
        change = 0.0
        for v in range(n - 1, -1, -1):
            first, last = t.action_start[v], t.action_start[v + 1]
            if first == last:
                continue
            best = -np.inf
            for a in range(first, last):
                best = max(best, expectation(t, sets, reward, x, a, sign, beyond, room))
            if sign * best < sign * x[v]:
                change = max(change, abs(x[v] - best))
                x[v] = best
        if change <= tolerance:
            return sweep + 1
    return sweeps


@numba.njit(cache=True, nogil=True)
def steps_from_below(
    t: Tables, sets: Sets, d: np.ndarray, beyond: float, tolerance: float, sweeps: int
) -> float:
    """Greatest expected steps over all models in the sets, by iteration; the last excess.

    The excess is the greatest 1 + P d - d of a last sweep that changes nothing: if it is below 1
    then d / (1 - excess) bounds the steps of all these models. It is inf if d grows without end.
    """
    room = new_room(t)
    ones = np.ones(len(t.target))
    n = len(t.vertex_kind)
    before = np.inf
    for sweep in range(sweeps):
        change = 0.0
        for v in range(n - 1, -1, -1):
            for a in range(t.action_start[v], t.action_start[v + 1]):
                value = expectation(t, sets, ones, d, a, 1.0, beyond, room)
                if value > d[v]:
                    change = max(change, value - d[v])
                    d[v] = value
            if d[v] > 1e12:
                return np.inf
        if change <= tolerance:
            break
        if sweep % 64 == 63:
            if change > 0.999 * before:
                return np.inf
            before = change
    excess = 0.0
    for v in range(n):
        for a in range(t.action_start[v], t.action_start[v + 1]):
            excess = max(excess, expectation(t, sets, ones, d, a, 1.0, beyond, room) - d[v])
    return excess


@numba.njit(cache=True, nogil=True)
def choose(
    t: Tables,
    sets: Sets,
    reward: np.ndarray,
    x: np.ndarray,
    sign: float,
    beyond: float,
    choice: np.ndarray,
) -> None:
    """The best action of each vertex in view of a bound, as number among all actions."""
    room = new_room(t)
    for v in range(len(t.vertex_kind)):
        best = -np.inf
        choice[v] = t.action_start[v]
        for a in range(t.action_start[v], t.action_start[v + 1]):
            value = expectation(t, sets, reward, x, a, sign, beyond, room)
            if value > best:
                best = value
                choice[v] = a


@numba.njit(cache=True, nogil=True)
def visits(
    t: Tables, prob: np.ndarray, choice: np.ndarray, tolerance: float, sweeps: int
) -> Floats:
    """Expected visits of each vertex under chosen actions, nearly: y = start + P' y."""
    n = len(t.vertex_kind)
    start = np.zeros(n)
    first = t.component_start[t.start_component]
    for j in range(len(t.start_prob)):
        start[first + j] = t.start_prob[j]
    y = start.copy()
    for _ in range(sweeps):
        new = start.copy()
        for v in range(n):
            if y[v] == 0.0 or t.action_start[v] == t.action_start[v + 1]:
                continue
            a = choice[v]
            for i in range(t.transition_start[a], t.transition_start[a + 1]):
                target = t.target[i]
                mass = prob[i] * y[v]
                if t.vertex_kind[target] == CALL:
                    box = t.vertex_box[target]
                    new[t.component_start[t.box_component[box]] + t.vertex_port[target]] += mass
                    new[t.box_return[box]] += mass
                elif t.vertex_kind[target] != EXIT:
                    new[target] += mass
        change = np.abs(new - y).sum()
        y = new
        if change <= tolerance * y.sum():
            break
    return y


@numba.njit(cache=True, nogil=True)
def doubts(
    t: Tables, sets: Sets, reward: np.ndarray, x: np.ndarray, sign: float, beyond: float
) -> Floats:
    """By how much the set of each pair may raise (sign 1) or lower (-1) its expectation."""
    room = new_room(t)
    out = np.zeros(len(t.action_vertex))
    for a in range(len(out)):
        best = expectation(t, sets, reward, x, a, sign, beyond, room)
        middle = 0.0
        for i in range(t.transition_start[a], t.transition_start[a + 1]):
            if sets.centre[i] > 0.0:
                middle += sets.centre[i] * _worth(t, reward, x, i)
        out[a] = max(sign * (best - middle), 0.0)
    return out
