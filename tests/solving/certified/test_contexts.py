"""Numbers of slots, entries and calls agree with each other."""

from __future__ import annotations

import numpy as np

from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.points import Cloud
from recurl.solving.certified.problem import SearchProblem

from .parts import few_points, random_problem


def test_views_see_all_slots_once(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    seen = np.zeros(int(contexts.base[-1]))
    for c, part in enumerate(contexts.parts):
        view = contexts.view(seen, c)
        assert view.shape == (part.size, contexts.count[c])
        view += 1
    assert (seen == 1).all()


def test_entries_and_calls_are_rows_of_views(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    values = np.random.default_rng(0).normal(size=int(contexts.base[-1]))
    for c, part in enumerate(contexts.parts):
        view = contexts.view(values, c)
        entries = contexts.view_entries(values[contexts.entry_slots], c)
        assert (entries == view[part.entry_rows]).all()
        assert (contexts.view_calls(values[contexts.call_slots], c) == view[part.calls]).all()


def test_groups_list_every_call_with_its_return_ports(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    for c, group in enumerate(contexts.groups):
        assert (contexts.call_callee[group.calls] == c).all()
        assert (contexts.call_returns[group.calls[:, 0]] == group.returns).all()
    listed = np.concatenate([group.calls.ravel() for group in contexts.groups])
    assert sorted(listed.tolist()) == list(range(int(contexts.call_base[-1])))


def test_exits_get_the_vectors(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    values = contexts.with_exits(np.zeros(int(contexts.base[-1])))
    for c, part in enumerate(contexts.parts):
        assert (contexts.points[c].vectors == contexts.view(values, c)[part.exits].T).all()
    known = contexts.known_reach
    assert known.sum() == sum(2 * n for n in contexts.count)


def test_matrix_leads_from_calls_to_the_entries_called() -> None:
    problem = random_problem(3)
    contexts = Contexts(problem, [Cloud(np.zeros((2, 3))) for _ in problem.components])
    calls = int(contexts.call_base[-1])
    nodes = np.tile([0, 1], (calls, 1))
    matrix = contexts.matrix(nodes, np.tile([0.25, 0.75], (calls, 1))).toarray()
    assert matrix.sum(axis=1).tolist() == [1.0] * calls
    for call in range(calls):
        first = contexts.call_entry[call]
        assert matrix[call, first] == 0.25
        assert matrix[call, first + 1] == 0.75
        c = contexts.call_callee[call]
        assert contexts.entry_base[c] <= first < contexts.entry_base[c + 1]
    vectors = contexts.called_vectors(nodes[:, 0])
    assert vectors.shape == (calls, 3)
