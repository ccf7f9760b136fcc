"""Copies of components: where runs come to in them, and numbers in columns."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.model.tables import EXIT
from recurl.verification.arithmetic import Numbers
from recurl.verification.copies import Copies, Mixes, Within


def chooser() -> recurl.RMDP:
    """A calls B, which leaves by x or by y as its actions say; y leads to a node of its own."""
    builder = recurl.Builder("chooser").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go").to("b").at("b.x").action("go").to("out")
    builder.at("b.y").action("go").to("late").at("late").action("go").to("out")
    builder.component("B", entries="in", exits=["x", "y"])
    return builder.at("in").action("left").to("x").action("right").to("y").build("A")


def visited(copies: Copies, model: recurl.RMDP) -> set[str]:
    places = np.flatnonzero(copies.visited)
    return {f"{copies.copy[q]}:{model.vertex_name(int(copies.vertex[q]))}" for q in places}


def test_runs_return_by_exits_that_are_reached() -> None:
    model = chooser()
    every = Copies(model.tables, np.array([0, 1]), [1])
    every.starts = [model.find("A.in")]
    assert every.visited.all()
    left = Copies(model.tables, np.array([0, 1]), [1], [0] * model.tables.n_vertices)
    left.starts = every.starts
    names = {f"{model.tables.vertex_component[v]}:{model.vertex_name(v)}" for v in range(9)}
    late = {"0:A.late", "0:A.b.y", "1:B.y"}
    assert visited(left, model) == names - late
    left = Copies(model.tables, np.array([0, 1]), [1], [0] * model.tables.n_vertices)
    left.starts, left.returns = every.starts, True
    assert visited(left, model) == names - {"1:B.y"}


def test_each_call_has_the_copy_that_it_enters() -> None:
    """Two copies of the caller, whose calls enter copies that leave by different exits."""
    model, t = chooser(), chooser().tables
    actions = [0] * 9 + [1, 0, 0]
    copies = Copies(t, np.array([0, 1, 1]), [2], actions)
    copies.starts = [model.find("A.in")]
    assert {"0:A.late", "2:B.y"} <= visited(copies, model)
    assert not {"1:B.in", "2:B.x", "0:A.b.x"} & visited(copies, model)
    nowhere = Copies(t, np.array([0, 1]), [-1])
    nowhere.starts = copies.starts
    with pytest.raises(CertificateError, match="enters no context"):
        assert nowhere.visited.any()


def test_columns_are_copies_of_copies() -> None:
    model, t = chooser(), chooser().tables
    base = Copies(t, np.array([1, 0]), [0])
    base.starts = [int(base.shift[1]) + model.find("A.in")]
    columns = Within(base, np.array([0, 0, 1]))
    listed = [float(10 * q + k) for q, i in enumerate(base.copy) for k in range(2 - int(i))]
    found = columns.by_place(np.array(listed))
    assert found.tolist() == (10.0 * columns.origin + columns.column[columns.copy]).tolist()
    assert columns.visited.tolist() == base.visited[columns.origin].tolist()
    exits = np.flatnonzero((columns.kind == EXIT) & (columns.copy < 2))
    places = columns.columns(np.array([0, 0]), columns.vertex[exits[:2]], np.array([2, 1]))
    assert columns.copy[places].tolist() == [0, 1, 0]


def test_the_last_weight_of_a_mix_is_what_the_others_leave() -> None:
    t = chooser().tables
    copies = Copies(t, np.array([1, 1]))
    x = Numbers(np.array([0.0, 1.0, 2.0, 8.0, 9.0, 10.0]))
    mixes = Mixes(np.array([1, 0]), [[(0, 0.25), (1, 99.0)], [(0, 1.0)]])
    entry = t.component_start[[1, 1]]
    assert mixes.at(copies, x, np.array([0, 1]), entry).near.tolist() == [6.0, 0.0]
