from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from tests.model.document.texts import FULL
from tests.strategies import models

import recurl
from recurl.errors import DocumentError
from recurl.model.document.schema import schema
from recurl.model.rmdp import RMDP

VALIDATOR = jsonschema.Draft202012Validator(schema())

Tree = dict[str, Any]


def full() -> Tree:
    tree: Tree = yaml.load(FULL, yaml.BaseLoader)  # noqa: S506
    return tree


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(json.dumps(schema())) == schema()


def test_every_call_gives_a_schema_of_its_own() -> None:
    schema()["properties"].clear()
    assert schema()["properties"]


@given(models())
def test_everything_that_is_written_is_valid(model: RMDP) -> None:
    VALIDATOR.validate(json.loads(recurl.dumps(model, "json")))
    VALIDATOR.validate(yaml.safe_load(recurl.dumps(model)))


def test_the_whole_format_is_valid() -> None:
    VALIDATOR.validate(full())
    VALIDATOR.validate(yaml.safe_load(FULL.replace("yes:", '"yes":').replace("no:", '"no":')))


def component(tree: Tree) -> Tree:
    part: Tree = tree["components"]["T"]
    return part


def put(tree: Tree, value: object, *path: str) -> None:
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


MONO = ("components", "T", "vertices", "u1", "mono")

BREACHES: dict[str, Callable[[Tree], object]] = {
    "no version": lambda t: t.pop("recurl"),
    "another version": lambda t: put(t, 2, "recurl"),
    "no components": lambda t: t.pop("components"),
    "empty components": lambda t: put(t, {}, "components"),
    "unknown key": lambda t: put(t, 1, "kind"),
    "unknown key of a component": lambda t: put(t, [], "components", "T", "nodes"),
    "unknown key of an action": lambda t: put(t, 1, *MONO, "cost"),
    "unknown key of a transition": lambda t: put(t, {"p": 1, "cost": 1}, *MONO, "to", "u2"),
    "name with a dot": lambda t: put(t, component(t), "components", "a.b"),
    "name with blanks": lambda t: put(t, component(t), "components", " a"),
    "empty name": lambda t: put(t, [""], "components", "T", "exits"),
    "no entries": lambda t: component(t).pop("entries"),
    "no exits": lambda t: put(t, [], "components", "T", "exits"),
    "no vertices": lambda t: component(t).pop("vertices"),
    "component is text": lambda t: put(t, "x", "components", "T"),
    "boxes are a list": lambda t: put(t, ["b1"], "components", "T", "boxes"),
    "box calls a list": lambda t: put(t, ["S"], "components", "T", "boxes", "b1"),
    "vertices are a list": lambda t: put(t, [], "components", "T", "vertices"),
    "action is a list": lambda t: put(t, ["u2"], *MONO),
    "action is true": lambda t: put(t, True, *MONO),
    "action leads nowhere": lambda t: put(t, {"reward": 1}, *MONO),
    "no transitions": lambda t: put(t, [], *MONO, "to"),
    "reward is a word": lambda t: put(t, "much", *MONO, "reward"),
    "reward is null": lambda t: put(t, None, *MONO, "reward"),
    "reward is a list": lambda t: put(t, [1], *MONO, "reward"),
    "probability is a word": lambda t: put(t, {"u2": "some"}, *MONO, "to"),
    "transition without target": lambda t: put(t, [{"p": 1}], *MONO, "to"),
    "transition is text": lambda t: put(t, ["u2"], *MONO, "to"),
    "features are text": lambda t: put(t, "1", "components", "T", "features", "u1"),
    "feature is a word": lambda t: put(t, ["x", 1], "components", "T", "features", "u1"),
    "label is a list": lambda t: put(t, ["x"], "components", "T", "labels", "u1"),
    "start is a list": lambda t: put(t, ["T"], "start"),
    "start is empty": lambda t: put(t, {}, "start"),
    "numbers of another kind": lambda t: put(t, "hex", "numbers"),
    "name is a list": lambda t: put(t, ["a"], "name"),
    "feature name is empty": lambda t: put(t, [""], "feature_names"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_schema_and_reader_refuse_the_same(breach: str) -> None:
    tree = full()
    if breach == "unknown key of a transition":
        put(tree, {"u2": 1}, *MONO, "to")
    BREACHES[breach](tree)
    assert not VALIDATOR.is_valid(tree)
    with pytest.raises(DocumentError):
        recurl.loads(json.dumps(tree))
