from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.model.examples import two_exits
from tests.strategies import models

from recurl.model.assemble import disassemble
from recurl.model.document.writer import write_json, write_yaml
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

TWO_EXITS = """\
recurl: 1
name: "two exits"
start: {A.in: 1/4, A.other: 0.75}
feature_names: [x, "y"]
components:
  A:
    entries: [in, other]
    exits: [good, bad]
    boxes: {ask: B, again: A}
    vertices:
      in:
        go: {reward: 1, to: ask}
      other:
        go: {to: {ask: {p: 1/3, reward: 0}, again.in: {p: 2/3, reward: 5}}}
      ask.yes:
        end: {to: good}
      ask.no:
        end: {to: bad}
        retry: {reward: -1/7, to: again.other}
      again.good:
        end: {to: good}
      again.bad:
        end: {to: bad}
    features:
      in: [1.0, 2.0]
    labels:
      in: "the first"
  B:
    entries: [in]
    exits: ["yes", "no"]
    vertices:
      in:
        think: {to: [{target: mid, p: 0.5, reward: 0}, {target: mid, p: 0.5, reward: 2}]}
      mid:
        answer: {to: {"yes": 0.25, "no": 0.75}}
"""


def test_yaml_for_people() -> None:
    model = two_exits().build(start={"A.in": "1/4", "A.other": 0.75})
    assert write_yaml(disassemble(model)) == TWO_EXITS


@given(models())
def test_json_says_the_same_as_yaml(model: RMDP) -> None:
    def texts(tree: object) -> object:
        if isinstance(tree, dict):
            return {key: texts(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return [texts(value) for value in tree]
        return tree

    spec = disassemble(model)
    in_json = json.loads(write_json(spec), parse_float=str, parse_int=str)
    in_yaml = yaml.load(write_yaml(spec), yaml.BaseLoader)  # noqa: S506
    assert texts(in_json) == texts(in_yaml)


@given(models())
def test_other_readers_of_yaml_see_names_as_text(model: RMDP) -> None:
    spec = disassemble(model)
    tree = yaml.safe_load(write_yaml(spec))
    assert list(tree["components"]) == list(spec.components)
    for name, component in spec.components.items():
        assert tree["components"][name]["entries"] == component.entries
        assert list(tree["components"][name]["vertices"]) == list(component.vertices)


def one(reward: object = 0, prob: object = 1, start: str = "A.in") -> ModelSpec:
    action = ActionSpec(reward, [EdgeSpec("out", prob)])
    part = ComponentSpec(["in", "on"], ["out"], vertices={"in": {"go": action}})
    return ModelSpec("m", {start: 1}, {"A": part})


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (one(), "go: {to: out}"),
        (one("1/3"), "go: {reward: 1/3, to: out}"),
        (one("0.0"), "go: {to: out}"),
        (one(prob="0.9999999999"), "go: {to: {out: 0.9999999999}}"),
        (one(start="A.in"), "start: A"),
        (one(start="A.on"), "start: A.on"),
    ],
)
def test_short_forms(spec: ModelSpec, line: str) -> None:
    assert line in [text.strip() for text in write_yaml(spec).splitlines()]


def test_many_boxes_have_a_line_each() -> None:
    spec = one()
    spec.components["A"].boxes = {f"b{i}": "A" for i in range(9)}
    assert "    boxes:\n      b0: A\n      b1: A\n" in write_yaml(spec)


@pytest.mark.parametrize(
    ("number", "text"),
    [("1/3", '"1/3"'), (".5", '".5"'), ("5.", '"5."'), ("+1", '"+1"'), ("007", '"007"')]
    + [(n, n) for n in ("-1.50", "1e-05", "2E+10", "0")],
)
def test_numbers_that_json_has_and_has_not(number: str, text: str) -> None:
    assert f'"out": {{"p": {text}, "reward": 1}}' in write_json(spec_with(number))


def spec_with(prob: str) -> ModelSpec:
    spec = one()
    spec.components["A"].vertices["in"]["go"] = ActionSpec(0, [EdgeSpec("out", prob, "1")])
    return spec


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_in_labels(text: str) -> None:
    spec = one()
    spec.components["A"].labels = {"in": text}
    for tree in (yaml.safe_load(write_yaml(spec)), json.loads(write_json(spec))):
        assert tree["components"]["A"]["labels"] == {"in": text}
