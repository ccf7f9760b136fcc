from __future__ import annotations

import numpy as np
import pytest
from tests.solving.oracle import random_spec

import recurl
from recurl.solving.relaxed import Relaxed, columns_of, referred_to, relaxed_equations
from recurl.solving.rows import rows_of_model


def equations(model: recurl.RMDP, side: int, *, rewards: bool) -> Relaxed:
    rows = rows_of_model(model.tables)
    gain = np.abs(model.tables.reward) if rewards else None
    return relaxed_equations(rows, columns_of(rows, gain), gain, side)


@pytest.mark.parametrize("side", [1, 0, -1])
@pytest.mark.parametrize("seed", [100012, 100036, 100102])
def test_derivatives_are_those_of_the_sums(seed: int, side: int) -> None:
    f = equations(random_spec(seed, exits=3, actions=2), side, rewards=True)
    draw = np.random.default_rng(seed)
    x, change = draw.random((2, f.size))
    row, column, value = f.jacobian(x)
    slope = np.bincount(row, value * change[column], len(f.terms))
    difference = (f.value(x + 1e-7 * change) - f.value(x - 1e-7 * change)) / 2e-7
    assert slope == pytest.approx(difference, abs=1e-5)
    assert (f.below(x) <= f.value(x)).all()
    assert (f.above(x) >= f.value(x) - 1e-15).all()


def test_columns_of_components_with_one_exit_are_not_repeated() -> None:
    rows = rows_of_model(recurl.zoo.gambler(p=0.6).tables)
    columns = columns_of(rows, None)
    assert columns.size == np.count_nonzero(np.diff(rows.action_start) > 0)
    assert (columns.number[:, 0] == columns.number[:, 1]).all()


def test_returns_by_any_exit_are_referred_to() -> None:
    builder = recurl.Builder("m").component("A", entries="in", exits=["x", "y"]).box("b", "B")
    builder.at("in").action("go").to("b")
    for exit in "xy":
        builder.at(f"b.{exit}").action("up").to(exit)
    builder.component("B", entries="in", exits=["x", "y"]).at("in").action("go").to("x")
    model = builder.build("A")
    seen = referred_to(rows_of_model(model.tables))
    assert seen[model.tables.states].all()
    assert not model.reach.reachable[model.tables.states].all()
