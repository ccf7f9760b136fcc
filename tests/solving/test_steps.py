from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving import steps
from recurl.solving.linear import DENSE
from recurl.solving.rows import rows_of_model
from recurl.solving.steps import greatest_steps, inductive, no_offsets


def by_iteration(model: recurl.RMDP, rounds: int) -> np.ndarray:
    """Greatest expected steps by plain value iteration on whole arrays."""
    t, d = model.tables, np.zeros(model.tables.n_vertices)
    back = np.append(t.box_return, 0)[t.move_box]
    for _ in range(rounds):
        value = np.where(t.move == 2, 0.0, d[t.landing]) + np.where(t.move == 1, d[back], 0.0)
        rows = np.add.reduceat(t.prob * value, t.transition_start[:-1])
        new = np.zeros_like(d)
        np.maximum.at(new, t.action_vertex, 1 + rows)
        d = new
    return d


@pytest.mark.parametrize("options", [{}, {"locality": "near"}, {"load": 1.3}])
def test_large_blocks_agree_with_value_iteration(options: dict[str, object]) -> None:
    model = recurl.zoo.random_model(2, components=3, nodes=400, kind="one_exit", **options)
    assert model.tables.states.sum() > 2 * DENSE
    rows = rows_of_model(model.tables)
    found = greatest_steps(rows)
    assert found.sharp
    assert found.decided
    np.testing.assert_allclose(found.values, by_iteration(model, 3000), rtol=1e-8)
    scale = inductive(rows, found.values, no_offsets(rows))
    assert scale == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("sparse", [0, 30_000])
def test_slow_chains_are_solved_by_policies(sparse: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # A symmetric walk on 400 nodes with an exit at the end: far too slow for sweeps.
    monkeypatch.setattr(steps, "SPARSE", sparse)
    builder = recurl.Builder("walk").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n0")
    builder.at("n0").action("go").to("n1")
    for i in range(1, 400):
        after = f"n{i + 1}" if i < 399 else "out"
        builder.at(f"n{i}").action("go").to(f"n{i - 1}", "1/2").to(after, "1/2")
    found = greatest_steps(rows_of_model(builder.build().tables))
    assert found.values[0] == pytest.approx(1 + 400**2, rel=1e-7)


def test_a_large_block_that_grows_is_infinite() -> None:
    model = recurl.zoo.random_model(
        1, components=3, nodes=400, kind="one_exit", exit_probability=0.3,
        load=float("inf"), call_fraction=0.6,
    )  # fmt: skip
    found = greatest_steps(rows_of_model(model.tables))
    assert found.decided
    assert found.bad.sum() > DENSE
    assert not found.stays.any()
    assert model.start_value(found.values) == np.inf
