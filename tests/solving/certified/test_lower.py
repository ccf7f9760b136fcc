"""Pieces of a policy: sound, and as good as its exact value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import recurl
from recurl.solving.certified.evidence import policy_of
from recurl.solving.certified.lower import (
    ThroughCalls,
    composed_reach,
    composed_rewards,
    improved,
    lower_bound,
)
from recurl.solving.certified.problem import SearchProblem

from .parts import few_solved


def test_pieces_are_worth_what_the_policy_is(problem: SearchProblem) -> None:
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8)
    upper = few_solved(problem)
    lower = lower_bound(upper.contexts, upper.links.action, upper.links.heaviest, 1e-12)
    assert lower.sound
    exact = recurl.evaluate(policy_of(model, lower)).value
    assert lower.start() == pytest.approx(exact, abs=1e-8)
    assert lower.start() <= exact
    better = improved(lower, 1e-12, upper.inverses)
    assert better.sound
    assert better.start() >= lower.start()


def test_pieces_are_below_what_their_own_choices_give(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    links = upper.links
    lower = lower_bound(upper.contexts, links.action, links.heaviest, 1e-10, upper.inverses)
    assert lower.sound
    open_slots = ~upper.contexts.known_reach
    assert (composed_rewards(lower, lower.rewards) > lower.rewards)[open_slots].all()
    fine = (composed_reach(lower, lower.reach) > lower.reach) | (lower.reach == 0)
    assert fine[open_slots].all()
    assert lower.reach.min() >= 0
    assert lower.reach.sum(axis=1).max() <= 1


def test_inverses_of_another_policy_are_good_enough(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    links = upper.links
    alone = lower_bound(upper.contexts, links.action, links.heaviest, 1e-10)
    helped = lower_bound(upper.contexts, links.action, links.heaviest, 1e-10, upper.inverses)
    assert helped.rewards == pytest.approx(alone.rewards, abs=1e-7)
    assert helped.reach == pytest.approx(alone.reach, abs=1e-7)


def test_a_bad_policy_is_improved(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    pairs = zip(upper.contexts.parts, upper.contexts.count, strict=True)
    worst = [np.repeat(part.begin[:, None], n, axis=1) for part, n in pairs]
    callee = np.zeros_like(upper.links.heaviest)
    lower = lower_bound(upper.contexts, worst, callee, 1e-12)
    assert lower.sound
    assert improved(lower, 1e-12, None).start() > lower.start() + 1e-3


def test_values_at_the_vectors_are_those_of_the_pieces(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    lower = lower_bound(upper.contexts, upper.links.action, upper.links.heaviest, 1e-12)
    values = lower.values()
    assert (values <= upper.values + 1e-9).all()
    for c, points in enumerate(upper.contexts.points):
        every = lower.at(c, points.vectors, slice(None))
        own = np.diagonal(every, axis1=0, axis2=2)
        assert upper.contexts.view(values, c) == pytest.approx(own)


def test_changes_pass_through_calls_as_the_whole_matrix_says() -> None:
    random = np.random.default_rng(1)
    visits = csr_array(random.random((3, 4)))
    calls = ThroughCalls(visits, np.array([0, 2, 2, 1]), random.random((4, 2, 2)), (3, 2))
    changes = random.random((3, 2))
    np.testing.assert_allclose(calls.toarray() @ changes.ravel(), calls @ changes)
    np.testing.assert_allclose(calls @ changes, (visits @ calls.through(changes)).ravel())


def test_exits_that_are_never_reached_leave_no_rounding_behind() -> None:
    model = recurl.zoo.palindrome_product(2, "0.05")
    solution = recurl.solve(model, epsilon=1e-5)
    assert solution.method == "certified"
    assert solution.gap <= 1e-5
