from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.model.examples import server
from tests.strategies import as_arrays, models

from recurl.errors import UnknownNameError
from recurl.model.names import Names, Numbered, is_name, is_text, unused_name
from recurl.model.rmdp import RMDP


@pytest.mark.parametrize("name", ["u3", "yes", "1", "ä b", "🎲", "x" * 250, "<<"])
def test_names(name: str) -> None:
    assert is_name(name)
    assert is_text(name)


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "\ud800", "\u2028", "x" * 251, 3, None])
def test_what_is_neither_name_nor_text(name: object) -> None:
    assert not is_name(name)
    assert not is_text(name)


def test_a_dot_is_for_ports() -> None:
    assert is_text("b1.u4")
    assert not is_name("b1.u4")


def test_numbered_names_are_a_sequence() -> None:
    names = Numbered("n", np.array([3, 4, 9]))
    assert len(names) == 3
    assert names[2] == "n9"
    assert list(names[1:]) == ["n4", "n9"]
    assert "n4" in names


@given(models())
def test_every_vertex_is_found_by_its_name(model: RMDP) -> None:
    for vertex in range(model.tables.n_vertices):
        assert model.find(model.vertex_name(vertex)) == vertex


@given(models())
def test_ports_are_named_by_box_and_node_of_the_component_called(model: RMDP) -> None:
    t, names = model.tables, model.names
    for box in range(t.n_boxes):
        callee = int(t.box_component[box])
        for j in range(t.n_entries[callee]):
            entry = names.local(int(t.component_start[callee]) + j)
            assert names.local(int(t.box_call[box]) + j) == f"{names.boxes[box]}.{entry}"
        for k in range(t.n_exits[callee]):
            end = names.local(int(t.component_start[callee] + t.n_entries[callee]) + k)
            assert names.local(int(t.box_return[box]) + k) == f"{names.boxes[box]}.{end}"


@given(models())
def test_numbered_names_count_within_the_component(model: RMDP) -> None:
    names = Names.numbered(model.tables)
    numbered = as_arrays(model)
    t = model.tables
    for vertex in np.flatnonzero(t.vertex_box < 0):
        c = int(t.vertex_component[vertex])
        assert names.vertex(vertex) == f"c{c}.n{vertex - t.component_start[c]}"
        assert numbered.vertex_name(vertex) == names.vertex(vertex)
    for vertex in range(t.n_vertices):
        count = int(t.action_start[vertex + 1] - t.action_start[vertex])
        assert list(numbered.action_names(vertex)) == [f"a{i}" for i in range(count)]


def test_unknown_names_are_answered_with_close_ones() -> None:
    model = server()
    with pytest.raises(UnknownNameError, match="Unknown component 'R'"):
        model.find("R.start")
    with pytest.raises(UnknownNameError, match="Did you mean 'start'"):
        model.find("S.strat")


def test_an_unused_name_is_found_among_any() -> None:
    assert unused_name("lane", set()) == "lane"
    assert unused_name("lane", {"lane", *(f"lane{i}" for i in range(2, 50))}) == "lane50"
