"""Points and policies for tests."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.points import Cloud, arranged, make_points
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.upper import Upper, upper_bound
from recurl.solving.question import Question


def random_problem(exits: int, seed: int = 2) -> SearchProblem:
    """A small random model with so many exits, and its rewards."""
    model = recurl.zoo.random_model(seed=seed, components=3, nodes=8, exits=exits)
    return SearchProblem.of(model, Question())


def few_points(problem: SearchProblem) -> Contexts:
    """Three points and the anchor of each component with two exits, connected."""
    spots = np.array([[-1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    points = []
    for c in range(len(problem.components)):
        anchor = problem.crude(c)[0]
        rows = arranged(np.concatenate([spots, anchor[None, :]]), connected=True)
        points.append(make_points(rows, anchor))
    return Contexts(problem, points)


def few_solved(problem: SearchProblem, slack: float = 1e-9) -> Upper:
    """The upper bound at a few points."""
    contexts = few_points(problem)
    return upper_bound(contexts, np.zeros(int(contexts.base[-1])), slack)


def scattered(exits: int, count: int) -> Cloud:
    """Random points of a component, connected."""
    vectors = np.random.default_rng(exits).normal(size=(count, exits))
    return connected(vectors)


def connected(vectors: np.ndarray) -> Cloud:
    """Points at given vectors, connected; the first is the anchor."""
    rows = arranged(vectors, connected=True)
    return make_points(rows, rows[0])
