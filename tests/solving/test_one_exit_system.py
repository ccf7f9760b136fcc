from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import recurl
from recurl.model.tables import Layout
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


def test_calls_become_two_entries_and_exits_none() -> None:
    model = recurl.zoo.countdown()
    system = System.of(model, Question())
    eq = system.equations
    assert system.n_rows == int(model.tables.states.sum())
    entry = int(system.row[model.tables.starts[0]])
    action = int(eq.action_start[entry])
    entries = slice(eq.entry_start[action], eq.entry_start[action + 1])
    assert eq.weight[entries].tolist() == [0.95, 0.95]
    assert sorted(eq.column[entries].tolist()) == [0, 1]


def test_blocks_refer_backwards_only() -> None:
    system = System.of(recurl.zoo.spelunking(), Question())
    eq = system.equations
    block = np.repeat(np.arange(len(system.block_sizes)), system.block_sizes)
    row = np.repeat(np.repeat(np.arange(system.n_rows), np.diff(eq.action_start)),
                    np.diff(eq.entry_start))  # fmt: skip
    assert (block[eq.column] <= block[row]).all()
    assert system.block_sizes.sum() == system.n_rows


def test_the_last_probability_takes_what_the_others_leave() -> None:
    """Floats of a model from arrays may sum to a little less than 1; the exact model does not."""
    model = recurl.RMDP.from_arrays(
        Layout.of([1], [1], [1]),
        action_start=[0, 1, 1, 2],
        transition_start=[0, 1, 3],
        target=[2, 1, 2],
        prob=[1.0, 0.5, 0.5 - 4e-10],
        reward=[0.0, 1.0, 1.0],
    )
    system = System.of(model, Question())
    assert system.equations.weight.tolist() == [0.5, 1.0]
    solution = recurl.solve(model)
    assert solution.lower <= 2 <= solution.upper
    assert solution.gap < 1e-12


def test_values_of_all_vertices_are_rounded_outwards() -> None:
    model = recurl.zoo.cloud(exits=1)
    system = System.of(model, Question("min", "steps"))
    x = np.random.default_rng(0).random(system.n_rows)
    low, high = system.by_vertex(x, -math.inf), system.by_vertex(x, math.inf)
    inexact = 0
    for box in ("b1", "b2", "b3"):
        call, back = model.find(f"T.{box}.u3"), model.find(f"T.{box}.u4")
        total = Fraction(float(low[model.find("S.u3")])) + Fraction(float(low[back]))
        assert Fraction(float(low[call])) <= total <= Fraction(float(high[call]))
        inexact += low[call] < high[call]
    assert inexact > 0
    assert low[model.find("T.u2")] == high[model.find("T.u2")] == 0
    assert (system.gain == -1).all()
