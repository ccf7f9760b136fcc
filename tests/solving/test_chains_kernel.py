from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.chains_kernel import can_leave, image, step_system, visited
from recurl.solving.rows import rows_of_model


def test_which_exits_and_places() -> None:
    builder = recurl.Builder("one_way").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "B").at("in").action("go").to("a")
    builder.at("a.x").action("up").to("x").at("a.y").action("up").to("y")
    builder.component("B", entries="in", exits=["x", "y"]).at("in").action("go").to("x")
    model = builder.build("A")
    rows = rows_of_model(model.tables)
    order = np.arange(rows.size, dtype=np.int32)
    can = can_leave(rows, order)
    assert can[model.find("A.in")].tolist() == [True, False]
    assert can[model.find("B.in")].tolist() == [True, False]
    seen = visited(rows, can)
    names = {model.vertex_name(v) for v in np.flatnonzero(seen)}
    assert names == {"A.in", "A.a.x", "B.in"}


def test_image_at_the_solution() -> None:
    model = recurl.zoo.gambler(p="3/5")
    rows = rows_of_model(model.tables)
    places = np.flatnonzero(model.tables.states).astype(np.int32)
    x = np.where(model.tables.states, 1.0, 0.0)[:, None]
    x[model.find(model.vertex_name(int(model.tables.starts[0])))] = 2 / 3
    value, slope, error = image(rows, x, np.ones_like(x), places)
    first = int(model.tables.starts[0])
    # A call is worth x(in) times what follows it; both parts count in the slope.
    assert value[first, 0] == pytest.approx(0.4 + 0.6 * x[rows.landing[rows.push >= 0][0], 0])
    assert slope[first, 0] == pytest.approx(0.6 * (2 / 3 + 1))
    assert 0 < error[first, 0] < 1e-14


def test_what_is_still_to_come() -> None:
    model = recurl.zoo.gambler(p="1/4")
    rows = rows_of_model(model.tables)
    places = np.flatnonzero(model.tables.states).astype(np.int32)
    start, column, weight = step_system(rows, np.full((rows.size, 1), 0.5), places)
    first = int(model.tables.starts[0])
    own = slice(start[first], start[first + 1])
    assert weight[own].tolist() == [0.25, 0.125]
    assert column[own][0] == first
