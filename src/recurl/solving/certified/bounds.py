"""Both bounds at a set of points: the least points above, and the policy's pieces below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL, Floats, Ints, Tables
from recurl.solving.certified import kernel, policy_kernel
from recurl.solving.certified.fixed_point import fixed_point, plain_fixed_point
from recurl.solving.certified.threads import spread

if TYPE_CHECKING:
    from recurl.solving.certified.points import Points

_IMPROVEMENTS = 3
_LEAST_SLACK = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What stays the same through a search; always a greatest total (see `Question.sign`).

    Attributes:
        tables: The model.
        gain: Expected reward of each action.
        root: Worth of each exit of the start component.
        steps: Step bounds d with slack 1 at states and at calls alike (see `with_call_slack`).
        order: Vertices in the order of sweeps: within each component, nearest to the exits first.
    """

    tables: Tables
    gain: Floats
    root: Floats
    steps: Floats
    order: Ints

    @property
    def size(self) -> float:
        """The greatest expected reward of an action, either way."""
        return float(np.abs(self.gain).max(initial=0.0))

    def slack(self, width: float) -> float:
        """What may be taken off every equation if the interval may widen by a bit of ``width``."""
        return max(_LEAST_SLACK, 1e-3 * width / float(self.steps.max(initial=1.0)))

    def crude(self, component: int) -> tuple[Floats, Floats]:
        """A first upper bound: exit values v0 and values of all vertices, from the step bounds.

        With r the greatest expected reward of a step (at least 0), r d >= r + sum p r d and
        r d(call) >= r d(en) + max (r d(ret) - r d(ex)): a point at v0 = r d(exits).
        """
        t = self.tables
        best = max(0.0, float(self.gain.max(initial=0.0)))
        values = best * self.steps[t.component_start[component] : t.component_start[component + 1]]
        first = t.n_entries[component]
        return values[first : first + t.n_exits[component]], values


def with_call_slack(tables: Tables, steps: Floats) -> Floats:
    """Step bounds in which calls, too, have slack 1: twice the given ones, and 1 more at calls.

    A step pays 2 of which at most 1 goes to the call that it leads to.
    """
    doubled: Floats = 2.0 * steps + (tables.vertex_kind == CALL)
    return doubled


@dataclass(slots=True, eq=False)
class Upper:
    """An upper bound: points whose ``values`` by slot satisfy all inequalities up to ``excess``."""

    points: Points
    values: Floats
    entries: Floats
    excess: float
    sweeps: int = 0

    @classmethod
    def of(cls, problem: Problem, points: Points, values: Floats, sweeps: int = 0) -> Upper:
        """Take values as they are, and see by how much they fail."""
        entries = entry_values(points, values)
        excess = kernel.upper_excess(problem.tables, points, problem.gain, entries, values)
        margin = 2e-14 * float(np.abs(values).max(initial=1.0))
        return cls(points, values, entries, float(excess) + margin, sweeps)

    def settled(self, problem: Problem) -> Upper:
        """The same bound raised by excess times d, exit values included: nothing fails any more.

        With d(q) >= 1 + sum p d(q') and d(call) >= 1 + d(en) + max (d(ret) - d(ex)), every
        inequality gains at least the excess.
        """
        t, pts = problem.tables, self.points
        rise = self.excess * problem.steps
        vector = pts.vector.copy()
        for c in range(t.n_components):
            first = t.component_start[c] + t.n_entries[c]
            own = slice(pts.first[c], pts.first[c + 1])
            vector[own, : t.n_exits[c]] += rise[first : first + t.n_exits[c]]
        values = self.values + rise[slot_vertices(t, pts)]
        raised = pts._replace(vector=vector)
        return Upper(raised, values, entry_values(raised, values), 0.0, self.sweeps)


def slot_vertices(tables: Tables, points: Points) -> Ints:
    """Vertex of each slot."""
    first = tables.component_start[points.component]
    sizes = np.diff(points.slot)
    inside = np.arange(int(points.slot[-1])) - np.repeat(points.slot[:-1], sizes)
    vertices: Ints = (np.repeat(first, sizes) + inside).astype(np.int32)
    return vertices


def entry_slots(points: Points) -> np.ndarray:
    """Slot of each entry of each context."""
    count = np.diff(points.entry)
    inside = np.arange(points.entry[-1]) - np.repeat(points.entry[:-1], count)
    slots: np.ndarray = np.repeat(points.slot[:-1], count) + inside
    return slots


def entry_values(points: Points, values: Floats) -> Floats:
    """The entries' share of values by slot."""
    picked: Floats = values[entry_slots(points)]
    return picked


class Fineness:
    """How finely components are solved within a step: a fraction of how far the steps still go."""

    def __init__(self, least: float) -> None:
        self.least, self.now = least, 100.0 * least

    def after(self, out: Floats, entries: Floats) -> Floats:
        """Hands on what a step gave, and sets the fineness of the next."""
        with np.errstate(invalid="ignore"):
            left = float(np.abs(out - entries).max(initial=0.0))
        self.now = max(self.least, 0.03 * left) if np.isfinite(left) else np.inf
        return out


def upper_bound(problem: Problem, points: Points, start: Floats, slack: float) -> Upper:
    """The fixed point of the upper operator on all points, from given values."""
    t, gain, order = problem.tables, problem.gain, problem.order
    values = start.copy()
    scale = max(1.0, problem.size)
    fine = Fineness(0.01 * slack * scale)

    def step(entries: Floats) -> Floats:
        out = np.empty_like(entries)
        spread(
            len(points.component),
            len(values),
            lambda a, b: kernel.upper_step(
                t, points, gain, order, entries, values, fine.now, out, a, b
            ),
        )
        return fine.after(out, entries)

    entries, sweeps = fixed_point(step, entry_values(points, values), 0.3 * slack * scale)
    step(entries)
    return Upper.of(problem, points, values, sweeps)


@dataclass(slots=True, eq=False)
class Lower:
    """A policy over contexts, and its pieces R + p.v + (1 - sum p) min v by slot.

    Attributes:
        points: The contexts.
        action: Action of each slot, counted within its vertex.
        callee: Context that the call at a slot enters.
        reach: p by slot.
        rewards: R by slot.
        entry_reach: p at entries.
        entry_rewards: R at entries.
        sound: Whether all inequalities hold.
    """

    points: Points
    action: Ints
    callee: Ints
    reach: Floats
    rewards: Floats
    entry_reach: Floats
    entry_rewards: Floats
    sound: bool = False
    sweeps: int = 0

    @classmethod
    def of(cls, tables: Tables, points: Points, action: Ints, callee: Ints) -> Lower:
        """A policy whose pieces are still to be found."""
        slots, entries, width = len(action), int(points.entry[-1]), tables.max_exits
        zeros = np.zeros
        return cls(
            points, action, callee, zeros((slots, width)), zeros(slots), zeros((entries, width)),
            zeros(entries),
        )  # fmt: skip

    def at(self, tables: Tables, component: int, vector: Floats) -> tuple[Ints, Floats]:
        """Best context for each entry of a component at exit values, and what it is worth."""
        pts = self.points
        found, worth = [], []
        exits = int(tables.n_exits[component])
        contexts = np.arange(pts.first[component], pts.first[component + 1])
        for entry in range(tables.n_entries[component]):
            rows = pts.entry[contexts] + entry
            p = self.entry_reach[rows, :exits]
            value = self.entry_rewards[rows] + p @ vector + (1 - p.sum(axis=1)) * vector.min()
            found.append(contexts[value.argmax()])
            worth.append(value.max())
        return np.array(found, np.int32), np.array(worth)

    def start(self, problem: Problem) -> float:
        """What is proved of the start."""
        t = problem.tables
        return float(t.start_prob @ self.at(t, t.start_component, problem.root)[1])


def lower_bound(
    problem: Problem, upper: Upper, slack: float, warm: Lower | None = None
) -> tuple[Lower, Lower]:
    """The pieces of the policy that an upper bound suggests, and of it improved a few times.

    Args:
        problem: The problem.
        upper: The upper bound.
        slack: How much to stay below the solution.
        warm: Pieces over the same points to start from.
    """
    t, pts, gain = problem.tables, upper.points, problem.gain
    action, nodes, weights = kernel.links(t, pts, gain, upper.entries, upper.values)
    callee = nodes[np.arange(len(nodes)), weights.argmax(axis=1)].astype(np.int32)
    lower = Lower.of(t, pts, action, callee)
    if warm is not None:
        lower = replace(warm, action=action, callee=callee)
    evaluate(problem, lower, slack)
    if not lower.sound and warm is not None:
        known = replace(lower, entry_reach=warm.entry_reach, entry_rewards=warm.entry_rewards)
        return known, known
    suggested = replace(
        lower,
        action=action.copy(),
        callee=callee.copy(),
        entry_reach=lower.entry_reach.copy(),
        entry_rewards=lower.entry_rewards.copy(),
    )
    before = lower.start(problem)
    for _ in range(_IMPROVEMENTS):
        value = policy_kernel.lower_values(t, pts, lower.reach, lower.rewards)
        margin = max(slack, 1e-12) * float(np.abs(value).max(initial=1.0))
        changed = policy_kernel.improve(
            t,
            pts,
            gain,
            nodes,
            value,
            lower.entry_reach,
            lower.entry_rewards,
            action,
            callee,
            margin,
        )
        if not changed:
            break
        evaluate(problem, lower, slack)
        now = lower.start(problem)
        if now - before <= 1e3 * slack * max(1.0, abs(now)):
            break
        before = now
    return suggested, lower


def evaluate(problem: Problem, lower: Lower, slack: float) -> None:
    """Fill in p and R, a little below their fixed points so that all inequalities hold.

    Accelerated first; from scratch and step by step where that goes astray.
    """
    for more, solver in ((1.0, fixed_point), (10.0, fixed_point), (10.0, plain_fixed_point)):
        if solver is plain_fixed_point:
            lower.entry_reach = np.zeros_like(lower.entry_reach)
            lower.entry_rewards = np.zeros_like(lower.entry_rewards)
            lower.rewards[:] = 0.0
        _solve_reach(problem, lower, more * slack, solver)
        _solve_rewards(problem, lower, more * slack, solver)
        if _sound(problem, lower):
            return


def _sound(problem: Problem, lower: Lower) -> bool:
    """Whether all inequalities hold; notes it."""
    excess = policy_kernel.lower_excess(
        problem.tables, lower.points, problem.gain, lower.action, lower.callee, lower.reach,
        lower.rewards, lower.entry_reach, lower.entry_rewards,
    )  # fmt: skip
    lower.sound = bool(np.isfinite(lower.entry_rewards).all()) and max(excess) < 0.0
    return lower.sound


Solver = Callable[[Callable[[Floats], Floats], Floats, float], tuple[Floats, int]]


def _solve_reach(problem: Problem, lower: Lower, slack: float, solver: Solver) -> None:
    t, pts = problem.tables, lower.points

    def step(entries: Floats, fineness: float) -> Floats:
        out, given = np.zeros_like(entries), _within_one(entries)
        spread(
            len(pts.component),
            len(lower.rewards),
            lambda a, b: policy_kernel.reach_step(
                t, pts, problem.order, lower.action, lower.callee, given, lower.reach,
                slack, fineness, out, a, b,
            ),
        )  # fmt: skip
        return out

    lower.entry_reach = _settle(lower, step, lower.entry_reach, slack, solver)


def _within_one(reach: Floats) -> Floats:
    """Rows made nonnegative and to sum to at most 1: there, the fixed point is the only one."""
    positive = np.maximum(reach, 0.0)
    scaled: Floats = positive / np.maximum(positive.sum(axis=1, keepdims=True), 1.0)
    return scaled


def _solve_rewards(problem: Problem, lower: Lower, slack: float, solver: Solver) -> None:
    t, pts = problem.tables, lower.points
    scale = max(1.0, problem.size, float(np.abs(lower.entry_rewards).max(initial=0.0)))

    def step(entries: Floats, fineness: float) -> Floats:
        out = np.empty_like(entries)
        spread(
            len(pts.component),
            len(lower.rewards),
            lambda a, b: policy_kernel.reward_step(
                t, pts, problem.gain, problem.order, lower.action, lower.callee,
                lower.entry_reach, entries, lower.rewards, slack * scale, fineness, out, a, b,
            ),
        )  # fmt: skip
        return out

    lower.entry_rewards = _settle(lower, step, lower.entry_rewards, slack * scale, solver)


def _settle(
    lower: Lower,
    step: Callable[[Floats, float], Floats],
    start: Floats,
    slack: float,
    solver: Solver,
) -> Floats:
    """Fixed point of a step to half the slack."""
    fine = Fineness(0.05 * slack)
    entries, sweeps = solver(lambda x: fine.after(step(x, fine.now), x), start, 0.5 * slack)
    lower.sweeps += sweeps
    return step(entries, fine.least)
