"""Formats of model files: one module each, found by itself; one door to read and write them all.

To add a format, add a module here with a `Format` called ``FORMAT``; modules without one hold what
several formats share. A format is recognised by the suffix of a file's name.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from recurl.errors import RecurlError, UnknownNameError
from recurl.model.formats.format import Format, Options

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


@cache
def formats() -> tuple[Format, ...]:
    """All formats, by name.

    Example:
        >>> [format.name for format in formats() if format.name in ("document", "umb")]
        ['document', 'umb']
    """
    modules = (
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    )
    found = (getattr(module, "FORMAT", None) for module in modules)
    known = (format for format in found if isinstance(format, Format))
    return tuple(sorted(known, key=lambda format: format.name))


def suffixes() -> tuple[str, ...]:
    """Endings of the names of all files that are recognised."""
    return tuple(suffix for format in formats() for suffix in format.suffixes)


def format_for(path: str | os.PathLike[str]) -> Format:
    """The format that a file's name tells.

    Raises:
        UnknownNameError: No format has that suffix; the known ones are listed.

    Example:
        >>> format_for("model.umb").name
        'umb'
    """
    found = _known(path)
    if found is None:
        raise UnknownNameError("suffix of a model file", Path(path).suffix, suffixes())
    return found


def _known(path: str | os.PathLike[str]) -> Format | None:
    suffix = Path(path).suffix.lower()
    return next((format for format in formats() if suffix in format.suffixes), None)


def read_with(path: Path, options: Options) -> RMDP:
    """Read a model from a file of one of these formats, with options.

    Raises:
        DocumentError: The file cannot be read or is not a model.
        MissingExtraError: The format needs an extra; the command that installs it is named.
    """
    format = format_for(path)
    if format.read is None:
        raise RecurlError(f"{path}: {format.title} can be written, not read")
    for name in options.given():
        if name not in format.takes:
            takes = ", ".join(format.takes) or "none"
            raise RecurlError(f"{path}: the option {name} has no meaning here; known: {takes}")
    return format.read(path, options)


def dump(model: RMDP, path: str | os.PathLike[str], *, depth: int | None = None) -> None:
    """Write a model to a file of any format; its suffix says which, and YAML is for all others.

    Formats without calls get hierarchical models flat; a recursive one is cut at a depth.

    Args:
        model: The model.
        path: The file; a crash leaves the old one or the new one.
        depth: How many calls may be pending; deeper ones lead to the exit ``deeper``.

    Raises:
        ModelError: The model is recursive, the format is not, and there is no depth.
    """
    from recurl.model.transforms.unravelling import unravel

    format = _known(path) or format_for("document.yaml")
    if format.write is None:
        raise RecurlError(f"{path}: {format.title} can be read, not written")
    format.write(model if depth is None else unravel(model, depth), Path(path))
