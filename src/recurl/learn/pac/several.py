"""Environments whose calls may have several exits, discounted: bounds in view of what was seen.

States, calls and exits are discovered by episodes. An outcome that was never seen may lead
anywhere: what comes after it is worth at most d / (1 - lambda), rewards being bounded by d. It
leaves all calls through an exit of its own and pays that much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.access import with_probabilities
from recurl.learn.pac.contexts import of_pairs, without_lanes, worst_cases
from recurl.learn.pac.corners import opened
from recurl.learn.pac.look import Sight
from recurl.model.transforms.discounting import discount_steps
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.learn.pac.atlas import Atlas
    from recurl.learn.pac.one_exit import Task
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.policy import Policy

_SOLVED = 0.02


class SeveralExits(Sight):
    """Bounds on the discounted optimum of an environment, and a policy that attains the lower one.

    Args:
        atlas: What was seen; made for several exits.
        task: What is asked for; with `reward_bound` and `support`.
        discount: The discount of each step.
    """

    def __init__(self, atlas: Atlas, task: Task, discount: float) -> None:
        super().__init__(atlas, task)
        self.discount = discount
        self.reach = float(task.reward_bound or 0.0) / (1 - discount)
        self.lower, self.upper = -math.inf, math.inf
        self.policy: Policy | None = None
        self._best: dict[int, int] = {}

    def tighten(self, gap: float) -> None:
        """Find the bounds; solvers need not be more precise than the gap so far calls for."""
        precise = _SOLVED * max(self.task.epsilon, min(gap, self.reach) / 2)
        own, count = self.starts, int(self.model.tables.n_vertices)
        learned = discount_steps(self.learned(), self.discount)
        self.policy = solve(learned, epsilon=precise).policy
        above, below = np.full(count, self.reach), np.full(count, -self.reach)
        for vertex in own.vertices.tolist():
            above[vertex] = min(self._above(vertex, precise), self.reach)
            below[vertex] = max(self._below(vertex, precise), -self.reach)
        self.upper = own.expectation(above, self.reach, 1.0)
        self.lower = own.expectation(below, -self.reach, -1.0)

    def best_pairs(self) -> dict[int, int]:
        """Pairs that are best where nature is kind."""
        return self._best

    def _above(self, vertex: int, precise: float) -> float:
        wide = opened(from_vertex(self.model, vertex), self.sets, self.reach)
        solution = solve(discount_steps(wide.model, self.discount), epsilon=precise)
        if solution.policy is not None:
            chosen = of_pairs(without_lanes(solution.policy, wide.model), self.model, wide.pair)
            states = self.model.tables.states[chosen.slot_vertex]
            at, actions = chosen.slot_vertex[states], chosen.actions[states]
            self._best |= self.pairs_chosen(at, actions)
        return solution.upper

    def _below(self, vertex: int, precise: float) -> float:
        if self.policy is None:
            return -math.inf
        policy = without_lanes(self.policy, from_vertex(self.learned(), vertex))
        cases = worst_cases(policy, self.sets, -self.reach)
        return sum(weight * self._least(model, precise) for weight, model in cases)

    def _least(self, model: RMDP, precise: float) -> float:
        worst = discount_steps(model, self.discount)
        return solve(worst, epsilon=precise, objective="min").lower


def from_vertex(model: RMDP, vertex: int) -> RMDP:
    """A model whose runs start at one entry of the start component."""
    t = model.tables
    start: Floats = np.zeros(len(t.start_prob))
    start[vertex - t.component_start[t.start_component]] = 1.0
    return with_probabilities(model, t.prob, start=start)
