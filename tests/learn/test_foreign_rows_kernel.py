"""Rows and contexts of an environment, one by one."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from recurl.learn.jit import compiled

from recurl.learn import foreign_rows_kernel as rows
from recurl.learn import notes_kernel as k
from recurl.learn.foreign_table import ForeignTable
from recurl.learn.settings import make_settings
from recurl.simulation.random import new_stream


@compiled
def _make_row(header: np.ndarray, context: int, vertex: int) -> int:
    return rows.make_row(k.open_notes(header), context, vertex, -1.5)


@compiled
def _ahead(header: np.ndarray, context: int, vertex: int) -> float:
    return rows.ahead_of(k.open_notes(header), context, vertex)


@compiled
def _intern(header: np.ndarray, exits: int, entry: int) -> int:
    return rows.intern(k.open_notes(header), exits, entry)


@compiled
def _hopes(header: np.ndarray, context: int, box: int) -> int:
    return rows.hopes(k.open_notes(header), context, box)


def table(inherit: int = 0) -> ForeignTable:
    settings = make_settings("paper", {"inherit": inherit, "initial_value": 4.0})
    one = ForeignTable(
        spaces.Discrete(50), spaces.Discrete(2), settings, flat=False, random=new_stream(0)
    )
    for observation in range(6):
        one.visit(observation, None)
    return one


def intern(one: ForeignTable, *values: float) -> int:
    one.notes.vector[: len(values)] = values
    return int(_intern(one.header, len(values), 0))


def test_a_row_is_made_once_with_the_value_given() -> None:
    one = table()
    begin = _make_row(one.header, 0, 3)
    assert one.notes.q[begin : begin + 2].tolist() == [-1.5, -1.5]
    assert _make_row(one.header, 0, 3) == begin
    assert _make_row(one.header, 0, 4) == begin + 2
    assert one.notes.used[k.ROWS] == 2


def test_rows_never_made_promise_the_initial_value() -> None:
    one = table()
    assert _ahead(one.header, 0, 3) == 4.0
    one.notes.q[_make_row(one.header, 0, 3) + 1] = 2.5
    assert _ahead(one.header, 0, 3) == 2.5


def test_contexts_are_their_exit_values() -> None:
    one = table()
    assert intern(one, 0.0, 0.0) == intern(one, 0.0) == 0
    assert intern(one, 0.0, 1.0) == 1
    assert intern(one, 1.0, 0.0) == 2
    assert intern(one, 0.0, 1.0, 0.0) == 3
    assert intern(one, 0.0, 1.0) == 1


def test_a_new_context_inherits_the_rows_of_the_nearest() -> None:
    one = table(inherit=10)
    near, far = intern(one, 0.0, 1.0), intern(one, 0.0, 9.0)
    for context, value in ((near, -1.0), (far, -2.0)):
        begin = _make_row(one.header, context, 0)
        one.notes.q[begin : begin + 2] = value
        one.notes.visits[begin] = 99
    heir = intern(one, 0.0, 2.0)
    assert _ahead(one.header, heir, 0) == -1.0
    begin = _make_row(one.header, heir, 0)
    assert one.notes.visits[begin : begin + 2].tolist() == [10, 0]


def test_hopes_are_what_the_exits_lead_to() -> None:
    one = table()
    box = one.box((3, 5))
    one.notes.q[_make_row(one.header, 0, 5)] = 7.0
    assert _hopes(one.header, 0, box) == 2
    assert one.notes.vector[:2].tolist() == [4.0, 7.0]


def test_a_rebuilt_table_finds_everything() -> None:
    one = table()
    begins = {vertex: _make_row(one.header, 0, vertex) for vertex in range(6)}
    number = intern(one, 0.0, 3.0)
    one.grow()
    assert {vertex: _make_row(one.header, 0, vertex) for vertex in range(6)} == begins
    assert intern(one, 0.0, 3.0) == number
