"""Batches: the equations of many contexts are those of each of them."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified.batch import _CALL, _SETUP, Batch
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.question import Question

from .parts import random_problem

COUNTS = (2, 0, 3)


@pytest.mark.parametrize("exits", [2, 6])
def test_actions_are_worth_the_same_together_and_alone(exits: int) -> None:
    problem = random_problem(exits)
    batch = Batch(problem, COUNTS)
    values = np.random.default_rng(0).normal(size=batch.size + 1)
    earned, best = batch.earned(values)
    first = batch.first_best(earned, best)
    actions = batch.counted_within(first)
    start = 0
    for (c, part, n), own, chosen in zip(batch.parts, batch.split(values), actions, strict=True):
        assert own.shape == (COUNTS[c], part.size) == (n, part.size)
        alone, most = part.earned(own.T)
        size = n * len(part.gain)
        assert np.allclose(earned[start : start + size].reshape(n, -1).T, alone)
        assert np.array_equal(chosen, part.first_best(alone, most))
        start += size
    assert start == len(earned)


def test_boxes_refer_to_ports_of_their_own_context() -> None:
    problem = random_problem(3)
    batch = Batch(problem, COUNTS)
    assert (np.diff(batch.callee) >= 0).all()
    slots = np.arange(batch.size)
    context = np.searchsorted(batch.first, slots, side="right") - 1
    seen = []
    for group in batch.groups:
        called = problem.components[group.callee]
        assert group.calls.shape[1] == called.entries
        owner = batch.owner[group.boxes]
        assert (context[group.calls] == owner[:, None]).all()
        assert (context[group.returns] == owner[:, None]).all()
        assert (batch.callee[group.boxes] == group.callee).all()
        seen.append(group.calls.ravel())
    calls = np.concatenate(
        [(slot[:, None] + part.calls).ravel() for slot, part in _contexts(batch)]
    )
    assert np.array_equal(np.sort(np.concatenate(seen)), np.sort(calls))


def test_visits_move_on_by_actions_and_through_calls() -> None:
    batch, random = Batch(random_problem(3), COUNTS), np.random.default_rng(0)
    taken = random.random(len(batch.gain)) * (random.random(len(batch.gain)) < 0.5)
    share = random.random((*batch.calls.shape, batch.returns.shape[1]))
    share *= batch.inside[:, None] & (batch.calls < batch.size)[:, :, None]
    visits = np.append(random.random(batch.size), 0.0)
    expected = (taken * visits[batch.acting]) @ batch.matrix.toarray()
    expected[batch.returns] += np.einsum("be,bek->bk", visits[batch.calls], share)
    assert batch.moves(taken, share) @ visits == pytest.approx(expected)


def _contexts(batch: Batch) -> list[tuple[np.ndarray, object]]:
    found, first = [], 0
    for _, part, n in batch.parts:
        found.append((batch.first[first : first + n], part))
        first += n
    return found


def test_joined_values_are_split_again() -> None:
    batch = Batch(random_problem(2), COUNTS)
    rows = [np.arange(float(n * part.size)).reshape(n, -1) for _, part, n in batch.parts]
    flat = batch.joined(rows)
    assert len(flat) == batch.size + 1
    for own, again in zip(rows, batch.split(flat), strict=True):
        assert np.array_equal(own, again)


@pytest.mark.parametrize("better", [np.minimum, np.maximum])
def test_settled_values_do_not_change(better: np.ufunc) -> None:
    problem = SearchProblem.of(recurl.zoo.palindrome(), Question())
    batch = Batch(problem, (1, 2, 0, 0, 1))
    assert all(np.isfinite(part.depth) for part in problem.components)
    values = np.full(batch.size + 1, 100.0 if better is np.minimum else -100.0)
    values[batch.exits] = np.random.default_rng(0).normal(size=len(batch.exits))
    effort = batch.settle(values, better, 0.0)
    sweeps, rest = divmod(effort - _SETUP, batch.size + _CALL)
    assert rest == 0
    assert 1 <= sweeps <= batch.sweeps
    again = values.copy()
    again[batch.states] = better(batch.earned(values)[1], values[batch.states])
    assert np.array_equal(values, again)
