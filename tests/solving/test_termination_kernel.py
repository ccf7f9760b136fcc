from __future__ import annotations

import numpy as np
import pytest
from tests.solving.references import stop_or_bet

import recurl
from recurl.solving.rows import rows_of_model
from recurl.solving.termination_kernel import action_values, slope_system, sweep


def test_values_and_slopes_of_actions() -> None:
    model = stop_or_bet("3/5")
    rows = rows_of_model(model.tables)
    x, w = np.full(rows.size, 0.5), np.full(rows.size, 2.0)
    value, slope = action_values(rows, x, w)
    stop, bet = rows.action_start[model.find("A.in")] + np.arange(2)
    assert (value[stop], slope[stop]) == (1.0, 0.0)
    # 2/5 + 3/5 x x, and its derivative in the direction w.
    assert value[bet] == pytest.approx(0.4 + 0.6 * 0.25)
    assert slope[bet] == pytest.approx(0.6 * (0.5 * 2 + 2 * 0.5))


@pytest.mark.parametrize(("sign", "expected"), [(1.0, 1.0), (-1.0, 2 / 3)])
def test_sweeps_from_below(sign: float, expected: float) -> None:
    model = stop_or_bet("3/5")
    rows = rows_of_model(model.tables)
    x = np.zeros(rows.size)
    order = np.flatnonzero(model.tables.states)[::-1].astype(np.int32)
    sweep(rows, x, order, sign, 300)
    assert x[model.find("A.in")] == pytest.approx(expected)


def test_the_matrix_is_the_slope() -> None:
    model = stop_or_bet("3/5")
    rows = rows_of_model(model.tables)
    random = np.random.default_rng(1)
    x, w = random.random(rows.size), random.random(rows.size)
    chosen = np.where(np.diff(rows.action_start) > 0, rows.action_start[1:] - 1, -1)
    start, column, weight = slope_system(rows, x, chosen.astype(np.int32))
    product = np.add.reduceat(np.append(weight * w[column], 0.0), start[:-1])
    product[np.diff(start) == 0] = 0.0
    _, slope = action_values(rows, x, w)
    acting = chosen >= 0
    assert product[acting] == pytest.approx(slope[chosen[acting]])
    assert recurl.termination(model, "min").value == pytest.approx(2 / 3)
