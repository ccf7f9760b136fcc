"""Random programs are solved, completed and run; ``RANDOM_PROGRAMS=2000`` tries that many."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.programs.random_programs import exact_value, random_program
from tests.programs.written import TooLargeError

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "30"))


@pytest.mark.parametrize("seed", range(COUNT))
def test_completed_source_is_worth_what_is_certified(seed: int) -> None:
    completion = random_program(seed).solve(1 + seed % 2, epsilon=1e-3, state_limit=5000)
    solution = completion.solution
    assert solution is not None
    try:
        value = float(exact_value(completion, 3000))
        error = 1e-9
    except TooLargeError:
        returns = completion.run(300, seed=seed)
        value, error = float(returns.mean()), 6 * float(returns.std()) / np.sqrt(300) + 1e-9
    assert abs(value - completion.value) <= error
    assert solution.lower - error <= value <= solution.upper + error


@pytest.mark.parametrize("seed", range(COUNT // 3))
def test_completed_source_of_runs_without_a_bound_earns_what_is_certified(seed: int) -> None:
    completion = random_program(seed, endless=True).solve(1, epsilon=1e-3, state_limit=5000)
    returns = completion.run(400, seed=seed)
    error = 6 * returns.std() / np.sqrt(len(returns)) + 1e-6
    assert abs(returns.mean() - completion.value) <= error
