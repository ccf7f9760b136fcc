from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.solving.exact_one_exit import exact_values, small_models

import recurl
from recurl.errors import NotProperError
from recurl.linear import systems
from recurl.solving import blocks
from recurl.solving.blocks import (
    Iterate,
    batches,
    linear_program,
    policy_iteration,
    value_iteration,
)
from recurl.solving.one_exit_bounds import step_bounds
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


@settings(max_examples=25)
@given(small_models)
def test_small_and_large_blocks_agree(model: recurl.RMDP) -> None:
    system = System.of(model, Question())
    exact = exact_values(model)
    for small, large in ((200, 50_000), (0, 50_000), (0, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "SMALL", small)
            patch.setattr(systems, "LARGE", large)
            it = Iterate.first(system.equations, system.gain, step_bounds(system))
            assert policy_iteration(it, 1e-12) is None
        for vertex, x in zip(system.vertex, it.x, strict=True):
            assert float(exact[vertex]) == pytest.approx(x, abs=1e-8)


@settings(max_examples=25)
@given(small_models)
def test_the_optimum_of_the_program_is_the_value_of_every_state(model: recurl.RMDP) -> None:
    system = System.of(model, Question())
    exact = exact_values(model)
    it = Iterate.first(system.equations, system.gain)
    linear_program(it, 1e-9)
    for vertex, x in zip(system.vertex, it.x, strict=True):
        assert x == pytest.approx(float(exact[vertex]), abs=1e-6)


@pytest.mark.parametrize("large", [0, 50_000])
def test_a_shift_balances_remainders_and_sweeps(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "LARGE", large)
    system = System.of(recurl.zoo.cloud(exits=1), Question())
    first, last = int(system.block_sizes[0]), system.n_rows
    it = Iterate.first(system.equations, system.gain, step_bounds(system))
    it.x[:] = np.arange(last)
    assert it.right is not None
    rest = it.sweep(first, last, 2)
    matrix, constant = it.chain(first, last)
    x, right = it.x[first:last].copy(), it.right[first:last]
    np.testing.assert_allclose(rest, constant + matrix @ x - x, atol=1e-12)
    left = it.shift(first, last, rest, it.falls(first, last))
    factor = rest.sum() / (right - matrix @ right).sum()
    moved = x + factor * right
    after = constant + matrix @ moved - moved
    assert after.sum() == pytest.approx(0, abs=1e-9)
    assert left == pytest.approx(np.abs(after).max())
    np.testing.assert_allclose(it.x[first:last], x + factor * right + after, atol=1e-12)


def test_the_first_of_equal_actions_is_taken() -> None:
    builder = recurl.Builder("equal").component("A", entries="in", exits="out")
    builder = builder.at("in").action("poor").to("out", 1, reward=1)
    builder = builder.action("rich").to("out", 1, reward=2)
    model = builder.action("as rich").to("out", 1, reward=2).build()
    system = System.of(model, Question())
    it = Iterate.first(system.equations, system.gain)
    assert it.improve(0, 1) == (2.0, 1)
    assert it.choice.tolist() == [1]


def test_no_program_has_a_solution_without_an_end() -> None:
    """Calls itself twice with 3/5 and pays 1 a step: no finite vector is large enough."""
    system = System.of(recurl.zoo.gambler(p="3/5"), Question())
    with pytest.raises(NotProperError, match="linear program"):
        linear_program(Iterate.first(system.equations, -system.gain), 1e-9)


def test_sweeps_reach_their_tolerance() -> None:
    system = System.of(recurl.zoo.countdown(), Question())
    it = Iterate.first(system.equations, system.gain, step_bounds(system))
    assert value_iteration(it, 1e-10) is None
    assert it.x[system.row[0]] == pytest.approx(19, abs=1e-8)
    assert it.work["blocks"] == len(system.block_sizes)


@pytest.mark.parametrize(
    ("method", "p"),
    [(policy_iteration, "1/2"), (policy_iteration, "3/4"), (value_iteration, "3/4")],
)
def test_growth_without_end_is_noticed(method: object, p: str) -> None:
    system = System.of(recurl.zoo.gambler(p=p), Question())
    it = Iterate.first(system.equations, system.gain)
    first, last = method(it, 1e-6)
    assert first <= system.row[system.model.tables.starts[0]] < last


def test_the_first_block_that_fails_is_found_among_many() -> None:
    """A chain of 60 rooms, each left sooner or later; in one of them a run can stay."""
    builder = recurl.Builder("rooms").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n59")
    for k in range(60):
        builder.at(f"n{k}").action("go").to(f"n{k}", "1/2").to(f"n{k - 1}" if k else "out", "1/2")
    builder.at("n23").action("stay").to("n23")
    model = builder.build()
    system = System.of(model, Question("max", "steps"))
    it = Iterate.first(system.equations, system.gain)
    row = int(system.row[model.find("A.n23")])
    assert policy_iteration(it, 1e-9) == (row, row + 1)
    assert it.x[system.row[model.find("A.n22")]] == pytest.approx(46)


def test_improving_takes_the_better_of_two_actions() -> None:
    builder = recurl.Builder("two").component("A", entries="in", exits="out")
    builder.at("in").action("short").to("out").action("long").to("n")
    builder.at("n").action("on").to("out")
    model = builder.build()
    system = System.of(model, Question("max", "steps"))
    it = Iterate.first(system.equations, system.gain)
    assert it.improve(0, 2) == (1.0, 0)
    assert it.improve(0, 2) == (1.0, 1)
    assert it.x[system.row[[model.find("A.in"), model.find("A.n")]]].tolist() == [2, 1]
    assert system.local_choice(it.choice)[model.find("A.in")] == 1


def test_the_chain_of_chosen_actions() -> None:
    system = System.of(recurl.zoo.gambler(p="1/4"), Question("max", "steps"))
    it = Iterate.first(system.equations, system.gain)
    matrix, constant = it.chain(0, system.n_rows)
    x = np.linalg.solve(np.eye(system.n_rows) - matrix.toarray(), constant)
    assert x[system.row[system.model.tables.starts[0]]] == pytest.approx(3)


def test_slow_blocks_go_to_elimination_while_they_are_small() -> None:
    model = recurl.zoo.random_model(
        1, 1, 400, kind="one_exit", call_fraction=0, exit_probability=0.001, locality="near"
    )
    system = System.of(model, Question())
    assert blocks.SMALL < system.block_sizes.max() <= systems.DIRECT
    steps = step_bounds(system)
    assert steps is not None
    it = Iterate.first(system.equations, system.gain, steps)
    assert policy_iteration(it, 1e-12) is None
    assert "linear iterations" not in it.work
    assert it.improve(0, system.n_rows)[0] <= 1e-9


def test_small_blocks_are_taken_together_and_large_ones_alone() -> None:
    sizes = [1, 150, 300, 2, 2999, 3, 1]
    start = np.concatenate([[0], np.cumsum(sizes)])
    assert list(batches(start)) == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 7)]
