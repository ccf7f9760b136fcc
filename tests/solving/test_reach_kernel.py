from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.reach_kernel import raise_reach
from recurl.solving.rows import rows_of_model


def test_sweeps_from_nothing() -> None:
    model = recurl.zoo.and_or()
    rows = rows_of_model(model.tables)
    p = np.zeros((rows.size, 2))
    order = np.arange(rows.size, dtype=np.int32)
    first = raise_reach(rows, p, order, 0.0)
    assert first > 0.25
    assert p[model.find("and.in"), 0] >= 0.25
    for _ in range(100):
        raise_reach(rows, p, order, 0.0)
    root = np.sqrt(10) / 2 - 1
    assert p[model.find("and.in")] == pytest.approx([1 - root, root])


def test_slack_is_taken_off_at_every_place() -> None:
    builder = recurl.Builder("line").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go").to("n").at("n").action("go").to("x", 0.5).to("y", 0.5)
    model = builder.build()
    rows = rows_of_model(model.tables)
    p = np.zeros((rows.size, 2))
    for _ in range(3):
        raise_reach(rows, p, np.arange(rows.size, dtype=np.int32), 0.125)
    assert p[model.find("A.n")].tolist() == [0.375, 0.375]
    assert p[model.find("A.in")].tolist() == [0.25, 0.25]
