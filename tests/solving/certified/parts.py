"""Points and policies for tests."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.solving.certified.points import Points, arranged, call_slots, make_points
from recurl.solving.certified.problem import Problem
from recurl.solving.certified.upper import Links, Upper


def few_points(problem: Problem) -> Points:
    """Three points and the anchor of each component, connected."""
    t = problem.tables
    anchors = [problem.crude(c)[0] for c in range(t.n_components)]
    spots = np.array([[-1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    rows = [arranged(np.concatenate([spots, a[None, :]]), connected=True) for a in anchors]
    return make_points(t, rows, anchors)


def scattered(exits: int, count: int) -> Points:
    """Random points of a single component."""
    return connected(np.random.default_rng(exits).normal(size=(count, exits)))


def connected(vectors: np.ndarray) -> Points:
    """Points of a single component with so many exits."""
    exits = vectors.shape[1]
    model = recurl.zoo.random_model(components=1, nodes=3, exits=exits, call_fraction=0)
    rows = arranged(vectors, connected=True)
    return make_points(model.tables, [rows], [rows[0]])


def heaviest_callees(problem: Problem, upper: Upper, links: Links) -> np.ndarray:
    """The context that each call enters, by slot."""
    callee = np.zeros(len(upper.values), np.int32)
    callee[call_slots(problem.tables, upper.points)] = links.heaviest
    return callee
