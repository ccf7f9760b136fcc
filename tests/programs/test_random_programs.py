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


@pytest.mark.parametrize("seed", range(COUNT))
def test_components_are_the_cycles_of_calls(seed: int) -> None:
    endless = seed % 2 == 0
    try:
        unfolded = random_program(seed, endless).unfold(1 + seed % 2, state_limit=5000)
    except LimitError:
        pytest.skip("too many states to be quick")
    calls, t = unfolded.exploration.callers, unfolded.model.tables
    led_to = {start: reached(calls, start) for own in unfolded.exploration.starts for start in own}
    for part in unfolded.parts:
        # The calls of a component lead to each other; one that is alone may lead to itself.
        assert all(b in led_to[a] for a in part.starts for b in part.starts if a != b)
    assert unfolded.model.kind.hierarchical == all(start not in led_to[start] for start in led_to)
    assert t.n_entries.tolist() == [len(part.starts) for part in unfolded.parts]


def reached(callers: dict[int, set[int]], start: int) -> set[int]:
    """Calls that lead to a call."""
    found, todo = set[int](), [start]
    while todo:
        new = callers.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found
