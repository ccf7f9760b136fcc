from __future__ import annotations

import numpy as np
import pytest
from tests.programs.small import VALUES
from tests.programs.written import program_of


def test_choices_are_drawn_without_a_chooser() -> None:
    program, _, _ = VALUES["best_of_three"]
    totals = [program.play(seed=seed).total for seed in range(300)]
    assert set(totals) == {1.0, 2.0, 3.0}
    assert np.mean(totals) == pytest.approx(2, abs=0.2)


def test_the_same_seed_gives_the_same_play() -> None:
    program, arguments, _ = VALUES["gamble"]
    plays = [program.play(*arguments, seed=3) for _ in range(2)]
    assert plays[0].choices == plays[1].choices
    assert plays[0].total == plays[1].total


def test_results_of_calls_and_of_work_come_back() -> None:
    text = """
    @program
    def f():
        return g(2) + outcome(lambda: 5)

    @program
    def g(n):
        return n * 10
    """
    assert program_of(text).play().result == 25
