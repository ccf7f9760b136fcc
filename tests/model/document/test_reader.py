from __future__ import annotations

import pytest
import yaml
from tests.model.document.texts import FULL

from recurl.model.document.reader import read_model
from recurl.model.report import Report
from recurl.model.spec import ActionSpec, EdgeSpec, ModelSpec


def read(text: str) -> tuple[ModelSpec | None, list[str]]:
    report = Report()
    spec = read_model(yaml.load(text, yaml.BaseLoader), report)  # noqa: S506
    return spec, [str(problem) for problem in report.problems]


def test_all_of_the_format() -> None:
    spec, problems = read(FULL)
    assert problems == []
    assert spec is not None
    assert (spec.name, spec.binary, spec.feature_names) == ("tour", False, ["row", "column"])
    assert spec.start == {"T.u1": "1/2", "T.x": "0.5"}
    t = spec.components["T"]
    assert (t.entries, t.exits, t.boxes) == (["u1", "x"], ["u2"], {"b1": "S"})
    assert t.vertices["u1"]["mono"] == ActionSpec("-8", [EdgeSpec("u2", "1")])
    assert t.vertices["x"]["short"] == ActionSpec("0", [EdgeSpec("u2", "1")])
    assert t.vertices["b1.u4"]["next"] == ActionSpec("0", [EdgeSpec("u2", "1")])
    assert t.vertices["b1.u5"]["yes"] == ActionSpec(
        "3", [EdgeSpec("u2", "1/2", "1"), EdgeSpec("u2", "1/2")]
    )
    assert t.vertices["b1.u5"]["no"] == ActionSpec("0", [EdgeSpec("u2", "1e0")])
    assert t.features == {"u1": [0, 1.5], "u2": [0.5, -0.001]}
    assert t.labels == {"u1": "line 3", "b1.u3": "calls"}
    reward = spec.components["S"].vertices["u3"]["x"].edges[0].reward
    assert reward == "2"


def test_defaults() -> None:
    spec, _ = read("recurl: 1\ncomponents: {A: {entries: in, exits: out}}")
    assert spec is not None
    assert (spec.name, spec.start, spec.feature_names, spec.binary) == (
        "model",
        {"A.in": 1},
        [],
        False,
    )


def test_binary_numbers() -> None:
    spec, _ = read("recurl: 1\nnumbers: binary")
    assert spec is not None
    assert spec.binary


def test_integers_of_json_are_names_and_numbers() -> None:
    go = {"reward": 2, "to": {"2": 1}}
    part = {"entries": [1], "exits": 2, "vertices": {"1": {"a": go, "b": {"to": 2}, "c": 2}}}
    report = Report()
    spec = read_model({"recurl": 1, "start": 7, "components": {"7": part}}, report)
    assert report.problems == []
    assert spec is not None
    made = spec.components["7"]
    assert (made.entries, made.exits, spec.start) == (["1"], ["2"], {"7.1": 1})
    plain = ActionSpec("0", [EdgeSpec("2", "1")])
    assert made.vertices["1"] == {
        "a": ActionSpec("2", [EdgeSpec("2", "1")]),
        "b": plain,
        "c": plain,
    }


ACTION = "component A, vertex in, action go"


def document(action: str) -> str:
    vertices = f"{{in: {{go: {action}}}}}"
    return f"recurl: 1\ncomponents: {{A: {{entries: in, exits: out, vertices: {vertices}}}}}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (document("[out]"), f"{ACTION}: is a list, not a mapping (write KEY: VALUE)"),
        (
            document("{to: out, costs: 1}"),
            f"{ACTION}, costs: unknown key (known keys: reward, to)",
        ),
        (
            document("{to: out, rward: 1}"),
            f"{ACTION}, rward: unknown key (did you mean 'reward'?)",
        ),
        (
            document("{to: out, reward: {a: b}}"),
            f"{ACTION}, reward: is a mapping, not a number "
            "(write a decimal, an integer or a fraction such as 1/3)",
        ),
        (
            document("{to: {out: {p: 1, prize: 3}}}"),
            f"{ACTION}, target out, prize: unknown key (known keys: p, reward)",
        ),
        (
            document("{to: {out: {p: [1]}}}"),
            f"{ACTION}, target out, p: is a list, not a number "
            "(write a decimal, an integer or a fraction such as 1/3)",
        ),
        (document("{to: [out]}"), f"{ACTION}, target 0: is text, not a mapping (write KEY: VALUE)"),
        (
            document("{to: [{target: [a]}]}"),
            f"{ACTION}, target 0, target: is a list, not text "
            "(write one word, in quotes if need be)",
        ),
        (
            "recurl: 1\nnumbers: hex",
            "numbers: 'hex' is not a kind of numbers (write decimal or binary)",
        ),
        (
            "recurl: 1\nname: [a]",
            "name: is a list, not text (write one word, in quotes if need be)",
        ),
        ("recurl: 1\nstart: [a]", "start: is a list, not a mapping (write KEY: VALUE)"),
        (
            "recurl: 1\nfeature_names: {a: b}",
            "feature_names: is a mapping, not a list of names (write [NAME, NAME])",
        ),
        (
            "recurl: 1\ncomponents: {A: {boxes: [b]}}",
            "component A, boxes: is a list, not a mapping (write KEY: VALUE)",
        ),
        (
            "recurl: 1\ncomponents: {A: {features: {in: 3}}}",
            "component A, vertex in: is text, not a list (write [NUMBER, NUMBER])",
        ),
        (
            "recurl: 1\ncomponents: {A: {labels: {in: [3]}}}",
            "component A, vertex in: is a list, not text (write one word, in quotes if need be)",
        ),
        ("recurl: 1\ncomponents: {A: x}", "component A: is text, not a mapping (write KEY: VALUE)"),
        (
            "recurl: 1\nkomponents: {}",
            "komponents: unknown key (did you mean 'components'?)",
        ),
    ],
)
def test_values_of_the_wrong_kind(text: str, problem: str) -> None:
    spec, problems = read(text)
    assert spec is not None
    assert problems[0] == problem


def test_a_misspelt_key_is_read_as_what_it_resembles() -> None:
    spec, problems = read("recurl: 1\ncomponent: {A: {entry: in, exit: out}}")
    assert len(problems) == 3
    assert spec is not None
    assert spec.components["A"].exits == ["out"]


@pytest.mark.parametrize("text", ["a: b", "recurl: 7", "recurl: [1]"])
def test_other_documents_are_not_read_at_all(text: str) -> None:
    spec, problems = read(text)
    assert spec is None
    assert len(problems) == 1
