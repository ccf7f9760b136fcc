"""Actions and transitions as growing columns, their numbers read and checked on the way.

A component is added column by column, which is quick and says only whether all is well. If it is
not, its actions are looked at one by one, to say what is wrong and where.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import Problem
from recurl.model.names import is_text
from recurl.model.numbers import NumberColumn, exact_sum, remainder_text, sum_is_one, to_float
from recurl.model.report import place_of, shown
from recurl.model.spec_checks import TEXT_FIX, explain_target
from recurl.model.structure import TOLERANCE

if TYPE_CHECKING:
    from recurl.model.report import KeyPath, Report
    from recurl.model.scope import Scope
    from recurl.model.spec import ActionSpec, Number


class ActionColumns:
    """The actions of a model, one after the other, and their transitions.

    Args:
        binary: Whether numbers are binary floats, whose sums need not be exactly 1.
        report: Where problems go.
    """

    def __init__(self, binary: bool, report: Report) -> None:
        self.action_counts: list[int] = []
        self.action_names: list[str] = []
        self.transition_counts: list[int] = []
        self.target: list[int] = []
        self.prob = NumberColumn()
        self.reward = NumberColumn()
        self.notes: list[Problem] = []
        self._binary, self._report = binary, report
        self._exact: set[tuple[str, ...]] = set()

    def add(self, scope: Scope, path: KeyPath) -> None:
        """Append the actions of a component; the path leads to its vertices."""
        vertices, first = scope.spec.vertices, len(self.prob.texts)
        counts = [0] * (scope.last - scope.first)
        names: list[str] = []
        actions: list[ActionSpec] = []
        for vertex, number in scope.states.items():
            if here := vertices.get(vertex):
                counts[number - scope.first] = len(here)
                names += here
                actions += here.values()
        self.action_counts += counts
        self.action_names += names
        if not self._add_columns(scope, actions) or not all(map(is_text, set(names))):
            self._look_closely(scope, path, first)

    def _add_columns(self, scope: Scope, actions: Sequence[ActionSpec]) -> bool:
        """Append actions; returns whether there is nothing to say about them."""
        edges = [edge for action in actions for edge in action.edges]
        paid = [
            action.reward if edge.reward is None else edge.reward
            for action in actions
            for edge in action.edges
        ]
        sizes = [len(action.edges) for action in actions]
        target = [scope.targets.get(edge.target, -1) for edge in edges]
        prob, reward = NumberColumn.read([edge.prob for edge in edges]), NumberColumn.read(paid)
        self.transition_counts += sizes
        self.target += target
        self.prob += prob
        self.reward += reward
        good = -1 not in target and 0 not in sizes and bool(np.isfinite(reward.values).all())
        return good and self._are_distributions(prob, sizes)

    def _are_distributions(self, prob: NumberColumn, sizes: Sequence[int]) -> bool:
        """Whether all rows of probabilities are in (0, 1] and sum to 1."""
        values, ends = np.array(prob.values), np.cumsum(sizes, dtype=np.int64)
        if not ((values > 0) & (values <= 1)).all():
            return False
        total = np.add.reduceat(values, ends - sizes) if sizes else np.ones(0)
        if (np.abs(total - 1) > TOLERANCE).any():
            return False
        return self._binary or self._sum_exactly(prob.texts, ends.tolist())

    def _sum_exactly(self, texts: list[str], ends: Iterable[int]) -> bool:
        known, begin = self._exact, 0
        for end in ends:
            row = tuple(texts[begin:end])
            begin = end
            if row not in known:
                if not _is_exact(row):
                    return False
                known.add(row)
        return True

    # One by one

    def _look_closely(self, scope: Scope, path: KeyPath, first: int) -> None:
        """Say all that there is to say about the actions of a component."""
        for vertex in scope.states:
            for name, action in scope.spec.vertices.get(vertex, {}).items():
                self._look_at(scope, (*path, vertex, name), action)
                row = self.prob.texts[first : first + len(action.edges)]
                self.prob.replace(first, self.settled(row, (*path, vertex, name)))
                first += len(action.edges)

    def _look_at(self, scope: Scope, path: KeyPath, action: ActionSpec) -> None:
        if not is_text(path[-1]):
            self._report.add(path, f"{shown(path[-1])} is not a name for an action", TEXT_FIX)
        if not action.edges:
            self._report.add(path, "leads nowhere", "say where `to`")
        self.read(action.reward, (*path, "reward"))
        for edge in action.edges:
            where = (*path, "to", edge.target)
            if edge.target not in scope.targets:
                explain_target(scope, where, edge.target, self._report)
            if edge.reward is not None:
                self.read(edge.reward, where, "reward")
            value = self.read(edge.prob, where, "probability")
            if value <= 0 or value > 1:
                fix = "leave it out" if value == 0 else "give a number in (0, 1]"
                self._report.add(where, f"probability {edge.prob} is not in (0, 1]", fix)

    def read(self, number: Number, path: KeyPath, what: str = "") -> float:
        """The float of a number; if it has none, that is a problem, and NaN."""
        try:
            return to_float(number)
        except ValueError as error:
            message = f"{what}: {error}" if what else str(error)
            self._report.add(path, message, "give a finite number")
            return math.nan

    def settled(self, row: list[str], path: KeyPath) -> list[str]:
        """Probabilities, their sum made exactly 1, with a note, if it is nearly so."""
        values = NumberColumn.read(row).values
        if not row or not all(0 < value <= 1 for value in values):
            return row
        if abs(math.fsum(values) - 1) > TOLERANCE:
            message = f"probabilities sum to {math.fsum(values):.12g}"
            self._report.add(path, message, "make them sum to 1")
            return row
        try:
            return row if self._binary or sum_is_one(row) else self._completed(row, path)
        except ValueError as error:
            self._report.add(path, f"probabilities: {error}", "use decimals")
            return row

    def _completed(self, row: list[str], path: KeyPath) -> list[str]:
        """Probabilities, the last replaced by what the others leave."""
        off = float(exact_sum(row) - 1)
        message = f"probabilities miss 1 by {off:.3g}"
        rest = remainder_text(row[:-1])
        if rest is None:
            self._report.add(path, message, "make them sum to 1")
            return row
        fix = f"the last was taken to be {rest[:40]}; fractions such as 1/3 are exact"
        self.notes.append(Problem(place_of(path), message, fix, path))
        return [*row[:-1], rest]


def _is_exact(row: tuple[str, ...]) -> bool:
    try:
        return sum_is_one(row)
    except ValueError:
        return False
