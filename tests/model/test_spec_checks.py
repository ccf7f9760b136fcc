"""One wrong thing at a time: the problem names its place and a fix, and nothing else is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.model.examples import two_exits

import recurl
from recurl.errors import ModelError
from recurl.model.assemble import assemble, disassemble
from recurl.model.builder import start_entries
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

GO = {"go": ActionSpec(0, [EdgeSpec("good")])}


def spec() -> ModelSpec:
    made = disassemble(two_exits().build())
    made.start = start_entries(made, "A")
    return made


def problems(change: Callable[[ModelSpec], object]) -> list[str]:
    wrong = spec()
    change(wrong)
    with pytest.raises(ModelError) as caught:
        assemble(wrong)
    return [str(problem) for problem in caught.value.problems]


def a(model: ModelSpec) -> ComponentSpec:
    return model.components["A"]


NAME = "use printable characters, no dots, no blanks at the ends, at most 250 in all"
TEXT = "use printable characters, no blanks at the ends, at most 250 in all"

CASES: list[tuple[Callable[[ModelSpec], object], str]] = [
    (lambda m: setattr(m, "name", ""), f"name: '' is not a name for a model ({TEXT})"),
    (
        lambda m: setattr(m, "feature_names", ["x", " "]),
        f"feature_names, 1: ' ' is not a name ({TEXT})",
    ),
    (
        lambda m: m.components.update({"C.D": m.components["B"]}),
        f"component C.D: 'C.D' is not a name for a component ({NAME})",
    ),
    (
        lambda m: m.components["B"].exits.append("yes"),
        "component B, yes: the name is used twice (choose another)",
    ),
    (
        lambda m: a(m).vertices.update({"": GO}),
        f"component A, vertex '': '' is not a name for a node ({NAME})",
    ),
    (
        lambda m: a(m).boxes.update({"ask": "C"}),
        "component A, box ask: calls the unknown component 'C' (known components: A, B)",
    ),
    (
        lambda m: m.components["B"].entries.clear(),
        "component B, entries: there is no entry (name at least one)",
    ),
    (
        lambda m: m.components["B"].exits.clear(),
        "component B, exits: there is no exit (name at least one)",
    ),
    (
        lambda m: a(m).vertices.update({"again": GO}),
        "component A, vertex again: is a box, which has no actions of its own "
        "(put them at its return ports, such as again.EXIT)",
    ),
    (
        lambda m: a(m).vertices.update({"ask.in": GO}),
        "component A, vertex ask.in: is a call port and has actions "
        "(it moves on by itself: put the actions at the entry of what it calls)",
    ),
    (
        lambda m: a(m).vertices.update({"ask.yess": GO}),
        "component A, vertex ask.yess: unknown vertex (did you mean 'ask.yes'?)",
    ),
    (
        lambda m: a(m).vertices.update({"bad": GO}),
        "component A, vertex bad: is an exit and has actions "
        "(an exit moves on by itself: remove them)",
    ),
    (
        lambda m: a(m).vertices.pop("again.bad"),
        "component A, vertex again.bad: has no action (add one)",
    ),
    (
        lambda m: a(m).vertices["in"].update({"x": ActionSpec(0, [EdgeSpec("other")])}),
        "component A, vertex in, action x, target other: is an entry, which only a call leads to "
        "(lead to another node)",
    ),
    (
        lambda m: a(m).vertices["in"].update({"x": ActionSpec(0, [EdgeSpec("again")])}),
        "component A, vertex in, action x, target again: calls a component with several entries "
        "(name one as again.in)",
    ),
    (
        lambda m: a(m).vertices["in"].update({"x": ActionSpec(0, [EdgeSpec("ask.no")])}),
        "component A, vertex in, action x, target ask.no: is a return port, which only a return "
        "leads to (lead to a node, or to a call port BOX.ENTRY)",
    ),
    (
        lambda m: a(m).vertices["in"].update({"x": ActionSpec(0, [EdgeSpec("god")])}),
        "component A, vertex in, action x, target god: unknown node or call port "
        "(did you mean 'good'?)",
    ),
    (
        lambda m: a(m).features.update({"god": [1, 2]}),
        "component A, vertex god: unknown vertex (did you mean 'good'?)",
    ),
    (
        lambda m: a(m).labels.update({"zzz": "?"}),
        "component A, vertex zzz: unknown vertex (remove it)",
    ),
    (
        lambda m: a(m).labels.update({"in": "\ud83c"}),
        "component A, vertex in: has half a surrogate pair (write the character itself)",
    ),
    (
        lambda m: a(m).features.update({"in": [1]}),
        "component A, vertex in: has 1 features (feature_names has 2: give as many, in that order)",
    ),
    (
        lambda m: a(m).features.update({"in": [1, float("inf")]}),
        "component A, vertex in: has a feature that is not finite (give finite numbers)",
    ),
    (
        lambda m: setattr(m, "start", {}),
        "start: names 0 components (give entries of exactly one component)",
    ),
    (
        lambda m: setattr(m, "start", {"A.in": "1/2", "B.in": "1/2"}),
        "start: names 2 components (give entries of exactly one component)",
    ),
    (
        lambda m: setattr(m, "start", {"C.in": 1}),
        "start, C: unknown component (known components: A, B)",
    ),
    (
        lambda m: setattr(m, "start", {"A.in": 1, "A.othr": 0}),
        "start, A.othr: unknown entry (did you mean 'A.other'?)",
    ),
    (
        lambda m: setattr(m, "start", {"A.in": "1/2"}),
        "start: probabilities sum to 0.5 (make them sum to 1)",
    ),
    (
        lambda m: setattr(m, "start", {"A.in": 2, "A.other": -1}),
        "start: a probability is not in [0, 1] (make them sum to 1)",
    ),
    (
        lambda m: setattr(m, "start", {"A.in": "one"}),
        "start: probability: 'one' is not a finite decimal, integer or fraction such as 1/3 "
        "(give a finite number)",
    ),
]


@pytest.mark.parametrize(("change", "problem"), CASES, ids=[text[:60] for _, text in CASES])
def test_one_wrong_thing_is_one_problem(
    change: Callable[[ModelSpec], object], problem: str
) -> None:
    assert problems(change) == [problem]


def test_all_wrong_things_are_reported_at_once() -> None:
    def everything(model: ModelSpec) -> None:
        a(model).boxes["ask"] = "C"
        a(model).vertices["in"]["go"].reward = "much"
        a(model).vertices["other"]["go"].edges[0].prob = "1/4"
        model.components["B"].vertices["mid"]["answer"].edges[0].target = "maybe"
        model.start = {"B.out": 1}

    places = [text.partition(":")[0] for text in problems(everything)]
    assert places == [
        "component A, box ask",
        "component A, vertex in, action go, reward",
        "component A, vertex other, action go",
        "component B, vertex mid, action answer, target maybe",
        "start, B.out",
    ]


def test_paths_lead_to_the_place_in_a_document() -> None:
    wrong = spec()
    a(wrong).vertices["in"]["go"].edges[0].target = "nowhere"
    with pytest.raises(ModelError) as caught:
        assemble(wrong)
    (problem,) = caught.value.problems
    assert problem.path == ("components", "A", "vertices", "in", "go", "to", "nowhere")


def test_entries_without_their_component_as_a_start() -> None:
    builder = recurl.Builder("two").component("A", entries=["one", "other"], exits="x")
    builder.at("one").action("go").to("x").at("other").action("go").to("x")
    with pytest.raises(ModelError, match=r"entries are written 'component.entry': 'A.one'"):
        builder.build({"one": 0.5, "other": 0.5})
