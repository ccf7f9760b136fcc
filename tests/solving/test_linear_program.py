from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.solving.exact_one_exit import exact_values, small_models

import recurl
from recurl.errors import NotProperError
from recurl.solving.linear_program import solve_program
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


@settings(max_examples=25)
@given(small_models)
def test_optimum_is_the_value_of_every_state(model: recurl.RMDP) -> None:
    system = System.of(model, Question())
    exact = exact_values(model)
    values = solve_program(system.equations, system.gain, 1e-9)
    for vertex, x in zip(system.vertex, values, strict=True):
        assert x == pytest.approx(float(exact[vertex]), abs=1e-6)


def test_no_solution_without_an_end() -> None:
    """Calls itself twice with 3/5 and pays 1 a step: no finite vector is large enough."""
    system = System.of(recurl.zoo.gambler(p="3/5"), Question())
    with pytest.raises(NotProperError, match="linear program"):
        solve_program(system.equations, -system.gain, 1e-9)
