"""Random programs are solved, completed and run; ``RANDOM_PROGRAMS=2000`` tries that many."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.programs.random_programs import exact_value, random_program
from tests.programs.written import TooLargeError

from recurl.errors import LimitError
from recurl.programs.completion import Completion

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "30"))


def solved(seed: int, n: int, endless: bool = False) -> Completion:
    try:
        return random_program(seed, endless).solve(n, epsilon=1e-3, state_limit=5000)
    except LimitError:
        pytest.skip("too many states to be quick")


@pytest.mark.parametrize("seed", range(COUNT))
def test_completed_source_is_worth_what_is_certified(seed: int) -> None:
    completion = solved(seed, 1 + seed % 2)
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
    completion = solved(seed, 1, endless=True)
    returns = completion.run(400, seed=seed)
    error = 6 * returns.std() / np.sqrt(len(returns)) + 1e-6
    assert abs(returns.mean() - completion.value) <= error
