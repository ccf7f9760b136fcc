from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.solving.exact_one_exit import exact_values, small_models

import recurl
from recurl.solving import one_exit_iteration
from recurl.solving.one_exit_bounds import step_bounds
from recurl.solving.one_exit_iteration import Iterate, policy_iteration, value_iteration
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


@settings(max_examples=25)
@given(small_models)
def test_dense_and_large_blocks_agree(model: recurl.RMDP) -> None:
    system = System.of(model, Question())
    exact = exact_values(model)
    for dense in (60, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(one_exit_iteration, "DENSE", dense)
            it = Iterate.first(system.equations, system.gain, step_bounds(system))
            assert policy_iteration(it, 1e-12)
        for vertex, x in zip(system.vertex, it.x, strict=True):
            assert float(exact[vertex]) == pytest.approx(x, abs=1e-8)


def test_sweeps_reach_their_tolerance() -> None:
    system = System.of(recurl.zoo.countdown(), Question())
    it = Iterate.first(system.equations, system.gain, step_bounds(system))
    assert value_iteration(it, 1e-10)
    assert it.x[system.row[0]] == pytest.approx(19, abs=1e-8)
    assert it.work["blocks"] == len(system.block_sizes)


@pytest.mark.parametrize("method", [policy_iteration, value_iteration])
def test_growth_without_end_is_noticed(method: object) -> None:
    system = System.of(recurl.zoo.gambler(p="3/4"), Question())
    it = Iterate.first(system.equations, system.gain)
    assert not method(it, 1e-6)
