"""Texts as trees of mappings, lists and text, and the lines of places in them."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from recurl.errors import ModelError
from recurl.model.document.events import (
    END,
    MAPPING,
    SCALAR,
    Event,
    UnreadableError,
    json_events,
    yaml_events,
)
from recurl.model.report import KeyPath, Report

Tree = Any
"""A dict from text to trees, a list of trees, or text; from JSON also int, bool and None."""

_DEEPEST = 12
# The format has six; a file with very many is something else, and need not be read to its end.
_MOST_TOP_KEYS = 100


def yaml_tree(text: str, report: Report) -> Tree:
    """Read a YAML text; keys that come twice are reported."""
    return _grow(yaml_events(text), report)


def json_tree(text: str, report: Report) -> Tree:
    """Read a JSON text, decimals as the text that they are; keys that come twice are reported."""
    try:
        tree = msgspec.json.Decoder(float_hook=str).decode(text)
    except RecursionError:
        raise _too_deep(None) from None
    except msgspec.DecodeError as error:
        message, line = _explain(str(error), text)
        raise UnreadableError(f"is not valid JSON: {message}", line) from None
    if not isinstance(tree, dict):
        raise _no_mapping(1)
    return _grow(json_events(text), report) if _repeats_keys(tree, text) else tree


def _explain(message: str, text: str) -> tuple[str, int]:
    """A decoder's message, and the line of the byte that it names; else the last line."""
    place = re.search(r" \(byte (\d+)\)$", message)
    if place is None:
        return message, text.count("\n") + 1
    before = text.encode()[: int(place[1])]
    return message[: place.start()], before.count(b"\n") + 1


def _repeats_keys(tree: Tree, text: str) -> bool:
    """Whether a mapping has a key twice.

    Only if there are more colons after quotes than keys may that be so; texts have colons too.
    """
    keys = _count_keys(tree)
    if text.count(":") == keys or len(re.findall(r'"\s*:', text)) == keys:
        return False
    found = 0

    def count(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found += len(pairs)

    json.loads(text, object_pairs_hook=count, parse_int=len, parse_float=len)
    return found != keys


def _count_keys(tree: Tree) -> int:
    count, level = 0, [tree]
    while level:
        mappings = [node for node in level if type(node) is dict]
        lists = [node for node in level if type(node) is list]
        count += sum(map(len, mappings))
        level = [item for node in mappings for item in node.values()]
        level += [item for node in lists for item in node]
    return count


def find_lines(events: Iterator[Event], paths: Iterable[KeyPath]) -> dict[KeyPath, int]:
    """The line of each path; of the nearest place above where a text does not have the place."""
    asked = list(paths)
    wanted = {path[:size] for path in asked for size in range(len(path) + 1)}
    lines: dict[KeyPath, int] = {(): 1}

    def mark(path: KeyPath, line: int) -> None:
        if path in wanted:
            lines.setdefault(path, line)

    with contextlib.suppress(UnreadableError, ModelError):
        _grow(events, Report(), mark)
    return {path: _nearest(path, lines) for path in asked}


def _nearest(path: KeyPath, lines: dict[KeyPath, int]) -> int:
    while path not in lines:
        path = path[:-1]
    return lines[path]


def _grow(
    events: Iterator[Event], report: Report, mark: Callable[[KeyPath, int], None] | None = None
) -> Tree:
    """Build the tree that events describe; `mark` receives the line of every key and item.

    One pass without recursion: the millions of events of a large document go through here.
    """
    _begin(events)
    root: Tree = {}
    node, key = root, None
    above: list[Tree] = []
    path: list[str | int] = []
    for kind, text, line in events:
        if kind == END:
            node = above.pop() if above else root
            del path[-1:]
            continue
        if type(node) is dict and key is None:
            if kind != SCALAR:
                raise UnreadableError("a key is not text", line, "use names as keys")
            if text in node:
                report.add((*path, text), "the key comes twice", "keep one of them", line=line)
            if len(root) > _MOST_TOP_KEYS:
                raise UnreadableError("is not a model: it has too many keys", line)
            key = text
            if mark is not None:
                mark((*path, key), line)
            continue
        value: Tree = text if kind == SCALAR else {} if kind == MAPPING else []
        if key is None:
            if mark is not None:
                mark((*path, len(node)), line)
            node.append(value)
        else:
            node[key] = value
        if kind != SCALAR:
            above.append(node)
            path.append(len(node) - 1 if key is None else key)
            node = value
            if len(above) > _DEEPEST:
                raise _too_deep(line)
        key = None
    return root


def _begin(events: Iterator[Event]) -> None:
    first = next(events, None)
    if first is None:
        raise UnreadableError("is empty", 1, "begin with `recurl: 1`")
    if first[0] != MAPPING:
        raise _no_mapping(first[2])


def _no_mapping(line: int) -> UnreadableError:
    return UnreadableError("is not a mapping of keys to values", line, "begin with `recurl: 1`")


def _too_deep(line: int | None) -> UnreadableError:
    return UnreadableError(f"is nested more than {_DEEPEST} levels deep", line, "flatten it")
