"""Deterministic models: the optimum is a longest path, whatever the number of exits.

All sums are exact: rewards are whole numbers of one unit.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import LimitError
from recurl.model.certificate import BestWays
from recurl.model.tables import CALL, EXIT, Floats, Ints
from recurl.policy import Policy
from recurl.solving.budget import check_time
from recurl.solving.hierarchical import general_certificate
from recurl.solving.outward import float_above, float_below
from recurl.solving.path_certificate import path_certificate
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question

Best = dict[tuple[int, int], int]
"""Greatest reward on a way from a vertex to an exit, by vertex and number of the exit."""


def solve_deterministic(
    model: RMDP, question: Question, epsilon: float, **options: Any
) -> Solution | None:
    """The optimum of a deterministic model, exactly.

    A policy leaves by one exit for sure, so that ``x(v, q) = max_k R(q, k) + v[k]`` with R(q, k)
    the greatest reward on a way from q to exit k: ``R(q, k) = max_a r + R(q', k)``, and at calls
    ``R((b, en), k) = max_j R(en, j) + R((b, j), k)``. If every policy ends, ways do not go round in
    circles. If some policy does not end, but every step costs something, it pays infinitely much,
    and the best way to an exit is the optimum all the same.

    Returns:
        The solution, or None if a policy that does not end might be better, or nothing ends.

    Example:
        >>> import recurl
        >>> solution = solve_deterministic(recurl.zoo.succinct(20), recurl.Question(), 1e-6)
        >>> solution.lower, solution.method
        (1048575.0, 'longest path')
    """
    began = time.perf_counter()
    t, graph = model.tables, _Graph(model, question)
    order, ends = graph.callees_first()
    if not ends and not all(r < 0 for r in graph.rewards):
        return None
    choice = np.zeros((t.n_vertices, t.max_exits), np.int32)
    best = graph.along(order, choice) if ends else graph.nearest_first(choice)
    root = [Fraction(x) for x in question.root_values(t).tolist()]
    first = int(t.component_start[t.start_component])
    entries = np.flatnonzero(t.start_prob > 0)
    taken = {int(e): graph.best_exit(best, first + int(e), root) for e in entries}
    if None in taken.values():
        return None
    total = Fraction(0)
    exits = np.zeros(len(t.start_prob), np.int32)
    for entry, found in taken.items():
        assert found is not None
        exits[entry], total = found[0], total + model.exact.start(entry) * found[1]
    lower, upper = graph.by_vertex(best, root)
    low, high = (rounded(int(question.sign) * total) for rounded in (float_below, float_above))
    if math.isinf(low) or math.isinf(high):
        digits = len(str(abs(int(total)))) - 1
        raise LimitError(f"the optimum is about 1e{digits}, and floats hold totals up to 1.8e308")
    proved = path_certificate(model, question, order, choice, exits) if ends else None
    certify = partial(general_certificate, model, question, epsilon, options)
    answer = Solution(
        model,
        question,
        low,
        high,
        method="longest path",
        reason="deterministic: the best way from the start to an exit",
        policy=_policy(model, choice, exits),
        values_lower=lower,
        values_upper=upper,
        work={"vertices": t.n_vertices},
        _certify=certify if proved is None else lambda: proved,
    )
    if proved is not None:
        answer = answer.as_proved(math.inf)
    return replace(answer, seconds=time.perf_counter() - began)


def solve_cheapest(model: RMDP, question: Question) -> Solution | None:
    """The least cost of runs that end in a deterministic model; None if some step gains.

    Free circles and calls of oneself do not matter: the cheapest ways are settled first.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("m").component("A", entries="in", exits="out").box("own", "A")
        >>> builder = builder.at("in").action("again").to("own").action("leave", reward=1).to("out")
        >>> model = builder.at("own.out").action("go").to("out").build()
        >>> solve_cheapest(model, recurl.Question("min", endless="inf")).lower
        1.0
    """
    began, t, graph = time.perf_counter(), model.tables, _Graph(model, question)
    if any(r > 0 for r in graph.rewards):
        return None
    choice = np.zeros((t.n_vertices, t.max_exits), np.int32)
    best = graph.nearest_first(choice)
    root = [Fraction(x) for x in question.root_values(t).tolist()]
    first = int(t.component_start[t.start_component])
    entries = np.flatnonzero(t.start_prob > 0).tolist()
    taken = {e: graph.best_exit(best, first + e, root) for e in entries}
    exits, total, ends = np.zeros(len(t.start_prob), np.int32), Fraction(0), True
    for entry, found in taken.items():
        ends = ends and found is not None
        if found is not None:
            exits[entry], total = found[0], total + model.exact.start(entry) * found[1]
    low, high = (rounded(int(question.sign) * total) for rounded in (float_below, float_above))
    if not ends:
        low = high = float(question.endless or 0)
    totals = [[(k, x, int(choice[v, k])) for k, x in own] for v, own in enumerate(graph.rows(best))]
    interval, infinite = ((low, high), None) if ends else ((None, None), question.endless)
    return Solution(
        model,
        question,
        low,
        high,
        method="cheapest ways",
        reason="deterministic: the best run that ends" if ends else "no run ends",
        policy=_policy(model, choice, exits) if ends else None,
        work={"ways": len(best)},
        seconds=time.perf_counter() - began,
        _certify=lambda: question.certificate(
            model, interval, ways=BestWays(graph.unit, totals), infinite=infinite
        ),
    )


class _Graph:
    """A deterministic model as a graph of vertices; rewards are whole, and made great."""

    def __init__(self, model: RMDP, question: Question) -> None:
        self.model, self.tables, self.sign = model, model.tables, int(question.sign)
        exact = _exact_rewards(model, question)
        self.unit = math.lcm(*(r.denominator for r in set(exact)))
        self.rewards = [self.sign * int(r * self.unit) for r in exact]
        self.kind = self.tables.vertex_kind.tolist()
        self.target: list[int] = self.tables.target.tolist()
        self.actions = self.tables.action_start.tolist()
        self.exits = self.tables.n_exits[self.tables.vertex_component].tolist()

    def callees_first(self) -> tuple[list[int], bool]:
        """Vertices, each after all that may follow it; and whether no run meets a circle.

        Without a circle, of steps or of calls, every policy ends. Vertices that lead to one are
        left out.
        """
        order: list[int] = []
        lost: dict[int, bool] = {}
        under_way: set[int] = set()
        for root in (*self.tables.starts.tolist(), *range(self.tables.n_vertices)):
            if root not in lost:
                self._search(root, order, lost, under_way)
        return order, not any(lost[v] for v in self.tables.starts.tolist())

    def _search(
        self, root: int, order: list[int], lost: dict[int, bool], under_way: set[int]
    ) -> None:
        """Depth-first search; on the way back vertices learn whether they lead to a circle."""
        stack = [(root, iter(self._after(root)))]
        lost[root] = False
        under_way.add(root)
        while stack:
            check_time()
            v, others = stack[-1]
            following = next(others, None)
            if following is None:
                stack.pop()
                under_way.remove(v)
                if not lost[v]:
                    order.append(v)
                if stack:
                    lost[stack[-1][0]] |= lost[v]
            elif following not in lost:
                lost[following] = False
                under_way.add(following)
                stack.append((following, iter(self._after(following))))
            else:
                lost[v] |= lost[following] or following in under_way

    def _after(self, v: int) -> list[int]:
        """The vertices that the worth of a vertex depends on."""
        if self.kind[v] == EXIT:
            return []
        if self.kind[v] == CALL:
            entry, back, count = self._ports(v)
            near = self.model.reach.distance[entry]
            return [entry, *(back + j for j in range(count) if near[j] < math.inf)]
        return self.target[self.actions[v] : self.actions[v + 1]]

    def _ports(self, call: int) -> tuple[int, int, int]:
        """Entry, first return port and number of exits of what a call port calls."""
        t = self.tables
        box = int(t.vertex_box[call])
        callee = int(t.box_component[box])
        entry = int(t.component_start[callee] + t.vertex_port[call])
        return entry, int(t.box_return[box]), int(t.n_exits[callee])

    def along(self, order: list[int], choice: Ints) -> Best:
        """Best ways, each from those that follow."""
        best: Best = {}
        for v in order:
            check_time()
            for k, value, first in self._ways(best, v):
                if (v, k) not in best or value > best[v, k]:
                    best[v, k], choice[v, k] = value, first
        return best

    def _ways(self, best: Best, v: int) -> Iterator[tuple[int, int, int]]:
        """BestWays on from a vertex: the exit they lead to, their reward and their first choice."""
        if self.kind[v] == EXIT:
            yield int(self.tables.vertex_port[v]), 0, 0
        elif self.kind[v] == CALL:
            entry, back, count = self._ports(v)
            for j in range(count):
                if (entry, j) in best:
                    for k in range(self.exits[v]):
                        if (back + j, k) in best:
                            yield k, best[entry, j] + best[back + j, k], j
        else:
            begin = self.actions[v]
            for a in range(begin, self.actions[v + 1]):
                for k in range(self.exits[v]):
                    if (self.target[a], k) in best:
                        yield k, self.rewards[a] + best[self.target[a], k], a - begin

    def nearest_first(self, choice: Ints) -> Best:
        """Best ways where no step gains: the cheapest ones are settled first.

        This is Knuth's generalisation of Dijkstra's algorithm: a way through a call is made of two,
        and costs at least as much as each.
        """
        best: Best = {}
        before = self._before()
        queue = [
            (0, int(v), int(self.tables.vertex_port[v]), 0)
            for v in np.flatnonzero(self.tables.vertex_kind == EXIT)
        ]
        while queue:
            check_time()
            cost, v, k, first = heapq.heappop(queue)
            if (v, k) in best:
                continue
            best[v, k], choice[v, k] = -cost, first
            for q in before[v]:
                for exit_index, value, way in self._ways(best, q):
                    if (q, exit_index) not in best:
                        heapq.heappush(queue, (-value, q, exit_index, way))
        return best

    def rows(self, best: Best) -> list[list[tuple[int, int]]]:
        """For each vertex, exits and the greatest rewards of ways there."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.tables.n_vertices)]
        for (v, k), total in best.items():
            found[v].append((k, total))
        return found

    def _before(self) -> dict[int, list[int]]:
        """For each vertex those whose worth depends on it."""
        before: dict[int, list[int]] = defaultdict(list)
        for v in range(self.tables.n_vertices):
            for q in self._after(v):
                before[q].append(v)
        return before

    def best_exit(self, best: Best, v: int, root: list[Fraction]) -> tuple[int, Fraction] | None:
        """The exit of the start component to leave by, and what that is worth."""
        ways = [
            (k, Fraction(best[v, k], self.unit) + worth)
            for k, worth in enumerate(root)
            if (v, k) in best
        ]
        return max(ways, key=lambda way: way[1], default=None)

    def by_vertex(self, best: Best, root: list[Fraction]) -> tuple[Floats, Floats]:
        """Bounds by vertex; nan where the worth depends on who calls, or no exit is known."""
        t = self.tables
        lower, upper = np.full((2, t.n_vertices), np.nan)
        own = t.vertex_component == t.start_component
        own |= self.model.kind.one_exit
        for v in {v for v, _ in best}:
            found = self.best_exit(best, v, root) if own[v] else None
            if found is not None:
                lower[v] = float_below(self.sign * found[1])
                upper[v] = float_above(self.sign * found[1])
        return lower, upper


def _exact_rewards(model: RMDP, question: Question) -> list[Fraction]:
    """Reward of each transition, in fractions."""
    if question.rewards != "model":
        return [Fraction(question.rewards == "steps")] * model.tables.n_transitions
    return [model.exact.reward(i) for i in range(model.tables.n_transitions)]


def _policy(model: RMDP, choice: Ints, exits: Ints) -> Policy:
    """One context per exit of each component: the way to leave by it."""
    t = model.tables
    first = np.concatenate([[0], np.cumsum(t.n_exits)])
    component = np.repeat(np.arange(t.n_components), t.n_exits)
    actions, callees = [], []
    for c in range(t.n_components):
        block = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
        calls = t.vertex_kind[block] == CALL
        callee = np.where(calls, t.box_component[t.vertex_box[block]], 0) if calls.any() else 0
        for k in range(t.n_exits[c]):
            chosen = choice[block, k]
            actions.append(np.where(calls, 0, chosen))
            callees.append(np.where(calls, first[callee] + chosen, 0))
    start = first[t.start_component] + exits
    return Policy(
        model, component, np.concatenate(actions), callees=np.concatenate(callees), start=start
    )
