from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving import one_exit_linear
from recurl.solving.one_exit_kernel import improve
from recurl.solving.one_exit_linear import LinearSolver, Lumped
from recurl.solving.one_exit_linear_kernel import (
    Chain,
    aggregate,
    gather,
    least_remainder,
    remainder,
    select_chain,
    visits,
)
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


def chain_and_matrix(locality: str, nodes: int = 400) -> tuple[Chain, np.ndarray]:
    """The chain of first actions of a random process, and the same as a dense matrix."""
    model = recurl.zoo.random_model(
        1, 1, nodes, kind="one_exit", call_fraction=0, exit_probability=0.01, locality=locality
    )
    system = System.of(model, Question())
    eq, n = system.equations, system.n_rows
    choice = eq.action_start[:-1].copy()
    chain = select_chain(eq, system.gain, np.zeros(n), choice, 0, n)
    matrix = np.zeros((n, n))
    for q in range(n):
        for e in range(eq.entry_start[choice[q]], eq.entry_start[choice[q] + 1]):
            matrix[q, eq.column[e]] += eq.weight[e]
    return chain, np.linalg.solve(np.eye(n) - matrix, system.gain[choice])


@pytest.mark.parametrize("direct", [1500, 0])
@pytest.mark.parametrize("locality", ["near", "uniform"])
def test_solves_what_dense_elimination_solves(
    locality: str, direct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_exit_linear, "DIRECT", direct)
    chain, wanted = chain_and_matrix(locality)
    solver, x = LinearSolver(len(wanted)), np.zeros(len(wanted))
    for _ in range(20):
        solver.improve(chain, x, np.ones(len(x)), 1e-8)
    np.testing.assert_allclose(x, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_loops_are_solved_for() -> None:
    """Stay with 3/4, gain 1 a step: 4 from there."""
    model = (
        recurl.Builder("loop")
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("n")
        .at("n").action("go", reward=1).to("n", "3/4").to("out", "1/4")
        .build()
    )  # fmt: skip
    system = System.of(model, Question())
    row = int(system.row[model.find("A.n")])
    x, choice = np.zeros(system.n_rows), system.equations.action_start[:-1].copy()
    chain = select_chain(system.equations, system.gain, x, choice, row, row + 1)
    assert chain.constant.tolist() == [4.0]
    assert len(chain.column) == 0


def test_groups_sum_up_the_matrix() -> None:
    chain, _ = chain_and_matrix("near", nodes=20)
    n = len(chain.constant)
    dense = np.eye(n)
    for q in range(n):
        for e in range(chain.start[q], chain.start[q + 1]):
            dense[q, chain.column[e]] -= chain.weight[e]
    left, right = np.linspace(1, 2, n), np.linspace(3, 1, n)
    start, column, value = aggregate(chain, left, right, 4)
    groups = len(start) - 1
    found = np.zeros((groups, groups))
    for i in range(groups):
        found[i, column[start[i] : start[i + 1]]] += value[start[i] : start[i + 1]]
    member = np.arange(n) // 4 == np.arange(groups)[:, None]
    np.testing.assert_allclose(found, member * left @ dense @ (member * right).T, atol=1e-12)
    np.testing.assert_allclose(gather(right, left, 4), (member * left) @ right)
    np.testing.assert_allclose(visits(chain, 1), 1 + (np.eye(n) - dense).sum(axis=0))


def test_least_remainder_is_least_squares() -> None:
    matrix = np.triu(np.random.default_rng(0).normal(size=(5, 4)), -1)
    wanted = np.array([2.0, 0, 0, 0, 0])
    factors, left = least_remainder(matrix, 2.0)
    reference, squares, _, _ = np.linalg.lstsq(matrix, wanted, rcond=None)
    np.testing.assert_allclose(factors, reference)
    assert left == pytest.approx(float(np.sqrt(squares[0])))


def test_few_groups_where_everything_refers_to_everything() -> None:
    model = recurl.zoo.random_model(
        1, 1, 20_000, kind="one_exit", call_fraction=0, exit_probability=0.01, successors=4
    )
    system = System.of(model, Question())
    x, choice = np.zeros(system.n_rows), system.equations.action_start[:-1].copy()
    improve(system.equations, system.gain, x, choice, 0, system.n_rows)
    chain = select_chain(system.equations, system.gain, x, choice, 0, system.n_rows)
    lumped = Lumped(chain, np.ones(system.n_rows))
    assert system.n_rows / lumped.size < 20
    solver, rest = LinearSolver(len(x)), np.empty(len(x))
    remainder(chain, x, rest)
    before = np.abs(rest).max()
    assert solver.improve(chain, x, np.ones(len(x)), 1e-3) < 15
    remainder(chain, x, rest)
    assert np.abs(rest).max() < 0.02 * before
