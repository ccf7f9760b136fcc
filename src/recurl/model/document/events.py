"""A text as a stream of marks: where mappings and lists begin and end, and the scalars in them.

Nothing is built here, and nothing in a text can run: a YAML parser's events are passed on with
their lines, scalars as the text that they are (``yes`` is a name like any other). Anchors,
aliases and merge keys, which could make a small text large, and tags are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from recurl.errors import Problem

SCALAR, MAPPING, END, LIST = 0, 1, 2, 3

Event = tuple[int, str, int]
"""Kind (SCALAR, MAPPING, LIST, or END of either), text of a scalar, line counted from 1."""

# Possessive: what a string has matched is not kept for another try, however long it is.
_TOKEN = re.compile(r'\n|[{}\[\]]|"(?:[^"\\]++|\\.)*+"|[^\s{}\[\],:"]++')
_KINDS = {"{": MAPPING, "[": LIST, "}": END, "]": END}


class UnreadableError(Exception):
    """A text that cannot be read any further; `problem` says where and why."""

    def __init__(self, message: str, line: int | None = None, fix: str = "") -> None:
        self.problem = Problem("", message, fix, (), line)
        super().__init__(message)


def yaml_events(text: str) -> Iterator[Event]:
    """The events of a YAML text with one document.

    Example:
        >>> list(yaml_events("{a: [yes]}"))
        [(1, '', 1), (0, 'a', 1), (3, '', 1), (0, 'yes', 1), (2, '', 1), (2, '', 1)]
    """
    import yaml

    # libyaml is many times faster; wheels of PyYAML have it, some builds from source do not.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from _checked(loader(text).get_event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = None if mark is None else mark.line + 1
        raise UnreadableError(f"is not valid YAML: {error.problem}", line) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise UnreadableError("has a character that no text file has", line) from None


def _checked(get_event: Callable[[], Any]) -> Iterator[Event]:
    """Turn a parser's events into ours, and refuse what documents do not need."""
    import yaml

    starts = {yaml.MappingStartEvent: MAPPING, yaml.SequenceStartEvent: LIST}
    ends = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
    documents = 0
    while True:
        event = get_event()
        kind = type(event)
        line = event.start_mark.line + 1
        if kind is yaml.ScalarEvent:
            if event.anchor is not None or event.tag is not None or event.value == "<<":
                _refuse(event, line)
            yield SCALAR, event.value, line
        elif kind in starts:
            if event.anchor is not None or event.tag is not None:
                _refuse(event, line)
            yield starts[kind], "", line
        elif kind in ends:
            yield END, "", line
        elif kind is yaml.AliasEvent:
            _refuse(event, line)
        elif kind is yaml.DocumentStartEvent:
            documents += 1
            if documents > 1:
                raise UnreadableError("a second document begins", line, "keep one to a file")
        elif kind is yaml.StreamEndEvent:
            return


def _refuse(event: Any, line: int) -> None:
    """Refuse an anchor, alias, tag or merge key; a quoted ``<<`` is a name like others."""
    fix = "write out what is meant"
    if event.anchor is not None:
        raise UnreadableError("anchors (&) and aliases (*) are refused", line, fix)
    if event.tag is not None:
        raise UnreadableError("tags (!) are refused", line, "remove it")
    if event.implicit[0]:
        raise UnreadableError("merge keys (<<) are refused", line, fix)


def json_events(text: str) -> Iterator[Event]:
    """The events of a text that is known to be valid JSON.

    Example:
        >>> list(json_events('{"a": [0.50]}'))
        [(1, '', 1), (0, 'a', 1), (3, '', 1), (0, '0.50', 1), (2, '', 1), (2, '', 1)]
    """
    line = 1
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in _KINDS:
            yield _KINDS[token], "", line
        else:
            yield SCALAR, json.loads(token) if token[0] == '"' else token, line
