"""The lower bound at a set of points: the pieces of a policy whose contexts they are.

In a context the policy takes one action per state and calls into one context per call. As a
function of the exit values v, what it earns from vertex q is at least
R(q) + p(q).v + (1 - sum p(q)) min v, with p the probabilities to reach each exit. A small *slack*
taken off every equation makes the computed numbers satisfy the inequalities of a certificate in
spite of rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from recurl.linear.systems import chosen_lines
from recurl.model.tables import Floats, Mask
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.linear import Inverses, fixed_point, solve_from_identity
from recurl.solving.certified.lost import giving_up
from recurl.solving.infinite import visited
from recurl.solving.rows import part_of

_IMPROVEMENTS = 3


@dataclass(eq=False)
class Lower:
    """A policy over contexts, and its pieces.

    Attributes:
        contexts: The contexts.
        action: Actions by component, counted within it. ``[states, X]`` each
        callee: Context of its callee that each call enters.
        reach: p by slot. ``[slots, K]``
        rewards: R by slot.
        sound: Whether all inequalities hold.
    """

    contexts: Contexts
    action: list[np.ndarray]
    callee: np.ndarray
    reach: Floats
    rewards: Floats
    sound: bool = False

    @cached_property
    def called(self) -> np.ndarray:
        """Slot of the entry at which each call continues."""
        slots: np.ndarray = self.contexts.entry_slots[self.contexts.called(self.callee)]
        return slots

    @cached_property
    def moves(self) -> Any:
        """Probabilities from the states of all contexts to slots, under the policy's actions."""
        from scipy.sparse import csr_array

        ctx, data, place, count = self.contexts, [], [], []
        for c, (part, n) in enumerate(zip(ctx.parts, ctx.count, strict=True)):
            lines = chosen_lines(part.matrix, self.action[c].ravel())
            own = np.diff(lines.indptr)
            context = np.tile(np.arange(n), len(part.states)).repeat(own)
            place.append(ctx.base[c] + lines.indices * n + context)
            data.append(lines.data)
            count.append(own)
        start = np.append(0, np.cumsum(np.concatenate(count)))
        parts = np.concatenate(data), np.concatenate(place), start
        return csr_array(parts, shape=(len(start) - 1, int(ctx.base[-1])))

    @cached_property
    def gains(self) -> Floats:
        """Expected rewards of the policy's actions at the states of all contexts."""
        pairs = zip(self.contexts.parts, self.action, strict=True)
        return np.concatenate([part.gain[own].ravel() for part, own in pairs])

    @cached_property
    def ends(self) -> bool:
        """Whether the policy is known to end without giving up: as all do, or by its own steps."""
        if self.contexts.problem.potential is None:
            return True
        return not self._gives_up and steps_of(self) is not None

    @property
    def _gives_up(self) -> bool:
        """Whether a run from the start may give up."""
        ctx, problem = self.contexts, self.contexts.problem
        own = ctx.view(self.giving_up, problem.start)
        entries = np.flatnonzero(problem.tables.start_prob)
        return bool(own[entries, self.best(problem.start, problem.root)[0][entries]].any())

    @cached_property
    def giving_up(self) -> Mask:
        """Slots from which the policy may give up."""
        return giving_up(self)

    def at(self, component: int, vectors: Floats, rows: slice) -> Floats:
        """Values of pieces at exit values: by vector, vertex in ``rows``, and context."""
        part = self.contexts.parts[component]
        exits = part.exits.stop - part.exits.start
        least = vectors.min(axis=1, keepdims=True)
        reach = self.contexts.view(self.reach, component)[rows, :, :exits]
        rewards = self.contexts.view(self.rewards, component)[rows]
        worth: Floats = np.tensordot(vectors - least, reach, (1, 2)) + rewards + least[:, :, None]
        return worth

    def best(self, component: int, vector: Floats) -> tuple[np.ndarray, Floats]:
        """Best context for each entry of a component at exit values, and what it is worth."""
        worth = self.at(component, vector[None], self.contexts.parts[component].entry_rows)[0]
        return worth.argmax(axis=1), worth.max(axis=1)

    def start(self) -> float:
        """The bound that is proved on the start."""
        problem = self.contexts.problem
        return float(problem.tables.start_prob @ self.best(problem.start, problem.root)[1])

    def of_pieces(self, component: int, pieces: np.ndarray, vectors: Floats) -> Floats:
        """Values of some pieces, each at its own exit values, at all vertices."""
        least = vectors.min(axis=1)
        along = vectors - least[:, None]
        reach = self.contexts.view(self.reach, component)[:, pieces, : vectors.shape[1]]
        rewards = self.contexts.view(self.rewards, component)[:, pieces]
        worth: Floats = rewards + (reach * along).sum(axis=2) + least
        return worth

    def values(self) -> Floats:
        """Values of the policy in each slot, the exits worth the vector of the context."""
        values = np.empty_like(self.rewards)
        for c, points in enumerate(self.contexts.points):
            every = np.arange(len(points))
            self.contexts.view(values, c)[:] = self.of_pieces(c, every, points.vectors)
        return values


def lower_bound(
    contexts: Contexts,
    action: list[np.ndarray],
    callee: np.ndarray,
    slack: float,
    inverses: Inverses | None = None,
) -> Lower:
    """The pieces of a policy, a little below what it earns so that all inequalities hold.

    Args:
        contexts: The contexts of the policy.
        action: Its actions by component. ``[states, X]`` each
        callee: The context that each call enters.
        slack: How much to stay below the solution.
        inverses: Inverses of a similar policy, to begin with.
    """
    for more in (1.0, 10.0):
        slots, width = int(contexts.base[-1]), contexts.problem.tables.max_exits
        none = np.zeros((slots, width)), np.zeros(slots)
        lower = Lower(contexts, action, callee, *none)
        own = Inverses(contexts) if inverses is None else inverses.copy()
        _solve_reach(lower, more * slack, own)
        _solve_rewards(lower, more * slack, own)
        lower.sound = _sound(lower)
        if lower.sound:
            break
    return lower


def _solve_reach(lower: Lower, slack: float, inverses: Inverses) -> None:
    """P of the policy: the least solution of the equations, less the slack."""
    ctx = lower.contexts
    begins = inverses.solve(ctx.only_exits()) if inverses.known else ctx.fixed_reach
    start = _within_one(begins)

    def apply(reach: Floats) -> _Reach:
        reach[:] = _within_one(reach)
        return _Reach(lower, reach, slack)

    rest = fixed_point(ctx, apply, start, 0.5 * slack, inverses, trusted=1e-3)
    # Exits that are never reached get what rounding leaves there: far less than the slack.
    lower.reach = np.where(rest.values < 1e-3 * slack, 0.0, rest.values)


def _within_one(reach: Floats) -> Floats:
    """Rows made nonnegative and to sum to at most 1: there, the fixed point is the only one."""
    positive = np.maximum(reach, 0.0)
    scaled: Floats = positive / np.maximum(positive.sum(axis=1, keepdims=True), 1.0)
    return scaled


class _Reach:
    """The equations of p: what the policy's own choices reach, less a slack."""

    def __init__(self, lower: Lower, reach: Floats, slack: float) -> None:
        self.lower, self.reach = lower, reach
        self.share = reach[lower.called]
        self.target = np.maximum(composed_reach(lower, reach) - slack, 0.0)
        known = lower.contexts.known_reach
        self.target[known] = lower.contexts.fixed_reach[known]

    def update(self, inverses: Inverses, which: list[np.ndarray]) -> None:
        for c, own in enumerate(which):
            share = self.lower.contexts.view_calls(self.share, c)
            inverses.update(c, own, self.lower.action[c], share)

    def correction(self, inverses: Inverses, residual: Floats) -> Floats:
        ctx = self.lower.contexts
        first = inverses.at_entries(residual)
        calls = ThroughCalls(
            inverses.visits(), ctx.called(self.lower.callee), self._after, first.shape
        )
        right = residual.copy()
        right[ctx.call_slots] += calls.through(solve_from_identity(calls, first))
        return inverses.solve(right)

    @property
    def _after(self) -> Floats:
        """Where runs go from the return ports of each call: ``[calls, J, K]``."""
        ctx = self.lower.contexts
        after: Floats = self.reach[ctx.call_returns] * ctx.call_inside[:, :, None]
        return after


class ThroughCalls(NamedTuple):
    """The matrix of how changes at entries, ``[entries, K]``, change entries through calls.

    Attributes:
        visits: Expected visits of each call from each entry.
        place: Entry that each call enters.
        after: See `_Reach`. ``[calls, J, K]``
        shape: Of the values of entries.
    """

    visits: Any
    place: np.ndarray
    after: Floats
    shape: tuple[int, ...]

    def through(self, entries: Floats) -> Floats:
        """Changes at calls."""
        moved: Floats = np.einsum("cj,cjk->ck", entries.reshape(self.shape)[self.place], self.after)
        return moved

    def __matmul__(self, entries: Floats) -> Floats:
        worth: Floats = (self.visits @ self.through(entries)).ravel()
        return worth

    def toarray(self) -> Floats:
        """The whole matrix."""
        each = np.einsum("ec,cjk->cjek", self.visits.toarray(), self.after)
        found = np.zeros((self.shape[0], *each.shape[1:]))
        np.add.at(found, self.place, each)
        size = self.shape[0] * self.shape[1]
        return found.reshape(size, size).T


def composed_reach(lower: Lower, reach: Floats) -> Floats:
    """Exit probabilities of the policy's own choices from each slot, exits left as they are."""
    ctx = lower.contexts
    out = reach.copy()
    out[ctx.state_slots] = lower.moves @ reach
    after = reach[ctx.call_returns]
    share = np.where(ctx.call_inside, reach[lower.called], 0.0)
    out[ctx.call_slots] = np.einsum("cj,cjk->ck", share, after)
    return out


def _solve_rewards(lower: Lower, slack: float, inverses: Inverses) -> None:
    """R of the policy, linear once p is known, less the slack."""
    scale = max(1.0, lower.contexts.problem.size)
    rest = fixed_point(
        lower.contexts,
        lambda r: Rewards(lower, r, slack * scale),
        lower.rewards,
        0.5 * slack * scale,
        inverses,
    )
    lower.rewards = rest.values


class Rewards:
    """The equations of R: what the policy's own choices earn, less a slack."""

    def __init__(self, lower: Lower, rewards: Floats, slack: float) -> None:
        self.lower = lower
        self.target = composed_rewards(lower, rewards) - slack
        for c, part in enumerate(lower.contexts.parts):
            lower.contexts.view(self.target, c)[part.exits] = 0.0

    def update(self, inverses: Inverses, which: list[np.ndarray]) -> None:
        """See `Step.update`."""
        share = self.lower.reach[self.lower.called]
        for c, own in enumerate(which):
            own_share = self.lower.contexts.view_calls(share, c)
            inverses.update(c, own, self.lower.action[c], own_share)

    def correction(self, inverses: Inverses, residual: Floats) -> Floats:
        """See `Step.correction`."""
        nodes = self.lower.callee[:, None]
        matrix = self.lower.contexts.matrix(nodes, np.ones(nodes.shape))
        return inverses.correction(residual, matrix)


def steps_of(lower: Lower) -> Floats | None:
    """D by slot with d >= 1 + sum p d' along the policy, rounding counted; None if not found.

    A call takes what its callee takes, and after it p.d(ret) + (1 - sum p) max d(ret): the
    equations of R with a reward of -1 for every step. Vertices that the policy does not come to
    are left out.
    """
    ctx = lower.contexts
    t, parts = ctx.problem.tables, ctx.parts
    first = [int(t.action_start[part.first]) for part in parts]
    taken = [np.unique(own) + begin for own, begin in zip(lower.action, first, strict=True)]
    seen = visited(t, np.concatenate(taken))
    part = part_of(t, seen).tables
    problem = replace(ctx.problem, tables=part, gain=np.full_like(ctx.problem.gain, -1.0))
    counting = Contexts(problem, ctx.points)
    for slack in (1e-12, 1e-9, 1e-6):
        rewards = np.zeros_like(lower.rewards)
        found = Lower(counting, lower.action, lower.callee, lower.reach, rewards)
        _solve_rewards(found, slack, Inverses(counting))
        if found.rewards.max() <= 0 and _rewards_sound(found):
            return 0.0 - found.rewards
    return None


def composed_rewards(lower: Lower, rewards: Floats) -> Floats:
    """Rewards of the policy's own choices: at calls R_c + p_c.R_ret + (1 - sum p_c) min R_ret."""
    ctx = lower.contexts
    out = rewards.copy()
    out[ctx.state_slots] = lower.moves @ rewards + lower.gains
    share = np.where(ctx.call_inside, lower.reach[lower.called], 0.0)
    after = rewards[ctx.call_returns]
    least = np.where(ctx.call_inside, after, np.inf).min(axis=1, initial=np.inf)
    rest = np.maximum(1.0 - share.sum(axis=1), 0.0) * least
    out[ctx.call_slots] = rewards[lower.called] + (share * after).sum(axis=1) + rest
    return out


def _sound(lower: Lower) -> bool:
    """Whether all inequalities hold, with more room than the rounding of their sums."""
    return _rewards_sound(lower) and _reach_sound(lower)


def _rewards_sound(lower: Lower) -> bool:
    ctx = lower.contexts
    if not np.isfinite(lower.rewards).all():
        return False
    own = np.concatenate([ctx.call_slots, ctx.state_slots])
    room = (composed_rewards(lower, lower.rewards) - lower.rewards)[own]
    size = max(float(np.abs(lower.rewards).max(initial=0.0)), ctx.problem.size)
    return bool((room > _rounding(ctx) * size).all())


def _reach_sound(lower: Lower) -> bool:
    ctx = lower.contexts
    own = np.concatenate([ctx.call_slots, ctx.state_slots])
    room = (composed_reach(lower, lower.reach) - lower.reach)[own]
    several = ctx.several[own]
    return bool(((room > _rounding(ctx)) | (lower.reach[own] <= 0.0))[several].all())


def _rounding(contexts: Contexts) -> float:
    """More than what sums are off by, relative to their terms."""
    return 2.3e-16 * (max(part.longest for part in contexts.parts) + 8)


def improved(lower: Lower, slack: float, inverses: Inverses | None) -> Lower:
    """A policy made better a few times where another action or context called gains something."""
    best = lower
    for _ in range(_IMPROVEMENTS):
        value = best.values()
        margin = max(slack, 1e-12) * float(np.abs(value).max(initial=1.0))
        action = _better_actions(best, value, margin)
        callee = _better_callees(best, value, margin)
        same = all(np.array_equal(*pair) for pair in zip(action, best.action, strict=True))
        if same and np.array_equal(callee, best.callee):
            break
        new = lower_bound(best.contexts, action, callee, slack, inverses)
        gained = new.start() - best.start()
        if not new.sound or gained <= 0.0:
            break
        best = new
        if gained <= 1e3 * slack * max(1.0, abs(new.start())):
            break
    return best


def _better_actions(lower: Lower, value: Floats, margin: float) -> list[np.ndarray]:
    """The best action of each state where it gains more than a margin, else the same."""
    ctx, actions = lower.contexts, []
    for c, part in enumerate(ctx.parts):
        own = ctx.view(value, c)
        best = part.earned(own)[1]
        worse = best > own[part.states] + margin
        actions.append(np.where(worse, part.greedy(own), lower.action[c]))
    return actions


def _better_callees(lower: Lower, value: Floats, margin: float) -> np.ndarray:
    """The best context for each call where it gains more than a margin, else the same."""
    ctx, callee = lower.contexts, lower.callee.copy()
    for c, group in enumerate(ctx.groups):
        part = ctx.parts[c]
        worth = lower.at(c, value[group.returns], part.entry_rows)
        for e in range(part.entries):
            calls = group.calls[:, e]
            rows = np.arange(len(calls))
            found = worth[:, e].argmax(axis=1)
            gain = worth[rows, e, found] - worth[rows, e, callee[calls]]
            callee[calls] = np.where(gain > margin, found, callee[calls])
    return callee
