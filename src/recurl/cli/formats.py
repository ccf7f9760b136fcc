"""``recurl formats``: the formats of model files, and what each needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recurl.cli.output import AsJson, print_json, show, table

if TYPE_CHECKING:
    from recurl.model.formats.format import Format

EXAMPLES = """\
  recurl formats
  recurl formats --json
"""

_OTHERS = (
    (".bp", "boolean programs", "yes", "-"),
    (".txt", "reward machines in the published text format", "yes", "-"),
)
"""Rows of formats that are read as something else first: a program, a machine."""


def formats(json: AsJson = False) -> None:
    """List the formats of model files."""
    from recurl.model.formats import formats as all_formats

    if json:
        print_json([_data(format) for format in all_formats()])
        return
    rows = [
        (" ".join(f.suffixes), f.title, _needs(f) if f.read else "-", "yes" if f.write else "-")
        for f in all_formats()
    ]
    show(table("suffix", "format", "read", "write", rows=[*rows, *_OTHERS]))


def _needs(format: Format) -> str:
    return f"recurl[{format.extra}]" if format.extra else "yes"


def _data(format: Format) -> dict[str, Any]:
    return {
        "name": format.name,
        "title": format.title,
        "suffixes": list(format.suffixes),
        "read": format.read is not None,
        "write": format.write is not None,
        "extra": format.extra or None,
        "options": list(format.takes),
        "recursive": format.recursive,
    }
