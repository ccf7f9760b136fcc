from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.one_exit_kernel import (
    action_value,
    closed_probabilities,
    greatest_sum,
    holds_above,
    holds_below,
    improve,
    shortfalls,
    slopes,
    solve_small,
)
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


def system(model: recurl.RMDP) -> System:
    return System.of(model, Question("max", "steps"))


def test_calls_count_twice() -> None:
    found = system(recurl.zoo.gambler(p="1/4"))
    assert greatest_sum(found.equations) == 2.0
    start = int(found.row[found.model.tables.starts[0]])
    x = np.arange(1.0, found.n_rows + 1)
    a = found.equations.action_start[start]
    entries = slice(found.equations.entry_start[a], found.equations.entry_start[a + 1])
    assert found.equations.weight[entries].tolist() == [0.25, 0.25]
    expected = 1 + 0.25 * x[found.equations.column[entries]].sum()
    assert action_value(found.equations, found.gain, x, a) == expected


def test_policy_iteration_and_bounds() -> None:
    found = system(recurl.zoo.gambler(p="1/4"))
    eq, gain, size = found.equations, found.gain, found.size
    x, choice = np.zeros(found.n_rows), eq.action_start[:-1].copy()
    block, proper = solve_small(eq, gain, x, choice, 0, 60)
    assert proper
    assert block == len(eq.block_start) - 1
    start = int(found.row[found.model.tables.starts[0]])
    assert x[start] == pytest.approx(3)
    assert improve(eq, gain, x, choice, 0, len(x))[0] < 1e-12
    assert holds_above(eq, gain, size, x * 1.001)
    assert not holds_above(eq, gain, size, x * 0.999)
    assert holds_below(eq, gain, size, x * 0.999, choice)
    assert not holds_below(eq, gain, size, x * 1.001, choice)
    up, down = slopes(eq, gain, size, x, x, choice)
    assert max(abs(up), abs(down)) < 1e-13
    assert np.abs(shortfalls(eq, gain, size, x, 1.0)).max() < 1e-12


def test_a_radius_of_one_is_noticed() -> None:
    found = system(recurl.zoo.gambler(p="1/2"))
    choice = found.equations.action_start[:-1].copy()
    _, proper = solve_small(found.equations, found.gain, np.zeros(found.n_rows), choice, 0, 60)
    assert not proper


def test_the_last_probability_is_what_is_left() -> None:
    t = recurl.zoo.cloud().tables
    prob = closed_probabilities(t)
    sums = np.add.reduceat(prob, t.transition_start[:-1])
    assert sums == pytest.approx(1, abs=1e-15)
    assert prob == pytest.approx(t.prob, abs=1e-15)
