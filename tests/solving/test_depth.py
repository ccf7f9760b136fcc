from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.depth import expected_depth
from recurl.solving.rows import rows_of_model


def depth(model: recurl.RMDP) -> tuple[float, float]:
    rows = rows_of_model(model.tables)
    return expected_depth(rows, np.flatnonzero(model.tables.states).astype(np.int32))


@pytest.mark.parametrize("p", [0.05, 0.25, 0.9])
def test_countdown_is_as_deep_as_it_is_long(p: float) -> None:
    total, rest = depth(recurl.zoo.countdown(p=p))
    assert total + rest == pytest.approx(1 / p, rel=1e-11)
    assert rest <= 1e-12 * total


@pytest.mark.parametrize("p", [0.1, 0.4, 0.49])
def test_the_gambler_by_its_own_recursion(p: float) -> None:
    within, expected = 0.0, 0.0
    for _ in range(5000):
        expected += 1 - within
        within = 1 - p + p * within**2
    total, rest = depth(recurl.zoo.gambler(p=p))
    assert total + rest == pytest.approx(expected, rel=1e-10)


def test_loops_between_calls() -> None:
    # Each round calls with 1/3, so that the height goes up once with 1/2 from each level.
    builder = recurl.Builder("rounds").component("A", entries="in", exits="out").box("leaf", "B")
    builder.at("in").action("go").to("round")
    builder.at("round").action("go").to("round", "1/3").to("leaf", "1/3").to("out", "1/3")
    builder.at("leaf.out").action("go").to("round")
    builder.component("B", entries="in", exits="out").at("in").action("up").to("out")
    total, rest = depth(builder.build("A"))
    assert total + rest == pytest.approx(1.5, abs=1e-12)
