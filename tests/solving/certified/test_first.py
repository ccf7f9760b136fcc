"""First bounds: crude, and sound on both sides."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.solving.certified import kernel
from recurl.solving.certified.first import first_bounds
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.upper import start_above


def test_crude_points_satisfy_all_inequalities(problem: Problem) -> None:
    upper, lower = first_bounds(problem)
    everywhere = np.arange(len(upper.points.component))
    excess = kernel.upper_excess(
        problem.tables, upper.points, problem.gain, upper.entries, upper.values, everywhere
    )
    assert excess <= 1e-12
    assert lower.sound
    optimum = recurl.solve(recurl.zoo.random_model(seed=2, components=3, nodes=8)).lower
    assert lower.start(problem) <= optimum <= start_above(problem, upper)
