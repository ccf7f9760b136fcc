"""A 1-exit model and a question as equations without calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL
from recurl.solving.equations import UNIT, Equations, closed_probabilities, expected_rewards

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints, Mask
    from recurl.solving.question import Question


@dataclass(frozen=True, eq=False)
class System:
    """The optimality equations of a 1-exit model, negated if the least total is asked for.

    ``x(exit) = 0``, ``x(call) = x(entry) + x(return port)``, else
    ``x(q) = max_a sum p (r + x(q'))``; calls are substituted, so that only states have a row.

    Attributes:
        model: The model.
        question: What is asked of it.
        equations: The rows, block by block.
        gain: Expected reward of each action, in the order of rows.
        size: Greatest reward of each action, in absolute value.
    """

    model: RMDP
    question: Question
    equations: Equations
    gain: Floats
    size: Floats

    @classmethod
    def of(cls, model: RMDP, question: Question, within: Mask | None = None) -> System:
        """Write down the equations.

        Args:
            model: The model.
            question: What is asked of it.
            within: States to leave out are False; the others must not lead there.
        """
        t = model.tables
        # Where floats are the exact numbers, sums may deviate from 1 a little.
        prob = closed_probabilities(t) if model.exact.binary else t.prob
        equations = Equations.of(t, prob, within)
        gain, size = expected_rewards(t, prob, question.transition_rewards(t))
        source = equations.source
        return cls(model, question, equations, gain[source], size[source])

    @property
    def vertex(self) -> Ints:
        """Vertex of each row."""
        return self.equations.vertex

    @property
    def row(self) -> Ints:
        """Row of each vertex, -1 at exits and call ports."""
        return self.equations.row

    @property
    def n_rows(self) -> int:
        """Number of states."""
        return self.equations.size

    @property
    def complete(self) -> bool:
        """Whether every state has a row."""
        return self.n_rows == int(np.count_nonzero(self.model.tables.states))

    @property
    def block_sizes(self) -> Ints:
        """Number of rows of each block."""
        sizes: Ints = np.diff(self.equations.block_start)
        return sizes

    def by_vertex(self, x: Floats, direction: float) -> Floats:
        """Values of all vertices from values of rows; sums are rounded towards ``direction``.

        States that were left out have no value: nan.
        """
        t = self.model.tables
        values = np.where(self.row >= 0, x[self.row], np.where(t.states, np.nan, 0.0))
        calls = np.flatnonzero(t.vertex_kind == CALL)
        returns = t.box_return[t.vertex_box[calls]]
        values[calls] = sum_towards(values[t.entry_of_call(calls)], values[returns], direction)
        return values

    def at_start(self, x: Floats, direction: float) -> float:
        """Value of the start from values of rows, rounded towards ``direction``."""
        t = self.model.tables
        first = t.component_start[t.start_component]
        entries = x[self.row[first : first + len(t.start_prob)]]
        worth = float(self.question.root_values(t)[0])
        total = math.fsum([worth, *(t.start_prob * entries)])
        if t.start_prob.tolist() == [1.0]:
            exact = worth == 0.0 or entries[0] == 0.0
            return total if exact else math.nextafter(total, direction)
        doubt = 4 * (len(entries) + 2) * UNIT * (abs(worth) + float(np.abs(entries).max()))
        return total + math.copysign(doubt, direction)

    def local_choice(self, choice: Ints) -> Ints:
        """Action of every vertex, counted within it, from the chosen action of every row."""
        local = np.zeros(self.model.tables.n_vertices, np.int32)
        local[self.vertex] = choice - self.equations.action_start[:-1]
        return local


def sum_towards(a: Floats, b: Floats, direction: float) -> Floats:
    """``a + b``, rounded towards ``direction`` where it is not exact."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)  # exactly what rounding left out
    wrong = error > 0 if direction > 0 else error < 0
    return np.where(wrong, np.nextafter(total, direction), total)
