from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.model.document.texts import FULL

from recurl.model.document.events import UnreadableError, json_events, yaml_events
from recurl.model.document.tree import find_lines, json_tree, yaml_tree
from recurl.model.report import Report

leaves = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
trees = st.dictionaries(
    leaves,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(leaves, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(trees)
def test_json_is_read_as_written(tree: dict[str, object]) -> None:
    report = Report()
    assert json_tree(json.dumps(tree), report) == tree
    assert json_tree(json.dumps(tree, ensure_ascii=False, indent=1), report) == tree
    assert report.problems == []


@given(trees)
def test_yaml_is_read_as_written(tree: dict[str, object]) -> None:
    for style in (True, False, None):
        text = yaml.dump(tree, default_flow_style=style, default_style='"')
        report = Report()
        assert yaml_tree(text, report) == tree
        assert report.problems == []


def test_numbers_of_json_keep_their_digits() -> None:
    tree = json_tree('{"a": 0.10, "b": 1e-5, "c": 12345678901234567890123, "d": -0.0}', Report())
    assert tree == {"a": "0.10", "b": "1e-5", "c": 12345678901234567890123, "d": "-0.0"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1, "a": 2}', [(("a",), 1)]),
        ('{"b": {"c": 1,\n"c": 2},\n"b": 3}', [(("b", "c"), 2), (("b",), 3)]),
        ('{"b": [{"c": 1}, {"c": 2, "c" : 3}]}', [(("b", 1, "c"), 1)]),
        ('{"b": "\\"a\\": 1", "a": ":"}', []),
    ],
)
def test_keys_that_come_twice_are_reported(text: str, found: list[object]) -> None:
    for read in (json_tree, yaml_tree):
        report = Report()
        read(text, report)
        assert [(problem.path, problem.line) for problem in report.problems] == found
        assert {problem.message for problem in report.problems} <= {"the key comes twice"}


def test_a_file_with_very_many_keys_is_not_read_to_its_end() -> None:
    text = "".join(f"k{i}: v\n" for i in range(200)) + "["
    with pytest.raises(UnreadableError, match="too many keys"):
        yaml_tree(text, Report())


LINES = {
    (): 1,
    ("name",): 3,
    ("start", "T.x"): 4,
    ("components", "T", "vertices", "u1", "divide"): 14,
    ("components", "T", "vertices", "u1", "divide", "to"): 14,
    ("components", "T", "vertices", "b1.u5", "yes", "to", 1, "p"): 20,
    ("components", "S"): 24,
    ("components", "S", "boxes", "b9"): 24,
    ("components", "X", "exits"): 6,
    ("nowhere",): 1,
}


def test_lines_of_paths_or_of_what_is_nearest_above() -> None:
    assert find_lines(yaml_events(FULL), LINES) == LINES


def test_lines_of_json_paths() -> None:
    text = '{"a": 1,\n"b": {"c": [1,\n2]},\n"d": 3}'
    paths = {("a",): 1, ("b", "c"): 2, ("b", "c", 1): 3, ("d",): 4, ("b", "x"): 2}
    assert find_lines(json_events(text), paths) == paths


def test_lines_before_a_break_are_still_found() -> None:
    assert find_lines(yaml_events("a: 1\nb: 2\nc: *x\n"), [("b",), ("d",)]) == {
        ("b",): 2,
        ("d",): 1,
    }
