from __future__ import annotations

from fractions import Fraction

import pytest
from tests.model.examples import server, two_exits

from recurl.errors import ModelError
from recurl.model.builder import Builder, start_entries
from recurl.model.spec import ComponentSpec, ModelSpec


def test_a_model_reads_as_it_was_written() -> None:
    model = server()
    t = model.tables
    assert [model.vertex_name(v) for v in range(t.n_vertices)] == [
        "S.start", "S.done", "S.retry.start", "S.retry.done",
    ]  # fmt: skip
    assert t.action_start.tolist() == [0, 2, 2, 2, 3]
    assert t.transition_start.tolist() == [0, 2, 3, 4]
    assert t.target.tolist() == [2, 1, 1, 1]
    assert t.prob.tolist() == [0.4, 0.6, 1.0, 1.0]
    assert t.reward.tolist() == [-1, -1, -2, 0]
    assert model.action_names(0) == ["fast", "safe"]
    assert (t.start_component, t.start_prob.tolist()) == (0, [1.0])


def test_several_entries_exits_parallel_transitions_and_their_rewards() -> None:
    model = two_exits().build(start={"A.in": "1/4", "A.other": 0.75})
    t = model.tables
    assert t.start_prob.tolist() == [0.25, 0.75]
    first = t.transition_start[t.action_start[model.find("B.in")]]
    assert t.target[first] == t.target[first + 1] == model.find("B.mid")
    assert t.reward[first : first + 2].tolist() == [0, 2]
    other = t.transition_start[t.action_start[model.find("A.other")]]
    assert [model.vertex_name(v) for v in t.target[other : other + 2]] == [
        "A.ask.in",
        "A.again.in",
    ]
    assert [model.exact.prob(other + i) for i in range(2)] == [Fraction(1, 3), Fraction(2, 3)]
    assert t.reward[other : other + 2].tolist() == [0, 5]
    assert model.features is not None
    assert model.features[model.find("A.in")].tolist() == [1, 2]
    assert model.label(model.find("A.in")) == "the first"
    assert model.label(model.find("A.other")) == "A.other"


def test_a_vertex_may_be_returned_to() -> None:
    builder = Builder().component("A", entries="in", exits="out")
    builder.at("in").action("a").to("mid").at("mid").action("b").to("out")
    builder.at("in").action("c").to("out")
    model = builder.build()
    assert model.action_names(model.find("A.in")) == ["a", "c"]


@pytest.mark.parametrize(
    ("start", "entries"),
    [
        (None, {"A.in": 1}),
        ("A", {"A.in": 1}),
        ("B.x", {"B.x": 1}),
        ({"A": "1/2", "A.on": "1/2"}, {"A.in": "1/2", "A.on": "1/2"}),
        ("nowhere", {"nowhere": 1}),
    ],
)
def test_the_forms_of_a_start(start: object, entries: dict[str, object]) -> None:
    spec = ModelSpec(
        components={"A": ComponentSpec(["in", "on"], ["out"]), "B": ComponentSpec(["x"], ["y"])}
    )
    assert start_entries(spec, start) == entries


def test_words_out_of_order_are_refused_with_what_to_say_first() -> None:
    with pytest.raises(ValueError, match=r"call \.component\(\) first"):
        Builder().at("x")
    with pytest.raises(ValueError, match=r"call \.component\(\) first"):
        Builder().box("b", "A")
    part = Builder().component("A", entries="in", exits="out")
    with pytest.raises(ValueError, match=r"call \.at\(vertex\) first"):
        part.action("a")
    with pytest.raises(ValueError, match=r"call \.action\(\) first"):
        part.at("in").to("out")


def test_the_same_name_twice_is_refused() -> None:
    part = Builder().component("A", entries="in", exits="out").box("b", "A")
    with pytest.raises(ValueError, match="component 'A' is there already"):
        part.component("A", entries="in", exits="out")
    with pytest.raises(ValueError, match="box 'b' is there already"):
        part.box("b", "A")
    with pytest.raises(ValueError, match="action 'a' is there already at in"):
        part.at("in").action("a").to("out").action("a")


def test_an_empty_builder_has_one_problem() -> None:
    with pytest.raises(ModelError, match="there is no component") as caught:
        Builder().build()
    assert len(caught.value.problems) == 1
