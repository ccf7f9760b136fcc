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


def formats(json: AsJson = False) -> None:
    """List the formats of model files."""
    from recurl.model.formats import formats as all_formats

    entries = [*map(_entry, all_formats()), *_OTHERS]
    if json:
        print_json(entries)
    else:
        show(table("suffix", "format", "read", "write", rows=map(_row, entries)))


def _entry(format: Format) -> dict[str, Any]:
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


def _read_only(name: str, title: str, suffix: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "suffixes": [suffix],
        "read": True,
        "write": False,
        "extra": None,
        "options": [],
        "recursive": True,
    }


_OTHERS = (
    _read_only("boolean_program", "boolean programs", ".bp"),
    _read_only("reward_machine", "reward machines in the published text format", ".txt"),
)
"""Formats that are read as something else first: a program, a machine."""


def _row(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    needs = f"recurl[{entry['extra']}]" if entry["extra"] else "yes"
    suffixes, read = " ".join(entry["suffixes"]), needs if entry["read"] else "-"
    return suffixes, entry["title"], read, "yes" if entry["write"] else "-"
