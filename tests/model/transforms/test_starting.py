"""Models whose runs start elsewhere."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.definition import State, binary, landing, models, value_after

import recurl
from recurl.errors import QuestionError, UnknownNameError
from recurl.model.tables import CALL, EXIT, RETURN

Place = tuple[str, list[str], int, State]
"""Vertex and boxes by name, the component whose exits end the run, and where it first decides."""


def draw_place(model: recurl.RMDP, data: st.DataObject) -> Place:
    """A vertex with a stack of at most three boxes; the state is None if the run is over there."""
    t, names = model.tables, model.names
    vertex = data.draw(st.integers(0, t.n_vertices - 1))
    name, component, stack = model.vertex_name(vertex), int(t.vertex_component[vertex]), []
    for _ in range(data.draw(st.integers(0, 3))):
        calling = [b for b in range(t.n_boxes) if t.box_component[b] == component]
        if calling:
            stack.insert(0, data.draw(st.sampled_from(calling)))
            component = int(t.box_owner[stack[0]])
    boxes = [f"{names.components[t.box_owner[b]]}.{names.boxes[b]}" for b in stack]
    state: State = (tuple(stack), vertex)
    while state is not None and t.vertex_kind[state[1]] in (CALL, EXIT):
        state = landing(model, *state)
    return name, boxes, component, state


@settings(max_examples=40)
@given(models(), st.data())
def test_runs_are_those_from_the_stack_and_the_vertex(
    model: recurl.RMDP, data: st.DataObject
) -> None:
    vertex, boxes, component, state = draw_place(model, data)
    other, t = recurl.start_at(model, vertex, boxes), model.tables
    new = other.tables
    assert [other.local_name(v) for v in new.exits_of(new.start_component)] == [
        model.local_name(v) for v in t.exits_of(component)
    ]
    worth = [3**k for k in range(t.n_exits[component])]
    for horizon in (1, 2):
        found = value_after(other, horizon, worth=worth)
        if state is None:
            assert other.exact.reward_range[0] <= 0
            assert found in worth
        else:
            assert found == value_after(model, horizon, start=state, worth=worth)


@settings(max_examples=40)
@given(models(), st.data())
def test_models_are_valid_and_of_the_same_kind(model: recurl.RMDP, data: st.DataObject) -> None:
    vertex, boxes, *_ = draw_place(model, data)
    other = recurl.start_at(model, vertex, boxes)
    binary(other)  # checks every rule of arrays
    assert recurl.loads(recurl.dumps(other)) == other
    assert other.kind.one_exit == model.kind.one_exit
    assert other.kind.hierarchical == model.kind.hierarchical


def test_numbers_stay_fractions_or_floats() -> None:
    model = recurl.zoo.cloud()
    assert not recurl.start_at(model, "H.b6.u6").exact.binary
    assert recurl.start_at(binary(model), "c2.b0.n1", ["c1.b0"]).exact.binary


def test_an_entry_adds_nothing() -> None:
    model = recurl.zoo.cloud()
    other = recurl.start_at(model, "H.u5")
    assert other.tables.n_vertices == model.tables.n_vertices
    assert other.start_exact() == {model.find("H.u5"): Fraction(1)}
    assert recurl.start_at(other, "T.u1") == model


def test_features_and_labels_are_kept() -> None:
    plain = recurl.zoo.countdown()
    t = plain.tables
    model = recurl.RMDP(
        plain.name,
        t,
        plain.names,
        exact=plain.exact,
        features=[[float(v), 1.0] for v in range(t.n_vertices)],
        feature_names=["place", "one"],
        labels={v: f"line {v}" for v in range(t.n_vertices)},
    )
    port = next(v for v in range(t.n_vertices) if t.vertex_kind[v] == RETURN)
    other = recurl.start_at(model, model.vertex_name(port))
    start = int(other.tables.starts[0])
    assert other.label(start) == f"line {port}"
    assert other.features is not None
    assert other.features[start].tolist() == [port, 1]


@pytest.mark.parametrize(
    ("vertex", "stack", "error", "words"),
    [
        ("H.u9", [], UnknownNameError, "vertex of component H"),
        ("X.u5", [], UnknownNameError, "component"),
        ("H.u5", ["T.b9"], UnknownNameError, "T.b3"),
        ("H.u5", ["T.b1"], QuestionError, "H.u5 lies in component H, .* calls S"),
        ("H.u5", ["S.b4", "S.b4"], QuestionError, "S.b4 lies in component S, .* calls H"),
        ("H.u5", "S.b4", TypeError, "list of names"),
        (5, [], TypeError, "name of a vertex"),
    ],
)
def test_what_does_not_fit(
    vertex: str, stack: list[str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        recurl.start_at(recurl.zoo.cloud(), vertex, stack)
