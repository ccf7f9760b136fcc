from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.properness_kernel import (
    backup,
    block_system,
    margins,
    place_graph,
    relax,
    smallest_slack,
    stay_forever,
)
from recurl.solving.rows import Rows, rows_of_model


def betting(p: str) -> tuple[recurl.RMDP, Rows, np.ndarray]:
    model = recurl.zoo.gambler(p=p)
    rows = rows_of_model(model.tables)
    return model, rows, np.flatnonzero(model.tables.states).astype(np.int32)


def no_exits(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(rows.size), np.zeros((rows.size, 1))


def test_who_speaks_of_whom() -> None:
    model, rows, _ = betting("1/4")
    start, target = place_graph(rows)
    first = int(model.tables.starts[0])
    assert sorted(target[start[first] : start[first + 1]].tolist())[0] == first


def test_sweeps_reach_the_closed_form() -> None:
    model, rows, places = betting("1/4")
    x, (e, reach) = np.zeros(rows.size), no_exits(rows)
    assert relax(rows, x, e, places, 10) < 1
    relax(rows, x, e, places, 200)
    # x = 1 + (x + 1 + x + 1) / 4 gives 3.
    assert x[model.tables.starts[0]] == pytest.approx(3)
    low, high = margins(rows, x, places, np.zeros(rows.size, np.int32))
    assert low == pytest.approx(1)
    assert high == pytest.approx(1)
    assert smallest_slack(rows, x * 1.001, e, reach) > 0
    assert smallest_slack(rows, x * 0.999, e, reach) < 0


def test_growth_is_noticed() -> None:
    _, rows, places = betting("3/4")
    assert relax(rows, np.zeros(rows.size), no_exits(rows)[0], places, 50) >= 1


def test_the_best_of_two_actions() -> None:
    builder = recurl.Builder("two").component("A", entries="in", exits="out")
    builder.at("in").action("short").to("out").action("long").to("n")
    builder.at("n").action("on").to("out")
    model = builder.build()
    rows = rows_of_model(model.tables)
    x = np.zeros(rows.size)
    block = np.array([model.find("A.n"), model.find("A.in")], np.int32)
    action, value = np.empty(2, np.int32), np.empty(2)
    backup(rows, x, np.zeros(rows.size), block, action, value, True)
    assert value.tolist() == [1, 2]
    assert action[1] - rows.action_start[model.find("A.in")] == 1


def test_the_system_of_chosen_actions() -> None:
    model, rows, places = betting("1/4")
    local = np.full(rows.size, -1, np.int32)
    local[places] = np.arange(len(places))
    choice = np.where(np.diff(rows.action_start) > 0, rows.action_start[:-1], -1)
    args = (rows, np.zeros(rows.size), no_exits(rows)[0], places, local, choice.astype(np.int32))
    row, column, value, b = block_system(*args)
    matrix = np.zeros((len(places), len(places)))
    np.add.at(matrix, (row, column), value)
    x = np.linalg.solve(np.eye(len(places)) - matrix, b)
    assert x[local[model.tables.starts[0]]] == pytest.approx(3)


def test_staying_forever() -> None:
    builder = recurl.Builder("sit").component("A", entries="in", exits="out")
    builder.at("in").action("leave").to("out").action("sit").to("room")
    builder.at("room").action("leave").to("out").action("sit").to("room")
    builder.at("hall").action("leave").to("out")
    model = builder.build()
    rows = rows_of_model(model.tables)
    stays, action = stay_forever(rows, np.arange(rows.size, dtype=np.int32))
    assert {model.vertex_name(v) for v in np.flatnonzero(stays)} == {"A.in", "A.room"}
    assert action[stays].tolist() == [1, 1]


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
