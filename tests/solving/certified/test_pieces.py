"""Pieces: sums over entries and contexts, and solutions that are checked after the fact."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified.batch import Batch
from recurl.solving.certified.pieces import Chosen, Pieces, shares
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.search import first_bounds
from recurl.solving.question import Question

from .parts import random_problem


def first_pieces(problem: SearchProblem) -> list[Pieces]:
    """The pieces of the first policy."""
    _, lower = first_bounds(problem)
    return [Pieces.of_lower(lower, c) for c in range(len(problem.components))]


def greedy(problem: SearchProblem, pieces: list[Pieces]) -> Chosen:
    """Two contexts of each component with the actions that the first pieces suggest."""
    batch = Batch(problem, (2,) * len(pieces))
    rng = np.random.default_rng(0)
    vectors = [rng.uniform(size=(2, own.vectors.shape[1])) for own in pieces]
    low = batch.joined([own.below(v) for own, v in zip(pieces, vectors, strict=True)])
    action = batch.first_best(*batch.earned(low))
    return Chosen.of(pieces, batch, action, np.zeros(batch.calls.shape, np.int64), problem.size)


def test_values_at_exit_values_are_those_of_all_vertices() -> None:
    pieces = first_pieces(random_problem(3))
    vectors = np.random.default_rng(1).normal(size=(4, 3))
    for own in pieces:
        entries = own.rewards.shape[0]
        assert np.allclose(own.at(vectors).max(axis=2), own.below(vectors)[:, :entries])


def test_joined_pieces_keep_their_order() -> None:
    own = first_pieces(random_problem(3))[0]
    twice = own.joined(own)
    vectors = np.random.default_rng(1).normal(size=(4, 3))
    both = twice.at(vectors)
    assert both.shape[2] == 2 * len(own.vectors)
    assert np.allclose(both[:, :, : len(own.vectors)], own.at(vectors))


@pytest.mark.parametrize("model", ["random", "palindrome"])
def test_solved_pieces_are_a_little_below_their_choices(model: str) -> None:
    problem = random_problem(3)
    if model == "palindrome":
        problem = SearchProblem.of(recurl.zoo.palindrome(), Question())
    assert np.isfinite(problem.components[0].whole_depth) == (model == "palindrome")
    pieces = first_pieces(problem)
    chosen = greedy(problem, pieces)
    both, sound = chosen.solved()
    assert sound.all()
    batch = chosen.batch
    after = (batch.matrix[chosen.action] @ both)[:, 0] + batch.gain[chosen.action]
    room = after - both[batch.states, 0]
    assert (room > 0.0).all()
    assert room.max() < 1e-9 * max(1.0, problem.size)


def test_what_is_above_its_choices_is_not_sound() -> None:
    problem = random_problem(3)
    chosen = greedy(problem, first_pieces(problem))
    both, _ = chosen.solved()
    part = problem.components[0]
    both[part.states[0], 0] += 1e-6
    sound = chosen._sound(both)
    assert not sound[0]
    assert sound[1:].all()


def test_calls_return_with_probabilities_of_their_pieces() -> None:
    problem = random_problem(3)
    pieces = first_pieces(problem)
    batch = Batch(problem, (1, 1, 1))
    share = shares(pieces, batch, np.zeros(batch.calls.shape, np.int64))
    for group in batch.groups:
        expected = pieces[group.callee].reach[:, 0]
        assert np.allclose(share[group.boxes, : len(expected)], expected)
