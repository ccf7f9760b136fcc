"""Upper bounds at given points: least, and raised so that nothing fails."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.upper import Links, Upper, no_hints

from .parts import few_points, few_solved


def test_raised_points_fail_nowhere(problem: SearchProblem) -> None:
    upper = few_solved(problem, 1e-6)
    assert upper.excess > 0
    contexts, links = upper.contexts, upper.links
    raised = np.empty_like(upper.values)
    for c, n in enumerate(contexts.count):
        contexts.view(raised, c)[:] = upper.raised(c, np.arange(n))
    for c, own in enumerate(upper.used):
        part = contexts.parts[c]
        values = contexts.view(raised, c)[:, own]
        assert (values[part.states] >= part.earned(values)[1]).all()
    used = np.concatenate(
        [contexts.view_calls(np.arange(len(links.nodes)), c)[:, own].ravel()
         for c, own in enumerate(upper.used)]
    )  # fmt: skip
    for call in used:
        c = contexts.call_callee[call]
        exits = contexts.view(raised, c)[contexts.parts[c].exits]
        entry = contexts.view_entries(np.arange(len(upper.entries)), c)
        port = np.flatnonzero((entry == contexts.call_entry[call]).any(axis=1))[0]
        mixed, value = np.zeros(2), 0.0
        for x, weight in zip(links.nodes[call], links.weights[call], strict=True):
            if x >= 0:
                mixed += weight * exits[:, x]
                value += weight * contexts.view(raised, c)[port, x]
        beyond = (raised[contexts.call_returns[call]] - mixed).max()
        assert raised[contexts.call_slots[call]] >= value + beyond - 1e-12


def test_newton_comes_to_the_same_as_steps(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    assert upper.found
    contexts = upper.contexts
    values = contexts.with_exits(np.zeros_like(upper.values))
    for _ in range(3000):
        values = Links.of(contexts, values, no_hints(contexts)).target
    assert upper.values == pytest.approx(values, abs=1e-6)


def test_above_the_optimum(problem: SearchProblem) -> None:
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8)
    assert few_solved(problem).start() >= recurl.solve(model, epsilon=1e-6).lower


def test_excess_is_what_fails_where_the_start_leads(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    c = problem.start
    x = int(upper.used[c][0])
    values = upper.values.copy()
    upper.contexts.view(values, c)[upper.contexts.parts[c].states[0], x] -= 0.5
    assert Upper.of(upper.contexts, values).excess >= 0.5 - 1e-6
    for _, mix in upper.start_mixes():
        assert {point for point, _ in mix} <= set(upper.used[c].tolist())


def test_moves_follow_the_best_actions_and_the_slopes(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    values = np.random.default_rng(3).normal(size=int(contexts.base[-1]))
    links = Links.of(contexts, values, no_hints(contexts))
    moved = links.follow(np.ones((len(values), 1)))[:, 0]
    assert moved[contexts.state_slots] == pytest.approx(1)
    assert moved[contexts.call_slots] == pytest.approx(1)
    for c, part in enumerate(contexts.parts):
        assert (contexts.view(moved, c)[part.exits] == 0).all()
