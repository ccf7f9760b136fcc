"""What a search is about: the model's tables, the rewards asked for, and its step bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recurl.model.tables import CALL, Floats, Ints, Tables

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
        reach: Probabilities that the step bounds rest on (see `StepBounds`), or None.
    """

    tables: Tables
    gain: Floats
    root: Floats
    steps: Floats
    order: Ints
    reach: Floats | None = None

    @property
    def size(self) -> float:
        """The greatest expected reward of an action, either way."""
        return float(np.abs(self.gain).max(initial=0.0))

    def slack(self, width: float) -> float:
        """What may be taken off every equation if the interval may widen by a bit of ``width``."""
        first = self.tables.component_start[self.tables.start_component]
        steps = self.steps[first : first + len(self.tables.start_prob)]
        return max(_LEAST_SLACK, 1e-2 * width / max(1.0, float(steps.max())))

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
