from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from tests.strategies import models

import recurl
from recurl.solving.blocks import SMALL
from recurl.solving.rows import Rows, rows_of_model
from recurl.solving.steps import (
    greatest_steps,
    growing,
    inductive,
    no_offsets,
    smallest_slack,
    stay_forever,
)


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
    assert model.tables.states.sum() > 2 * SMALL
    rows = rows_of_model(model.tables)
    found = greatest_steps(model.tables)
    assert found.sharp
    np.testing.assert_allclose(found.values, by_iteration(model, 3000), rtol=1e-8)
    scale = inductive(rows, found.values, no_offsets(rows))
    assert scale == pytest.approx(1, abs=1e-6)


def test_slow_chains_are_solved_by_policies() -> None:
    # A symmetric walk on 400 nodes with an exit at the end: far too slow for sweeps.
    builder = recurl.Builder("walk").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n0")
    builder.at("n0").action("go").to("n1")
    for i in range(1, 400):
        after = f"n{i + 1}" if i < 399 else "out"
        builder.at(f"n{i}").action("go").to(f"n{i - 1}", "1/2").to(after, "1/2")
    found = greatest_steps(builder.build().tables)
    assert found.values[0] == pytest.approx(1 + 400**2, rel=1e-7)


def test_a_large_block_that_grows_is_infinite() -> None:
    model = recurl.zoo.random_model(
        1, components=3, nodes=400, kind="one_exit", exit_probability=0.3,
        load=float("inf"), call_fraction=0.6,
    )  # fmt: skip
    found = greatest_steps(model.tables)
    assert not found.doubtful.any()
    assert found.grows.sum() > SMALL
    assert not found.stays.any()
    assert model.start_value(found.values) == np.inf


def test_growth_is_proved_by_a_vector() -> None:
    matrix = csr_array(np.array([[0.0, 1.2, 0], [1.0, 0, 0], [0, 0.3, 0]]))
    z = growing(matrix)
    assert z is not None
    assert (matrix @ z > z)[z > 0].all()
    assert growing(0.8 * matrix) is None


def test_a_critical_block_is_doubtful_in_floats() -> None:
    found = greatest_steps(recurl.zoo.gambler(p="1/2").tables)
    assert found.doubtful.any()
    assert not found.grows.any()


def betting(p: str) -> tuple[recurl.RMDP, Rows, np.ndarray]:
    """The gambler, and its expected steps."""
    model = recurl.zoo.gambler(p=p)
    return model, rows_of_model(model.tables), greatest_steps(model.tables).values


def test_slack_tells_bounds_from_others() -> None:
    model, rows, x = betting("1/4")
    # x = 1 + (x + 1 + x + 1) / 4 gives 3.
    assert x[model.tables.starts[0]] == pytest.approx(3)
    nothing = np.zeros((rows.size, 1))
    assert smallest_slack(rows, x * 1.001, no_offsets(rows), nothing) > 0
    assert smallest_slack(rows, x * 0.999, no_offsets(rows), nothing) < 0


def test_certain_exits_lower_what_a_call_takes() -> None:
    model = recurl.zoo.and_or()
    rows = rows_of_model(model.tables)
    found = recurl.analyse(model)
    assert found.steps is not None
    assert found.reach is not None
    none = np.zeros_like(found.reach)
    d = found.steps * 1.001
    assert smallest_slack(rows, d, np.zeros(rows.size), found.reach) > 0
    assert smallest_slack(rows, d, np.zeros(rows.size), none) < 0


def test_staying_forever() -> None:
    builder = recurl.Builder("sit").component("A", entries="in", exits="out")
    builder.at("in").action("leave").to("out").action("sit").to("room")
    builder.at("room").action("leave").to("out").action("sit").to("room")
    builder.at("hall").action("leave").to("out")
    model = builder.build()
    stays, action = stay_forever(rows_of_model(model.tables))
    assert {model.vertex_name(v) for v in np.flatnonzero(stays)} == {"A.in", "A.room"}
    assert action[stays].tolist() == [1, 1]


def stay_by_sweeps(rows: Rows) -> np.ndarray:
    """The greatest set that can be stayed in, place by place until nothing changes."""
    stays = np.diff(rows.action_start) > 0

    def inside(i: int) -> bool:
        back = range(rows.push[i], rows.push[i] + rows.n_returns[i])
        lands = rows.move[i] != 2 and stays[rows.landing[i]]
        return bool(lands or (len(back) and stays[list(back)].all()))

    def kept(v: int) -> bool:
        actions = range(rows.action_start[v], rows.action_start[v + 1])
        spans = (range(*rows.transition_start[a : a + 2]) for a in actions)
        return any(all(map(inside, span)) for span in spans)

    while lost := [v for v in np.flatnonzero(stays) if not kept(v)]:
        stays[lost] = False
    return stays


@settings(max_examples=60)
@given(models())
def test_staying_is_the_greatest_such_set(model: recurl.RMDP) -> None:
    rows = rows_of_model(model.tables)
    stays, action = stay_forever(rows)
    assert (stays == stay_by_sweeps(rows)).all()
    assert ((action >= 0) == stays).all()


def test_steps_of_a_large_block_that_is_rarely_left() -> None:
    model = recurl.zoo.random_model(
        components=1,
        nodes=20_000,
        kind="one_exit",
        actions=3,
        successors=4,
        exit_probability=0.001,
        call_fraction=0,
        locality="near",
    )
    found = greatest_steps(model.tables)
    assert found.sharp
    assert found.values.max() == pytest.approx(1000, rel=1e-6)
