"""From a specification to a text: YAML or JSON, with one action per line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recurl.model.document.pieces import VERSION

if TYPE_CHECKING:
    from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec, Number

_ONE = {"1", "1.0"}
_ZERO = {"0", "0.0"}
_MOST_IN_LINE = 8
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
# Other readers of YAML take these for truth values and nothing.
_RESERVED = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class _Num:
    """A number in a tree, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class _Block:
    """A mapping in a tree that is written one entry to a line."""

    items: dict[str, Any]


def write_yaml(spec: ModelSpec) -> str:
    """The YAML text of a specification."""
    return "\n".join(_yaml_lines(_model(spec).items, "")) + "\n"


def write_json(spec: ModelSpec) -> str:
    """The JSON text of a specification."""
    return "\n".join(_json_lines("", _model(spec), "")) + "\n"


# The tree of a document


def _model(spec: ModelSpec) -> _Block:
    items: dict[str, Any] = {"recurl": _Num(VERSION), "name": spec.name, "start": _start(spec)}
    if spec.binary:
        items["numbers"] = "binary"
    if spec.feature_names:
        items["feature_names"] = spec.feature_names
    components = {name: _component(component) for name, component in spec.components.items()}
    return _Block({**items, "components": _Block(components)})


def _start(spec: ModelSpec) -> Any:
    """The start in its shortest form: a component, an entry, or a distribution."""
    if len(spec.start) > 1 or str(next(iter(spec.start.values()))) not in _ONE:
        return {name: _Num(str(p)) for name, p in spec.start.items()}
    (name,) = spec.start
    component, _, entry = name.partition(".")
    return component if entry == spec.components[component].entries[0] else name


def _component(spec: ComponentSpec) -> _Block:
    vertices = {name: _Block(_actions(actions)) for name, actions in spec.vertices.items()}
    items: dict[str, Any] = {"entries": spec.entries, "exits": spec.exits}
    if spec.boxes:
        items["boxes"] = _fitting(spec.boxes)
    items["vertices"] = _Block(vertices)
    if spec.features:
        rows = {name: [_Num(repr(x)) for x in row] for name, row in spec.features.items()}
        items["features"] = _Block(rows)
    if spec.labels:
        items["labels"] = _Block(dict(spec.labels))
    return _Block(items)


def _fitting(items: Mapping[str, Any]) -> Any:
    return dict(items) if len(items) <= _MOST_IN_LINE else _Block(dict(items))


def _actions(actions: dict[str, ActionSpec]) -> dict[str, Any]:
    return {name: _action(action) for name, action in actions.items()}


def _action(action: ActionSpec) -> dict[str, Any]:
    reward = str(action.reward)
    paid = {} if reward in _ZERO else {"reward": _Num(reward)}
    return {**paid, "to": _edges(action.edges)}


def _edges(edges: list[EdgeSpec]) -> Any:
    """Transitions in their shortest form: a target, a mapping, or, if some are parallel, a list."""
    if len(edges) == 1 and edges[0].reward is None and str(edges[0].prob) in _ONE:
        return edges[0].target
    if len({edge.target for edge in edges}) < len(edges):
        return [{"target": edge.target, **_weight(edge.prob, edge.reward)} for edge in edges]
    return {
        edge.target: _Num(str(edge.prob))
        if edge.reward is None
        else _weight(edge.prob, edge.reward)
        for edge in edges
    }


def _weight(prob: Number, reward: Number | None) -> dict[str, Any]:
    weight = {"p": _Num(str(prob))}
    return weight if reward is None else {**weight, "reward": _Num(str(reward))}


# Its text


@dataclass(frozen=True, slots=True)
class _Style:
    """How a format spells text and numbers."""

    text: Callable[[str], str]
    number: Callable[[str], str]


def _yaml_text(text: str) -> str:
    """Text without quotes where every reader of YAML takes it for text, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    return '"' + "".join(map(_yaml_character, text)) + '"'


def _yaml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_number(text: str) -> str:
    """A number where JSON has it, else text: fractions, and decimals such as ``.5``."""
    return text if _JSON_NUMBER.fullmatch(text) else _json_text(text)


_YAML = _Style(_yaml_text, str)
_JSON = _Style(_json_text, _json_number)


def _yaml_lines(items: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in items.items():
        if isinstance(value, _Block):
            yield f"{indent}{_yaml_text(key)}:"
            yield from _yaml_lines(value.items, indent + "  ")
        else:
            yield f"{indent}{_yaml_text(key)}: {_flow(value, _YAML)}"


def _json_lines(head: str, value: Any, indent: str, tail: str = "") -> Iterator[str]:
    if not isinstance(value, _Block):
        yield f"{indent}{head}{_flow(value, _JSON)}{tail}"
        return
    yield f"{indent}{head}{{"
    last = len(value.items) - 1
    for i, (key, item) in enumerate(value.items.items()):
        comma = "," if i < last else ""
        yield from _json_lines(f"{_json_text(key)}: ", item, indent + "  ", comma)
    yield f"{indent}}}{tail}"


def _flow(value: Any, style: _Style) -> str:
    """A value on one line."""
    if isinstance(value, _Num):
        return style.number(value.text)
    if isinstance(value, str):
        return style.text(value)
    if isinstance(value, list):
        return f"[{', '.join(_flow(item, style) for item in value)}]"
    pairs = (f"{style.text(key)}: {_flow(item, style)}" for key, item in value.items())
    return f"{{{', '.join(pairs)}}}"
