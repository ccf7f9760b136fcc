"""Pieces of a policy: sound, and as good as its exact value."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified.evidence import policy_of
from recurl.solving.certified.lower import improved, lower_bound
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.upper import Links, no_hint, upper_bound

from .parts import few_points, heaviest_callees


def test_pieces_are_worth_what_the_policy_is(problem: Problem) -> None:
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8)
    points = few_points(problem)
    upper = upper_bound(problem, points, np.zeros(int(points.slot[-1])), 1e-9)
    links = Links.of(problem, points, upper.entries, upper.values, no_hint(points))
    callee = heaviest_callees(problem, upper, links)
    lower = lower_bound(problem, points, links.action, callee, 1e-12)
    assert lower.sound
    exact = recurl.evaluate(policy_of(model, problem, lower)).value
    assert lower.start(problem) == pytest.approx(exact, abs=1e-8)
    assert lower.start(problem) <= exact
    better = improved(problem, lower, links.nodes, 1e-12)
    assert better.sound
    assert better.start(problem) >= lower.start(problem)
