"""Bounds on the optimum that hold for every model in the confidence sets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.learn.pac import kernel
from recurl.model.tables import CALL, EXIT

if TYPE_CHECKING:
    from recurl.learn.pac.kernel import Sets
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints

_SWEEPS = 20_000


class Starts(NamedTuple):
    """Where runs start, as far as it is known.

    Attributes:
        vertices: The starts that were seen.
        sets: The distributions over them that the data allow, as those of a single pair.
    """

    vertices: Ints
    sets: Sets

    def expectation(self, x: Floats, beyond: float, sign: float) -> float:
        """Greatest (sign 1) or least (-1) value; a start never seen is worth ``beyond``."""
        own, more = self.sets, bool(self.sets.missing[0] > 0)
        worth = np.append(x[self.vertices], [beyond] * more)
        low, centre = (np.append(part, [0.0] * more) for part in (own.low, own.centre))
        room = np.stack([sign * worth, low, np.append(own.high, own.missing[:more]), centre])
        room = np.ascontiguousarray(room[:, np.argsort(-room[0], kind="stable")])
        if own.radius[0] >= 2:
            return sign * float(kernel.spread(room, len(worth)))
        return sign * float(kernel.shift(room, len(worth), own.radius[0]))


class RobustBounds:
    """Upper and lower bounds on the values of a 1-exit model whose distributions lie in sets.

    The optimistic and the pessimistic operator are the Bellman operator with the best and the worst
    distribution of each pair. Bounds only ever tighten, also from one family of sets to the next:
    what held once holds on.

    Args:
        model: Vertices, actions, outcomes and rewards.
        steps: K, a bound on the expected steps from any vertex to the exit of its component; None
            to find one from the sets, as soon as they allow it.
        rewards: Least and greatest reward there may be; None for those of the model.
        starts: Where runs start; None for the distribution of the model.

    Example:
        The sets of exactly known probabilities give the value itself:

        >>> import recurl
        >>> from recurl.learn.pac.kernel import Sets
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
        self.above = np.where(t.states, math.inf, 0.0)
        self.below = np.where(t.states, -math.inf, 0.0)
        if steps is not None:
            self._start(np.full(t.n_vertices, steps))

    def _start(self, steps: Floats) -> None:
        """The first finite bounds: so many steps, each at the best or worst reward."""
        states = self.model.tables.states
        self.above = np.where(states, self.rewards[1] * steps, 0.0)
        self.below = np.where(states, self.rewards[0] * steps, 0.0)

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
            value = self.model.start_value(x)
        else:
            beyond = self.rewards[1 if sign > 0 else 0] * (self.steps or 0.0)
            value = self.starts.expectation(x, beyond, sign)
        return value + sign * 1e-14 * float(np.abs(x).max())

    @property
    def bounded(self) -> bool:
        """Whether a bound on the steps is known, so that the values have bounds."""
        return bool(np.isfinite(self.above).all() and np.isfinite(self.below).all())

    def tighten(self, sets: Sets, tolerance: float = 1e-9) -> None:
        """Take new sets into account, until a sweep changes no value by more than the tolerance."""
        if not self.bounded and not self._bound_steps(sets):
            return
        t = self.model.tables
        for sign, x in ((1.0, self.above), (-1.0, self.below)):
            reward = t.reward
            kernel.tighten(t, sets, reward, x, sign, self._beyond(sign), tolerance, _SWEEPS)

    def _bound_steps(self, sets: Sets) -> bool:
        """Find a bound on the steps of all models in the sets, if there is one."""
        if (sets.missing > 0).any():
            return False
        t = self.model.tables
        d = np.zeros(t.n_vertices)
        excess = kernel.steps_from_below(t, sets, d, 0.0, 0.02, 3000)
        if not excess < 0.5:
            return False
        d /= (1 - excess) * (1 - 1e-9)
        self._start(d)
        self.steps = float(_with_calls(self.model, d).max())
        return True

    def _beyond(self, sign: float) -> float:
        """The best, or worst, that a step to an unknown vertex may be worth."""
        return self.rewards[1 if sign > 0 else 0] * (1 + (self.steps or 0.0))

    def choice(self, sets: Sets, sign: float) -> Ints:
        """The best actions in view of the upper (sign 1) or lower (-1) bound.

        Those of the lower bound attain it in every model of the sets.
        """
        t, x = self.model.tables, self.above if sign > 0 else self.below
        chosen = np.zeros(t.n_vertices, np.int32)
        # The best action for a maximiser, expectations being the best or the worst of the set.
        kernel.choose(t, sets, t.reward, x, sign, self._beyond(sign), chosen)
        return chosen

    def scores(self, sets: Sets) -> Floats:
        """How much of the gap at the start is due to each pair.

        Visits under the best actions of either bound, times what the set adds to an expectation.
        """
        t, total = self.model.tables, np.zeros(self.model.tables.n_actions)
        for sign, x in ((1.0, self.above), (-1.0, self.below)):
            chosen = self.choice(sets, sign)
            often = kernel.visits(t, sets.centre, chosen, 1e-2, 500)
            doubts = kernel.doubts(t, sets, t.reward, x, sign, self._beyond(sign))
            states = np.flatnonzero(t.states)
            total[chosen[states]] += often[states] * doubts[chosen[states]]
        return total


def _with_calls(model: RMDP, d: Floats) -> Floats:
    """Step bounds completed at call ports: entry and return port together."""
    t, full = model.tables, d.copy()
    calls = np.flatnonzero(t.vertex_kind == CALL)
    full[calls] = d[t.entry_of_call(calls)] + d[t.box_return[t.vertex_box[calls]]]
    full[t.vertex_kind == EXIT] = 0.0
    return full
