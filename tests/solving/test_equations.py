from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.model.tables import Layout
from recurl.solving.equations import Equations, closed_probabilities
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


def test_calls_become_two_entries_and_exits_none() -> None:
    model = recurl.zoo.countdown()
    eq = Equations.of(model.tables, model.tables.prob)
    assert eq.size == int(model.tables.states.sum())
    line = eq.matrix[[int(eq.action_start[eq.row[model.tables.starts[0]]])]].toarray()[0]
    assert line.tolist() == [0.95, 0.95]
    assert eq.greatest_sum() == pytest.approx(1.9)


def test_a_call_of_several_exits_has_a_row_with_one_action_for_each() -> None:
    model = recurl.zoo.and_or()
    t = model.tables
    eq = Equations.of(t, t.prob)
    port = int(np.flatnonzero((t.vertex_kind == 2) & (t.vertex_component == 1))[0])
    row = int(eq.row[port])
    actions = slice(*eq.action_start[row : row + 2])
    assert eq.source[actions].tolist() == [-1, -1]
    entry, back = int(t.entry_of_call(port)), int(t.box_return[t.vertex_box[port]])
    for k, line in enumerate(eq.matrix[actions].toarray()):
        assert sorted(np.flatnonzero(line)) == sorted(eq.row[[entry, back + k]])
        assert line.sum() == 2


def test_blocks_refer_backwards_only() -> None:
    t = recurl.zoo.spelunking().tables
    eq = Equations.of(t, t.prob)
    sizes = np.diff(eq.block_start)
    block = np.repeat(np.arange(len(sizes)), sizes)
    row, column = eq.graph().nonzero()
    assert (block[column] <= block[row]).all()
    assert sizes.sum() == eq.size


def test_rows_that_others_do_not_need_can_be_left_out() -> None:
    t = recurl.zoo.spelunking().tables
    eq = Equations.of(t, t.prob)
    keep = np.arange(eq.size) < eq.block_start[100]
    part = eq.only(keep)
    actions = int(eq.action_start[part.size])
    assert part.block_start.tolist() == eq.block_start[:101].tolist()
    assert (part.matrix.toarray() == eq.matrix[:actions].toarray()[:, keep]).all()
    assert (part.row[part.vertex] == np.arange(part.size)).all()


def test_loops_are_solved_for() -> None:
    """Stay with 3/4, gain 1 a step: 4 from there."""
    model = (
        recurl.Builder("loop")
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("n")
        .at("n").action("go", reward=1).to("n", "3/4").to("out", "1/4")
        .build()
    )  # fmt: skip
    eq = Equations.of(model.tables, model.tables.prob)
    free, scale = eq.without_loops()
    row = int(eq.row[model.find("A.n")])
    assert scale[eq.action_start[row]] == 4
    assert free.matrix[[row]].sum() == 0
    assert eq.matrix[[row]].sum() == 0.75


def test_reach_is_an_upper_bound_on_the_sizes_referred_to() -> None:
    t = recurl.zoo.spelunking().tables
    eq = Equations.of(t, t.prob)
    size = np.random.default_rng(0).random(eq.size)
    most = eq.matrix.copy()
    most.data = size[most.indices]
    assert (eq.reach(size) >= most.max(axis=1).toarray().ravel()).all()


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
    assert sorted(system.equations.matrix.data.tolist()) == [0.5, 1.0]
    solution = recurl.solve(model)
    assert solution.lower <= 2 <= solution.upper
    assert solution.gap < 1e-12


def test_probabilities_are_closed_by_little() -> None:
    t = recurl.zoo.cloud().tables
    prob = closed_probabilities(t)
    assert np.add.reduceat(prob, t.transition_start[:-1]) == pytest.approx(1, abs=1e-15)
    assert prob == pytest.approx(t.prob, abs=1e-15)
