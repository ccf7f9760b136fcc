from __future__ import annotations

import numpy as np
import pytest
from tests.zoo.reference import start_value

import recurl
from recurl import zoo
from recurl.errors import LimitError


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_value_is_exponential_and_size_linear(n: int) -> None:
    model = zoo.succinct(n)
    assert start_value(model) == 2**n - 1
    assert model.tables.n_vertices == 6 * n - 4
    assert (model.kind.deterministic, model.kind.hierarchical) == (True, True)
    assert not model.warnings


def test_action_b_ends_a_component_everywhere() -> None:
    t = zoo.succinct(4).tables
    last = t.action_start[1:][t.states] - 1
    assert (t.vertex_kind[t.target[last]] == 1).all()
    assert (t.reward[last] == 0).all()


def test_none_is_refused() -> None:
    with pytest.raises(ValueError, match="n must be a whole number, at least 1, not 0"):
        zoo.succinct(0)


def test_totals_beyond_floats_are_refused_by_name() -> None:
    with pytest.raises(LimitError, match="about 1e308"):
        recurl.solve(zoo.succinct(1024))
    assert recurl.solve(zoo.succinct(1024), objective="min").upper <= 0


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_with_a_sink_exactly_as_many_actions_as_the_value(n: int) -> None:
    model = zoo.succinct(n, sink=True)
    solution = recurl.solve(model)
    assert solution.value == pytest.approx(2**n - 1)
    assert model.kind.deterministic
    walk, actions = recurl.Walk(model, np.random.default_rng(0)), 0
    while walk.height:
        walk.step(0)
        actions += 1
    assert actions == 2**n - 1


@pytest.mark.parametrize("wrong", [0, 3, 6])
def test_one_other_action_ends_in_the_sink(wrong: int) -> None:
    walk = recurl.Walk(zoo.succinct(3, sink=True), np.random.default_rng(0))
    rewards = [walk.step(int(step == wrong)).reward for step in range(7)]
    assert sum(rewards) == wrong


def test_the_sink_is_a_parameter_of_the_command_line() -> None:
    assert zoo.make_from_text("succinct", ["n=4", "sink=true"]) == zoo.succinct(4, sink=True)
