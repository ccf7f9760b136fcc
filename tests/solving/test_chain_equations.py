from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solving.references import random_policy, small_model

import recurl
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.solving.chain_equations import can_leave, polynomials, totals, visited
from recurl.solving.rows import rows_of_model, rows_of_policy


def test_which_exits_and_places() -> None:
    builder = recurl.Builder("one_way").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "B").at("in").action("go").to("a")
    builder.at("a.x").action("up").to("x").at("a.y").action("up").to("y")
    builder.component("B", entries="in", exits=["x", "y"]).at("in").action("go").to("x")
    model = builder.build("A")
    rows = rows_of_model(model.tables)
    can = can_leave(rows)
    assert can[model.find("A.in")].tolist() == [True, False]
    assert can[model.find("B.in")].tolist() == [True, False]
    seen = visited(rows, can)
    names = {model.vertex_name(v) for v in np.flatnonzero(seen)}
    assert names == {"A.in", "A.a.x", "B.in"}


@given(seed=st.integers(0, 10_000))
def test_polynomials_are_those_of_the_rows(seed: int) -> None:
    model = small_model(seed, call_fraction=0.6)
    rows = rows_of_policy(random_policy(model, seed))
    can = can_leave(rows)
    x = np.where(can, np.random.default_rng(seed).random(can.shape), 0.0)
    expected = np.zeros_like(x)
    for i, v in enumerate(rows.row_place):
        at = rows.landing[i]
        if rows.move[i] == EXITS:
            expected[v, at] += rows.prob[i]
        elif rows.move[i] == STEP:
            expected[v] += rows.prob[i] * x[at]
        for j in range(rows.n_returns[i]):
            expected[v] += rows.prob[i] * x[at, j] * x[rows.push[i] + j]
    f = polynomials(rows, can)
    assert f.value(x[can]) == pytest.approx(expected[can], rel=1e-12)
    low, high = f.below(x[can]), f.above(x[can])
    assert (low < f.value(x[can])).all()
    assert (f.value(x[can]) < high).all()
    assert low == pytest.approx(high, rel=1e-14)


def test_the_slope_of_a_square() -> None:
    model = recurl.zoo.gambler(p="3/5")
    rows = rows_of_model(model.tables)
    f = polynomials(rows, can_leave(rows))
    x, w = np.full(f.size, 0.5), np.ones(f.size)
    row, column, value = f.jacobian(x)
    slope = np.bincount(row, value * w[column], f.size)
    # A call is worth x(in) times what follows it; both parts count in the slope.
    assert slope[0] == pytest.approx(0.6 * (0.5 + 0.5))
    assert (slope <= f.slope_above(x, w)).all()
    assert f.relying_on(np.arange(f.size) == f.size - 1)[0]


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_what_is_still_to_come(share: float) -> None:
    model = recurl.zoo.gambler(p="1/4")
    rows = rows_of_model(model.tables)
    places = np.flatnonzero(model.tables.states).astype(np.int32)
    table = np.full((rows.size, 1), share)
    sure = np.full(rows.size, share == 1.0)
    chain = totals(rows, can_leave(rows), (table, table, table), places, sure)
    first = int(model.tables.starts[0])
    row, column, value = chain.matrix()
    assert value[row == first].tolist() == [0.25, 0.25 * share]
    assert column[row == first][0] == first
    d = np.ones(rows.size)
    back = int(rows.push[rows.move == CALLS][0])
    d[back] = 3.0
    exact = 0.25 * (1 + share * 3)
    assert chain.below(d)[first] <= exact <= chain.above(d)[first]
    assert chain.above(d)[first] == pytest.approx(exact, rel=1e-14)


def test_shares_that_add_up_to_one_leave_no_room() -> None:
    # Both ways back are followed by 2: however the shares are split, 2 comes after the call.
    model = recurl.zoo.and_or()
    rows = rows_of_model(model.tables)
    can = can_leave(rows)
    places = np.flatnonzero(model.tables.states).astype(np.int32)
    low, high = np.where(can, 0.3, 0.0), np.where(can, 0.7, 0.0)
    chain = totals(rows, can, (low, low, high), places, np.ones(rows.size, np.bool_))
    d = np.full(rows.size, 2.0)
    call = chain.place[chain.call[0]]
    total = np.bincount(chain.place, chain.weight, rows.size)[call]
    calls = chain.weight[chain.place == call].sum()
    assert chain.above(d)[call] == pytest.approx(2 * total + 2 * calls, rel=1e-12)
    assert chain.below(d)[call] == pytest.approx(2 * total + 2 * calls, rel=1e-12)
