"""The lower bound at a set of points: the pieces of a policy whose contexts they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import Floats, Ints, Tables
from recurl.solving.certified import policy_kernel
from recurl.solving.certified.flow import flow_of
from recurl.solving.certified.newton import Fineness, fixed_point, linear_operator, steps_to_rest
from recurl.solving.certified.points import call_slots, slot_vertices
from recurl.solving.certified.threads import spread

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from recurl.solving.certified.newton import Slopes, Solver
    from recurl.solving.certified.points import Points
    from recurl.solving.certified.problem import Problem

_IMPROVEMENTS = 3


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
    problem: Problem,
    points: Points,
    action: Ints,
    callee: Ints,
    slack: float,
) -> Lower:
    """The pieces of a policy, a little below what it earns so that all inequalities hold.

    Args:
        problem: The problem.
        points: The contexts of the policy.
        action: Its action in each slot.
        callee: The context that each call enters, by slot.
        slack: How much to stay below the solution.
    """
    for more, solver in ((1.0, fixed_point), (10.0, fixed_point), (10.0, steps_to_rest)):
        lower = Lower.of(problem.tables, points, action, callee)
        _solve_reach(problem, lower, more * slack, solver)
        _solve_rewards(problem, lower, more * slack, solver)
        if _sound(problem, lower):
            break
    return lower


def improved(problem: Problem, lower: Lower, nodes: np.ndarray, slack: float) -> Lower:
    """A policy made better a few times where another action or context called gains something."""
    t, pts = problem.tables, lower.points
    best = lower
    for _ in range(_IMPROVEMENTS):
        value = policy_kernel.lower_values(t, pts, best.reach, best.rewards)
        margin = max(slack, 1e-12) * float(np.abs(value).max(initial=1.0))
        action, callee = best.action.copy(), best.callee.copy()
        changed = policy_kernel.improve(
            t, pts, problem.gain, nodes, value, best.entry_reach, best.entry_rewards, action,
            callee, margin,
        )  # fmt: skip
        if not changed:
            break
        new = lower_bound(problem, pts, action, callee, slack)
        gained = new.start(problem) - best.start(problem)
        if not new.sound or gained <= 0.0:
            break
        best = new
        if gained <= 1e3 * slack * max(1.0, abs(new.start(problem))):
            break
    return best


def _sound(problem: Problem, lower: Lower) -> bool:
    """Whether all inequalities hold; notes it."""
    excess = policy_kernel.lower_excess(
        problem.tables, lower.points, problem.gain, lower.action, lower.callee, lower.reach,
        lower.rewards, lower.entry_reach, lower.entry_rewards,
    )  # fmt: skip
    lower.sound = bool(np.isfinite(lower.entry_rewards).all()) and max(excess) < 0.0
    return lower.sound


def _solve_reach(problem: Problem, lower: Lower, slack: float, solver: Solver) -> None:
    """P of the policy: the least solution of the equations, less the slack."""
    t, pts = problem.tables, lower.points
    called = _called(t, lower)
    several = (t.n_exits[pts.component] > 1).repeat(np.diff(pts.entry))
    given = np.empty_like(lower.entry_reach)

    def step(entries: Floats, fineness: float) -> Floats:
        given[:] = _within_one(entries)
        out = np.zeros_like(entries)
        spread(
            len(pts.component),
            len(lower.rewards),
            lambda a, b: policy_kernel.reach_step(
                t, pts, problem.order, lower.action, lower.callee, given, lower.reach,
                slack, fineness, out, a, b,
            ),
        )  # fmt: skip
        return out

    def slopes() -> LinearOperator:
        flow = flow_of(problem, pts, lower.action, given[called])
        visits = flow.matrix(
            np.arange(len(called))[:, None], np.ones((len(called), 1)), len(called)
        )
        through = np.empty((len(called), t.max_exits))

        def matvec(x: Floats) -> Floats:
            policy_kernel.through_calls(
                t, pts, called, x.reshape(given.shape), lower.reach, through
            )
            product: Floats = ((visits @ through) * several[:, None]).ravel()
            return product

        return linear_operator(given.size, matvec)

    lower.entry_reach = _settle(lower, step, slopes, lower.entry_reach, slack, solver)


def _within_one(reach: Floats) -> Floats:
    """Rows made nonnegative and to sum to at most 1: there, the fixed point is the only one."""
    positive = np.maximum(reach, 0.0)
    scaled: Floats = positive / np.maximum(positive.sum(axis=1, keepdims=True), 1.0)
    return scaled


def _solve_rewards(problem: Problem, lower: Lower, slack: float, solver: Solver) -> None:
    """R of the policy, linear once p is known, less the slack."""
    t, pts = problem.tables, lower.points
    scale = max(1.0, problem.size, float(np.abs(lower.entry_rewards).max(initial=0.0)))
    called = _called(t, lower)

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

    def slopes() -> Any:
        flow = flow_of(problem, pts, lower.action, lower.entry_reach[called])
        return flow.matrix(called[:, None], np.ones((len(called), 1)), len(lower.entry_rewards))

    start = lower.entry_rewards
    lower.entry_rewards = _settle(lower, step, slopes, start, slack * scale, solver)


def _called(t: Tables, lower: Lower) -> np.ndarray:
    """Entry number at which each call continues."""
    slots = call_slots(t, lower.points)
    port = t.vertex_port[slot_vertices(t, lower.points)[slots]]
    entries: np.ndarray = lower.points.entry[lower.callee[slots]] + port
    return entries


def _settle(
    lower: Lower,
    step: Callable[[Floats, float], Floats],
    slopes: Slopes,
    start: Floats,
    slack: float,
    solver: Solver,
) -> Floats:
    """Fixed point of a step to half the slack."""
    fine = Fineness(0.05 * slack)

    def finer(x: Floats) -> Floats:
        return fine.after(step(x, fine.now), x)

    rest = solver(finer, slopes, start, 0.5 * slack)
    return step(rest.x, fine.least)
