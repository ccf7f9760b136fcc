from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.model.document.texts import FULL

from recurl.model.document.events import (
    END,
    LIST,
    MAPPING,
    SCALAR,
    Event,
    UnreadableError,
    json_events,
    yaml_events,
)

values = st.recursive(
    st.one_of(st.text(max_size=6), st.integers(), st.booleans(), st.none()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def events_of(value: object) -> list[tuple[int, str]]:
    """The events that a value should have."""
    if isinstance(value, dict):
        inner = [e for k, v in value.items() for e in [(SCALAR, k), *events_of(v)]]
        return [(MAPPING, ""), *inner, (END, "")]
    if isinstance(value, list):
        return [(LIST, ""), *(e for v in value for e in events_of(v)), (END, "")]
    return [(SCALAR, value if isinstance(value, str) else json.dumps(value))]


@given(values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_json_events_are_those_of_the_value(value: object, indent: object, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert [(kind, text) for kind, text, _ in json_events(text)] == events_of(value)


def test_lines_of_json_are_counted() -> None:
    text = '{\n"a": [1,\n2], "b\\n":\n\n"c"}'
    assert [(text, line) for kind, text, line in json_events(text) if kind == SCALAR] == [
        ("a", 2), ("1", 2), ("2", 3), ("b\n", 3), ("c", 5),
    ]  # fmt: skip


def plain(events: list[Event]) -> list[tuple[int, str]]:
    return [(kind, text) for kind, text, _ in events]


def test_yaml_and_json_have_the_same_events() -> None:
    tree = yaml.load(FULL, yaml.BaseLoader)  # noqa: S506
    assert plain(list(yaml_events(FULL))) == events_of(tree)
    assert plain(list(json_events(json.dumps(tree)))) == events_of(tree)


def test_the_python_parser_serves_where_libyaml_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = list(yaml_events(FULL))
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert list(yaml_events(FULL)) == quick
    for text in ("a: *x", "a: !t b", "<<: b", "a: 1\n---\nb: 1", "a: \x01", "a: [", "a: 'b"):
        with pytest.raises(UnreadableError):
            list(yaml_events(text))


def test_words_stay_words() -> None:
    text = "{yes: no, null: ~, 012: 1_000, 1:30: .inf, 2001-01-01: 0x1F, '': , \"<<\": x}"
    assert [text for kind, text, _ in yaml_events(text) if kind == SCALAR] == [
        "yes", "no", "null", "~", "012", "1_000", "1:30", ".inf", "2001-01-01",
        "0x1F", "", "", "<<", "x",
    ]  # fmt: skip


def test_an_unreadable_text_says_where() -> None:
    with pytest.raises(UnreadableError, match="aliases") as caught:
        list(yaml_events("a: 1\nb: *c\n"))
    assert caught.value.problem.line == 2
