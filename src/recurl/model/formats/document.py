"""Documents of recurl, in YAML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recurl.model.document import dump, load
from recurl.model.formats.format import Format, Options

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


def read(path: Path, options: Options) -> RMDP:
    """Read a document as a model."""
    return load(path)


def write(model: RMDP, path: Path) -> None:
    """Write a model as a document."""
    dump(model, path)


FORMAT = Format(
    "document",
    "documents of recurl, YAML or JSON",
    (".yaml", ".yml", ".json"),
    read,
    write,
    recursive=True,
)
