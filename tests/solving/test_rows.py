from __future__ import annotations

import numpy as np
import pytest
from tests.solving.references import random_policy, small_model

import recurl
from recurl.model.tables import CALLS, EXITS
from recurl.solving.rows import Rows, place_graph, rows_of_model, rows_of_policy


def test_rows_of_a_model_are_its_tables() -> None:
    model = recurl.zoo.gambler(p=0.4)
    rows = rows_of_model(model.tables)
    first = model.find("W.first.out")
    assert rows.push[rows.move == CALLS].tolist() == [first, model.find("W.second.out")]
    assert rows.exits[rows.move != 0].tolist() == [model.find("W.out")] * 4
    assert rows.n_returns.tolist() == [1, 0, 1, 0]
    assert rows.row_place.tolist() == [0, 0, first, model.find("W.second.out")]


def test_a_random_choice_is_the_mean_of_the_actions() -> None:
    model = recurl.zoo.cloud()
    rows = rows_of_policy(recurl.Policy.uniform(model))
    at = model.find("S.u3")
    begin, end = rows.transition_start[rows.action_start[at : at + 2]]
    assert rows.prob[begin:end].tolist() == pytest.approx([0.15, 0.35, 0.2, 0.3])
    assert np.diff(rows.action_start).max() == 1


def test_calls_enter_the_context_that_the_policy_names() -> None:
    model = small_model(3)
    policy = random_policy(model, 3, contexts=3)
    rows = rows_of_policy(policy)
    calls = np.flatnonzero(rows.move == CALLS)
    context = np.searchsorted(policy.context_start, rows.landing[calls], side="right") - 1
    own = np.searchsorted(policy.context_start, rows.row_place[calls], side="right") - 1
    back = np.searchsorted(policy.context_start, rows.push[calls], side="right") - 1
    assert (back == own).all()
    assert len(np.unique(context)) > model.tables.n_components
    leaving = rows.move == EXITS
    assert (rows.landing[leaving] < rows.n_exits[rows.row_place[leaving]]).all()


def test_kernels_see_one_type_whatever_rows_come_from() -> None:
    import numba

    model = recurl.zoo.gambler()
    kinds = [numba.typeof(r) for r in (rows_of_model(model.tables), _of_policy(model))]
    assert kinds[0] == kinds[1]


def _of_policy(model: recurl.RMDP) -> Rows:
    return rows_of_policy(recurl.Policy.uniform(model))


def test_places_that_equations_refer_to() -> None:
    model = recurl.zoo.and_or()
    rows = rows_of_model(model.tables)
    start, target = place_graph(rows)
    for v in range(rows.size):
        first, last = rows.transition_start[rows.action_start[v : v + 2]]
        wanted = [int(rows.landing[i]) for i in range(first, last) if rows.move[i] != 2]
        for i in range(first, last):
            wanted += range(rows.push[i], rows.push[i] + rows.n_returns[i])
        assert sorted(target[start[v] : start[v + 1]].tolist()) == sorted(wanted)
