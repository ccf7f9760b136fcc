"""Documents: models as YAML or JSON, read and written.

A document is data. Nothing in it can run, and it cannot grow when it is read. Its form is described
by a JSON Schema (`schema`); YAML and JSON documents have the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recurl.errors import ModelError, UnknownNameError
from recurl.model.assemble import assemble, disassemble
from recurl.model.document.reader import read_model
from recurl.model.document.source import Format, format_of, read_document
from recurl.model.document.writer import write_json, write_yaml
from recurl.model.files import write_atomic
from recurl.model.limits import read_text
from recurl.model.report import Report

if TYPE_CHECKING:
    from recurl.model.document.tree import Tree
    from recurl.model.rmdp import RMDP

_WRITERS = {"json": write_json, "yaml": write_yaml}


def load(path: str | os.PathLike[str]) -> RMDP:
    """Read a model from a file: JSON if its name ends in ``.json``, else YAML.

    Raises:
        DocumentError: The file cannot be read or is not a valid model; all problems are listed with
            their lines.
    """
    file = os.fspath(path)
    return loads(read_text(file), format_of(file), file)


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
    return read_document(text, make_model, file, format=format)


def dump(model: RMDP, path: str | os.PathLike[str]) -> None:
    """Write a model to a file: JSON if its name ends in ``.json``, else YAML.

    A crash leaves the old file or the new one, never half of one.
    """
    write_atomic(path, dumps(model, format_of(path) or "yaml"))


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


def make_model(tree: Tree, report: Report) -> RMDP:
    """The model in a tree."""
    spec = read_model(tree, report)
    if spec is None:
        raise ModelError(report.problems)
    report.end_stage()
    return assemble(spec, report)
