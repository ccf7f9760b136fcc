"""The JSON Schema of documents."""

from __future__ import annotations

from typing import Any

from recurl.model.document.pieces import VERSION

_DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
_NUMBER_TEXT = rf"^\s*({_DECIMAL}|[+-]?[0-9]+/[0-9]+)\s*$"
_NAME = r"^[^.\s]([^.]*[^.\s])?$"
_PORT = r"^[^.\s]([^.]*[^.\s])?(\.[^.\s]([^.]*[^.\s])?)?$"
_TEXT = r"^\S(.*\S)?$"


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of documents, the same for YAML and JSON.

    It says which keys there are and what kind of value each has. That names are known and that
    probabilities sum to 1 is for `load` to find out.

    Example:
        >>> schema()["required"]
        ['recurl', 'components']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "recurl document",
        "description": "A recursive Markov decision process.",
        "type": "object",
        "required": ["recurl", "components"],
        "additionalProperties": False,
        "properties": _model_properties(),
        "$defs": {**_scalars(), "component": _component(), "action": _action()},
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _any(*options: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(options)}


def _list(item: str, least: int = 1) -> dict[str, Any]:
    return {"type": "array", "items": _ref(item), "minItems": least}


def _mapping(key: str, value: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {
        "type": "object",
        "propertyNames": _ref(key),
        "additionalProperties": value,
        "minProperties": least,
    }


def _record(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _scalars() -> dict[str, Any]:
    # A number may be a name: in YAML, `exits: [1, 2]` has texts for us and numbers for others.
    word = {"type": ["string", "integer"], "minLength": 1, "maxLength": 250}
    return {
        "name": {
            **word,
            "pattern": _NAME,
            "description": "Name of a component, node or box: no dots, no blanks at the ends.",
        },
        "port": {
            "type": ["string", "integer"],
            "pattern": _PORT,
            "description": "NODE, or BOX.NODE for a port; BOX alone is its only call port.",
        },
        "text": {**word, "pattern": _TEXT, "description": "One line of printable text."},
        "number": {
            **_any({"type": "number"}, {"type": "string", "pattern": _NUMBER_TEXT}),
            "description": "A decimal or a fraction such as 1/3, kept exactly.",
        },
    }


def _model_properties() -> dict[str, Any]:
    return {
        "recurl": {
            "enum": [int(VERSION), VERSION],
            "description": "Version of the format.",
        },
        "name": {**_ref("text"), "description": "Name of the model; `model` if not given."},
        "start": {
            **_any(_ref("port"), _mapping("port", _ref("number"), 1)),
            "description": "A component (its first entry), an entry COMPONENT.ENTRY, or "
            "probabilities of entries; if not given, the first component.",
        },
        "numbers": {
            "enum": ["decimal", "binary"],
            "description": "Whether 0.1 is a tenth (the default) or the binary float next to it.",
        },
        "feature_names": {**_list("text", 0), "description": "Names of the features of vertices."},
        "components": _mapping("name", _ref("component"), 1),
    }


def _component() -> dict[str, Any]:
    names = _any(_ref("name"), _list("name"))
    row = _list("number", 0)
    properties = {
        "entries": {**names, "description": "Nodes at which calls begin, in order."},
        "exits": {**names, "description": "Nodes at which calls end, in order."},
        "boxes": {**_mapping("name", _ref("name")), "description": "What each box calls."},
        "vertices": {
            **_mapping("port", _mapping("text", _ref("action"))),
            "description": "Actions of each node and each return port BOX.EXIT.",
        },
        "features": {**_mapping("port", row), "description": "Features of vertices; else zeros."},
        "labels": {
            **_mapping("port", {"type": "string"}),
            "description": "What vertices stand for, in words.",
        },
    }
    return _record(properties, ["entries", "exits", "vertices"])


def _action() -> dict[str, Any]:
    number = _ref("number")
    weight = _record({"p": number, "reward": number}, [])
    edge = _record({"target": _ref("port"), "p": number, "reward": number}, ["target"])
    to = _any(
        _ref("port"),
        _mapping("port", _any(number, weight), 1),
        {"type": "array", "items": edge, "minItems": 1},
    )
    reward = {**number, "description": "Paid by each transition that has none of its own."}
    return _any(_ref("port"), _record({"reward": reward, "to": to}, ["to"]))
