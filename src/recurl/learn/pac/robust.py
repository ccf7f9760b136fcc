"""Robust value iteration: bounds on a 1-exit model that hold for every model in confidence sets.

A pair (vertex, action) may have any distribution of its set, each pair on its own. The best and the
worst expectation over a set are found by sorting: mass goes to the best outcomes first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from recurl.learn.pac.confidence import Sets, start_sets
from recurl.model.tables import CALL, EXIT

if TYPE_CHECKING:
    from recurl.learn.pac.observed import Observed
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints

_UNIT = 2.0**-53
_SWEEPS = 20_000
_STEP_SWEEPS, _STRIDE, _STEP_TOLERANCE = 3008, 64, 0.02
_SLOW = 0.99
_VISIT_SWEEPS, _VISIT_TOLERANCE = 500, 1e-2


class Successors(NamedTuple):
    """The transitions of a 1-exit model as plain arrays.

    Attributes:
        action_start: First action of each vertex. ``[V + 1]``
        transition_start: First transition of each action. ``[A + 1]``
        first: Vertex that a transition continues at, the entry if it calls; V if it exits. ``[T]``
        second: Return port at which a called run continues; V if there is no call. ``[T]``
    """

    action_start: Ints
    transition_start: Ints
    first: Ints
    second: Ints

    @classmethod
    def of(cls, model: RMDP) -> Successors:
        """The successors of a model."""
        t = model.tables
        first, second = t.target.astype(np.int32), np.full(t.n_transitions, t.n_vertices, np.int32)
        call = t.vertex_kind[t.target] == CALL
        second[call] = t.box_return[t.vertex_box[t.target[call]]]
        first[call] = t.entry_of_call(t.target[call])
        first[t.vertex_kind[t.target] == EXIT] = t.n_vertices
        return cls(*map(fixed, (t.action_start, t.transition_start, first, second)))

    def worths(self, reward: Floats, x: Floats) -> Floats:
        """Reward and value of the continuation of each transition; x has V + 1 entries."""
        worth: Floats = reward + x[self.first] + x[self.second]
        return worth


@numba.njit(cache=True, nogil=True)
def expectation(
    s: Successors,
    sets: Sets,
    reward: np.ndarray,
    x: np.ndarray,
    action: int,
    sign: float,
    beyond: float,
    room: np.ndarray,
) -> float:
    """Greatest (sign 1) or least (-1) expectation of an action, rounded to the safe side.

    ``beyond`` is the best, or worst, worth of an outcome that was never seen. Rows 0 to 3 of
    ``room`` hold worths, least, greatest and observed probabilities, best outcomes first.
    """
    first, last = s.transition_start[action], s.transition_start[action + 1]
    missing, radius, count = sets.missing[action], sets.radius[action], 0
    for i in range(first, last + (1 if missing > 0.0 else 0)):
        worth = sign * (beyond if i == last else reward[i] + x[s.first[i]] + x[s.second[i]])
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
    total = 0.0
    if radius >= 2.0:  # between least and greatest probabilities
        rest = 1.0
        for k in range(count):
            rest -= room[1, k]
        for k in range(count):
            more = min(max(rest, 0.0), room[2, k] - room[1, k])
            rest -= more
            if k == count - 1 and rest > 0.0:
                more += rest
            if room[1, k] + more > 0.0:
                total += (room[1, k] + more) * room[0, k]
    else:  # half the radius moves from the worst outcomes to the best
        more = min(0.5 * radius, 1.0 - room[3, 0])
        total = (room[3, 0] + more) * room[0, 0]
        for k in range(count - 1, 0, -1):
            less = min(more, room[3, k])
            more -= less
            if room[3, k] - less > 0.0:
                total += (room[3, k] - less) * room[0, k]
    largest = max(abs(room[0, 0]), abs(room[0, count - 1]))
    safe: float = sign * (total + 4.0 * (count + 2) * _UNIT * largest)
    return safe


@numba.njit(cache=True, nogil=True)
def iterate(
    s: Successors,
    sets: Sets,
    reward: np.ndarray,
    x: np.ndarray,
    sign: float,
    beyond: float,
    grow: float,
    tolerance: float,
    sweeps: int,
    room: np.ndarray,
) -> float:
    """Sweep until no value changes by more than the tolerance; the last sweep's greatest change.

    A value takes the best expectation of its actions where that is greater (grow 1) or less (-1).
    """
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for v in range(len(s.action_start) - 2, -1, -1):
            first, last = s.action_start[v], s.action_start[v + 1]
            if first == last:
                continue
            best = -np.inf
            for a in range(first, last):
                best = max(best, expectation(s, sets, reward, x, a, sign, beyond, room))
            if grow * best > grow * x[v]:
                change = max(change, abs(x[v] - best))
                x[v] = best
        if change <= tolerance:
            break
    return change


@numba.njit(cache=True, nogil=True)
def expectations(
    s: Successors,
    sets: Sets,
    reward: np.ndarray,
    x: np.ndarray,
    sign: float,
    beyond: float,
    room: np.ndarray,
    out: np.ndarray,
) -> None:
    """The greatest (sign 1) or least (-1) expectation of every action, into ``out``."""
    for a in range(len(out)):
        out[a] = expectation(s, sets, reward, x, a, sign, beyond, room)


def fixed(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to: kernels are compiled once for all arrays of this kind."""
    view = np.ascontiguousarray(array)[:]
    view.flags.writeable = False
    return view


class Starts(NamedTuple):
    """Starts of runs whose distribution is learned.

    Attributes:
        vertices: The starts that were seen.
        sets: The distributions over them that the data allow, as those of a single pair.
    """

    vertices: Ints
    sets: Sets

    @classmethod
    def of(cls, observed: Observed, family: str, delta: float) -> Starts | None:
        """The observed starts; None if the start distribution is known."""
        if observed.starts is None:
            return None
        return cls(observed.starts.vertices, start_sets(observed.starts, family, delta))

    def expectation(self, x: Floats, beyond: float, sign: float) -> float:
        """Greatest (sign 1) or least (-1) value; a start never seen is worth ``beyond``."""
        count, nothing = len(self.vertices), len(x)
        ends = np.array([0, 1], np.int32), np.array([0, count], np.int32)
        second = np.full(count, nothing, np.int32)
        one = Successors(*map(fixed, (*ends, self.vertices, second)))
        reward, room = np.zeros(count), np.empty((4, count + 1))
        worth = np.append(x, 0.0)
        return float(expectation(one, self.sets, reward, worth, 0, sign, beyond, room))

    def doubt(self, above: Floats, below: Floats, reach: float) -> float:
        """Width of the start value due to the start distribution alone, both ends together."""
        centre = self.sets.centre
        high = self.expectation(above, reach, 1.0) - float(centre @ above[self.vertices])
        low = float(centre @ below[self.vertices]) - self.expectation(below, -reach, -1.0)
        return high + low


class RobustBounds:
    """Upper and lower bounds on the values of a 1-exit model whose distributions lie in sets.

    The optimistic and the pessimistic operator are the Bellman operator with the best and the worst
    distribution of each pair. With F the operator of the true model and G the optimistic one,
    x* <= u implies x* = F(x*) <= F(u) <= G(u): so min(u, G(u)) is a bound again, at every stop.
    Bounds only ever tighten, also from one family of sets to the next.

    Args:
        model: Vertices, actions, outcomes and rewards.
        steps: K, a bound on the expected steps from any vertex to the exit of its component; None
            to find one from the sets, as soon as they allow it.
        rewards: Least and greatest reward there may be; None for those of the model.
        starts: Where runs start; None for the distribution of the model.

    Example:
        The sets of exactly known probabilities give the value itself:

        >>> import recurl
        >>> from recurl.learn.pac.confidence import Sets
        >>> model = recurl.zoo.cloud(exits=1)
        >>> p, pairs = model.tables.prob, model.tables.n_actions
        >>> bounds = RobustBounds(model)
        >>> bounds.tighten(Sets(p, p, p, np.full(pairs, 2.0), np.zeros(pairs)))
        >>> round(bounds.lower, 6), round(bounds.upper, 6)
        (-5.3425, -5.3425)
    """

    def __init__(
        self,
        model: RMDP,
        steps: float | None = None,
        rewards: tuple[float, float] | None = None,
        *,
        starts: Starts | None = None,
    ) -> None:
        t = model.tables
        self.model, self.steps, self.starts = model, steps, starts
        own = (float(t.reward.min(initial=0.0)), float(t.reward.max(initial=0.0)))
        self.rewards = own if rewards is None else rewards
        self.paid = t.reward, t.reward
        self.successors = Successors.of(model)
        self._room = np.empty((4, int(np.diff(t.transition_start).max(initial=0)) + 1))
        # One entry more than vertices: the value after the exit.
        self._states = np.append(t.states, False)
        self.above = np.where(self._states, math.inf, 0.0)
        self.below = np.where(self._states, -math.inf, 0.0)
        if steps is not None:
            self._start(np.full(t.n_vertices + 1, steps))

    def _start(self, steps: Floats) -> None:
        """The first finite bounds: all steps at the best or worst reward."""
        self.above = np.where(self._states, self.rewards[1] * steps, 0.0)
        self.below = np.where(self._states, self.rewards[0] * steps, 0.0)

    @property
    def upper(self) -> float:
        """The optimum from the start is at most this."""
        return self._at_start(self.above, math.inf)

    @property
    def lower(self) -> float:
        """The optimum from the start is at least this."""
        return self._at_start(self.below, -math.inf)

    def _at_start(self, x: Floats, direction: float) -> float:
        if not np.isfinite(x).all():
            return direction
        sign = math.copysign(1.0, direction)
        if self.starts is None:
            value = self.model.start_value(x[:-1])
        else:
            value = self.starts.expectation(x, self._beyond(sign, 0.0), sign)
        return value + sign * 1e-14 * float(np.abs(x).max())

    @property
    def bounded(self) -> bool:
        """Whether a bound on the steps is known, so that the values have bounds."""
        return bool(np.isfinite(self.above).all() and np.isfinite(self.below).all())

    def tighten(
        self,
        sets: Sets,
        tolerance: float = 1e-9,
        *,
        rewards: tuple[Floats, Floats] | None = None,
    ) -> None:
        """Take new sets into account, until a sweep changes no value by more than the tolerance.

        Args:
            sets: The distributions that the data allow.
            tolerance: The tolerance.
            rewards: Rewards for the upper and for the lower bound, in place of those of the model.
        """
        if not self.bounded and not self._bound_steps(sets):
            return
        self.paid = self.paid if rewards is None else rewards
        ends = zip((1.0, -1.0), (self.above, self.below), self.paid, strict=True)
        for sign, x, reward in ends:
            args = tolerance, _SWEEPS
            self._iterate(sets, reward, x, sign, self._beyond(sign), -sign, *args)

    def _bound_steps(self, sets: Sets) -> bool:
        """Find a bound on the steps of all models in the sets, if there is one."""
        if (sets.missing > 0).any():
            return False
        d, excess = self.greatest_steps(sets)
        if not excess < 0.5:
            return False
        d /= (1 - excess) * (1 - 1e-9)
        self._start(d)
        self.steps = float(_with_calls(self.model, d[:-1]).max())
        return True

    def slow_pairs(self, sets: Sets) -> np.ndarray:
        """The pairs of a policy that takes the most steps, as far as the sets allow them."""
        t, ones = self.model.tables, np.ones(len(sets.low))
        d, _ = self.greatest_steps(sets)
        step = self._expectations(sets, ones, d, 1.0, beyond=0.0)
        states = np.flatnonzero(t.states)
        greatest = np.zeros(t.n_vertices)
        greatest[states] = np.maximum.reduceat(step, t.action_start[states])
        slow: np.ndarray = step >= _SLOW * greatest[t.action_vertex]
        return slow

    def greatest_steps(
        self, sets: Sets, tolerance: float = _STEP_TOLERANCE, sweeps: int = _STEP_SWEEPS
    ) -> tuple[Floats, float]:
        """Greatest expected steps over all models in the sets, from below, and their excess.

        The excess is the greatest 1 + P d - d: if it is below 1 then d / (1 - excess) bounds the
        steps of all these models. It is inf if d grows without end.
        """
        d, ones, before = np.zeros(len(self._states)), np.ones(len(sets.low)), math.inf
        for _ in range(0, sweeps, _STRIDE):
            change = self._iterate(sets, ones, d, 1.0, 0.0, 1.0, tolerance, _STRIDE)
            if not d.max() <= 1e12 or (change > tolerance and change > 0.999 * before):
                return d, math.inf
            if change <= tolerance:
                break
            before = change
        step = self._expectations(sets, ones, d, 1.0, beyond=0.0)
        return d, float((step - d[self.model.tables.action_vertex]).max(initial=0.0))

    def _expectations(
        self, sets: Sets, reward: Floats, x: Floats, sign: float, beyond: float | None = None
    ) -> Floats:
        out, held = np.empty(self.model.tables.n_actions), Sets(*map(fixed, sets))
        args = fixed(reward), x, sign, self._beyond(sign) if beyond is None else beyond
        expectations(self.successors, held, *args, self._room, out)
        return out

    def _iterate(self, sets: Sets, reward: Floats, x: Floats, *args: Any) -> float:
        sign, beyond, grow, tolerance, sweeps = args
        held, plain = Sets(*map(fixed, sets)), fixed(reward)
        change: float = iterate(
            self.successors, held, plain, x, sign, beyond, grow, tolerance, sweeps, self._room
        )
        return change

    def _beyond(self, sign: float, step: float = 1.0) -> float:
        """The best, or worst, worth of a step to an unknown vertex."""
        return self.rewards[1 if sign > 0 else 0] * (step + (self.steps or 0.0))

    def expected(self, sets: Sets, sign: float, reward: Floats | None = None) -> Floats:
        """Greatest (sign 1) or least (-1) expectation of each action by the bounds so far.

        Args:
            sets: The distributions that the data allow.
            sign: The side.
            reward: Rewards in place of those that the last bounds were found with.
        """
        x, own = (self.above, self.paid[0]) if sign > 0 else (self.below, self.paid[1])
        return self._expectations(sets, own if reward is None else reward, x, sign)

    def choice(self, sets: Sets, sign: float) -> Ints:
        """The best action of each vertex in view of the upper (sign 1) or lower (-1) bound.

        Those of the lower bound attain it in every model of the sets. Actions are counted within
        each vertex.
        """
        return best_actions(self.expected(sets, sign), self.model.tables.action_start)

    def scores(self, sets: Sets) -> Floats:
        """How much of the gap at the start is due to each pair.

        Visits under the best actions of either bound, times what the set adds to an expectation.
        """
        t, total = self.model.tables, np.zeros(self.model.tables.n_actions)
        states = np.flatnonzero(t.states)
        for sign, x in ((1.0, self.above), (-1.0, self.below)):
            values = self.expected(sets, sign)
            chosen = (t.action_start[:-1] + best_actions(values, t.action_start))[states]
            doubt = np.maximum(sign * (values - self._centre(sets, x)), 0.0)[chosen]
            total[chosen] += self.visits(sets.centre, chosen)[states] * doubt
        return total

    def _centre(self, sets: Sets, x: Floats) -> Floats:
        """The expectation of each action by the observed frequencies."""
        t = self.model.tables
        worth = self.successors.worths(t.reward, x)
        seen = np.where(sets.centre > 0, sets.centre * np.where(sets.centre > 0, worth, 0.0), 0.0)
        return np.add.reduceat(seen, t.transition_start[:-1]).astype(np.float64)

    def visits(self, prob: Floats, chosen: Ints, tolerance: float = _VISIT_TOLERANCE) -> Floats:
        """Expected visits of each vertex under chosen actions, nearly: y = start + P' y."""
        t, s, n = self.model.tables, self.successors, self.model.tables.n_vertices
        taken = np.zeros(t.n_actions, bool)
        taken[chosen] = True
        pair = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
        at = np.flatnonzero(taken[pair])
        source, after = t.action_vertex[pair[at]], np.concatenate([s.first[at], s.second[at]])
        begin = int(t.component_start[t.start_component])
        start: Floats = np.zeros(n)
        start[begin : begin + len(t.start_prob)] = t.start_prob
        y = start
        for _ in range(_VISIT_SWEEPS):
            mass = np.tile(prob[at] * y[source], 2)
            y, before = start + np.bincount(after, mass, n + 1)[:-1], y
            if np.abs(y - before).sum() <= tolerance * y.sum():
                break
        return y


def best_actions(values: Floats, action_start: Ints) -> Ints:
    """The first greatest value of each vertex, counted within it; 0 where there is none."""
    counts = np.diff(action_start)
    states = np.flatnonzero(counts)
    first = action_start[states]
    greatest = np.repeat(np.maximum.reduceat(values, first), counts[states])
    place = np.where(values >= greatest, np.arange(len(values)), len(values))
    best = np.zeros(len(counts), np.int32)
    best[states] = np.minimum.reduceat(place, first) - first
    return best


def _with_calls(model: RMDP, d: Floats) -> Floats:
    """Step bounds completed at call ports: entry and return port together."""
    t, full = model.tables, d.copy()
    calls = np.flatnonzero(t.vertex_kind == CALL)
    full[calls] = d[t.entry_of_call(calls)] + d[t.box_return[t.vertex_box[calls]]]
    full[t.vertex_kind == EXIT] = 0.0
    return full
