from __future__ import annotations

import pytest

import recurl
from recurl import zoo


@pytest.mark.parametrize("patience", [4, 6, 9])
def test_the_optimum_is_a_tenth(patience: int) -> None:
    model = zoo.letter_world(patience)
    assert model.kind.one_exit
    solution = recurl.solve(model)
    assert solution.gap <= 1e-6
    assert solution.lower - 1e-9 <= 0.1 <= solution.upper + 1e-9


def test_the_number_of_steps_is_ten_and_all_runs_end_well() -> None:
    model = zoo.letter_world()
    solution = recurl.solve(model)
    assert solution.policy is not None
    found = recurl.evaluate(solution.policy)
    # 6 + 4 n steps, n = 1 on average.
    assert found.steps == pytest.approx(10, abs=1e-6)
    assert found.exit_probabilities == {"done": pytest.approx(1, abs=1e-9)}


def test_the_plain_world_is_not_proper() -> None:
    model = zoo.letter_world(None)
    assert recurl.analyse(model).verdict == "not proper"
    with pytest.raises(ValueError, match="patience"):
        zoo.letter_world(3)
