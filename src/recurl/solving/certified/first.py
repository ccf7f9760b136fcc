"""Bounds to begin with: one point per component, and the policy that it suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import NotProperError
from recurl.solving.certified.lower import Lower, lower_bound
from recurl.solving.certified.points import call_slots, make_points
from recurl.solving.certified.upper import Links, Upper, no_hint

if TYPE_CHECKING:
    from recurl.solving.certified.problem import Problem


def first_bounds(problem: Problem) -> tuple[Upper, Lower]:
    """One crude point per component, and the pieces of the stackless policy that it suggests."""
    t = problem.tables
    crude = [problem.crude(c) for c in range(t.n_components)]
    points = make_points(t, [vector[None, :] for vector, _ in crude])
    upper = Upper.of(problem, points, np.concatenate([values for _, values in crude]))
    links = Links.of(problem, points, upper.entries, upper.values, no_hint(points))
    callee = np.zeros(len(upper.values), np.int32)
    callee[call_slots(t, points)] = links.nodes[:, 0]
    for slack in (1e-13, 1e-10, 1e-8):
        lower = lower_bound(problem, points, links.action, callee, slack)
        if lower.sound:
            return upper, lower
    raise NotProperError("no policy could be evaluated: the model is too close to improper")
