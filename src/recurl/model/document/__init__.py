"""Documents: models as YAML or JSON, read and written.

A document is data. Nothing in it can run, and it cannot grow when it is read. Its form is described
by a JSON Schema (`schema`); YAML and JSON documents have the same.
"""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recurl.errors import DocumentError, ModelError, Problem, UnknownNameError
from recurl.model.assemble import assemble
from recurl.model.disassemble import disassemble
from recurl.model.document.events import UnreadableError, json_events, yaml_events
from recurl.model.document.reader import read_model
from recurl.model.document.tree import find_lines, json_tree, yaml_tree
from recurl.model.document.writer import write_json, write_yaml
from recurl.model.files import write_atomic
from recurl.model.report import Report

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Format = Literal["yaml", "json"]

_LARGEST = 1 << 30
_SUFFIXES: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_WRITERS = {"json": write_json, "yaml": write_yaml}


def load(path: str | os.PathLike[str]) -> RMDP:
    """Read a model from a file: JSON if its name ends in ``.json``, else YAML.

    Raises:
        DocumentError: The file cannot be read or is no valid model; all problems are listed with
            their lines.
    """
    file = os.fspath(path)
    return loads(_read_text(file), _SUFFIXES.get(Path(file).suffix.lower()), file)


def loads(text: str, format: Format | None = None, file: str = "<text>") -> RMDP:
    """Read a model from a text.

    Args:
        text: The document.
        format: ``"yaml"`` or ``"json"``; if not given, JSON is tried first where it may be JSON.
        file: What errors call the text.

    Raises:
        DocumentError: With all problems of the document and their lines.

    Example:
        >>> model = loads('''
        ... recurl: 1
        ... components:
        ...   A:
        ...     entries: in
        ...     exits: out
        ...     vertices:
        ...       in:
        ...         go: {reward: 1, to: out}
        ... ''')
        >>> model.tables.reward.tolist()
        [1.0]
    """
    if format is not None and format not in _WRITERS:
        raise UnknownNameError("format", format, _WRITERS)
    try:
        _check_text(text)
        return _read(text, format or _guess(text), file)
    except UnreadableError as error:
        raise DocumentError([error.problem], file) from None


def dump(model: RMDP, path: str | os.PathLike[str]) -> None:
    """Write a model to a file: JSON if its name ends in ``.json``, else YAML.

    A crash leaves the old file or the new one, never half of one.
    """
    suffix = Path(path).suffix.lower()
    write_atomic(path, dumps(model, _SUFFIXES.get(suffix, "yaml")))


def dumps(model: RMDP, format: Format = "yaml") -> str:
    """Write a model as a text, from which `loads` makes an equal one.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("coin").component("A", entries="in", exits=["heads", "tails"])
        >>> builder = builder.at("in").action("toss").to("heads", "1/2").to("tails", "1/2")
        >>> print(dumps(builder.build()))
        recurl: 1
        name: coin
        start: A
        components:
          A:
            entries: [in]
            exits: [heads, tails]
            vertices:
              in:
                toss: {to: {heads: 1/2, tails: 1/2}}
    """
    if format not in _WRITERS:
        raise UnknownNameError("format", format, _WRITERS)
    return _WRITERS[format](disassemble(model))


def _read_text(file: str) -> str:
    try:
        with open(file, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DocumentError(
            [Problem("", f"cannot be read: {reason}", "check the path")], file
        ) from None
    if len(data) > _LARGEST:
        problem = Problem("", "is larger than 1 GiB", "build such models with RMDP.from_arrays")
        raise DocumentError([problem], file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem("", "is no text in UTF-8", "save it as UTF-8", (), line)
        raise DocumentError([problem], file) from None


def _check_text(text: str) -> None:
    """Refuse what no text file has, before a parser sees it."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableError("is a binary file, not a text", line, "give a YAML or JSON file")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise UnreadableError("has half a surrogate pair", line, "write the character") from None


def _guess(text: str) -> Format:
    """JSON, unless it is YAML that begins with a brace or without one."""
    if not text.lstrip().startswith("{"):
        return "yaml"
    try:
        json_tree(text, Report())
    except UnreadableError:
        return "yaml"
    return "json"


def _read(text: str, format: Format, file: str) -> RMDP:
    report = Report()
    try:
        with _uncollected():
            tree = json_tree(text, report) if format == "json" else yaml_tree(text, report)
            spec = read_model(tree, report)
            if spec is None:
                raise ModelError(report.problems)
            report.end_stage()
            return assemble(spec, report)
    except ModelError as error:
        raise DocumentError(_with_lines(error.problems, text, format), file) from None


def _with_lines(problems: tuple[Problem, ...], text: str, format: Format) -> list[Problem]:
    """The problems with the lines of their paths, in the order of the lines."""
    events = json_events(text) if format == "json" else yaml_events(text)
    lines = find_lines(events, (problem.path for problem in problems))
    placed = [
        replace(problem, line=lines[problem.path]) if problem.path and not problem.line else problem
        for problem in problems
    ]
    return sorted(placed, key=lambda problem: problem.line or math.inf)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection: a growing tree has no cycles to find, and searching it takes long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
