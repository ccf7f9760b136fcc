"""The table of `call_or_answer.py`: how a model answers, splits and joins, by depth."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import yaml


class Row(NamedTuple):
    """Questions of one depth: 0 is the question of the user, 1 are its parts, and so on.

    Attributes:
        tokens: Thousands of tokens of an answer, a whole number.
        accuracy: Probability that an answer passes its check.
        split_tokens: Thousands of tokens to split the question in two.
        join_accuracy: Probability that two right parts make a right answer.
    """

    tokens: int
    accuracy: float
    split_tokens: int
    join_accuracy: float


COLUMNS = ("depth", *Row._fields)


def read_table(path: Path) -> tuple[Row, ...]:
    """Rows by depth, from a CSV with a header or a YAML list of mappings.

    Deeper questions than the table has are like those of its last row.

    Raises:
        ValueError: With the file, the row and what to write instead.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".yaml", ".yml"):
        given = yaml.safe_load(text)
        if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
            raise ValueError(f"{path}: write a list of mappings with the keys {', '.join(COLUMNS)}")
    else:
        given = list(csv.DictReader(text.splitlines()))
    if not given:
        raise ValueError(f"{path}: there are no rows: write one for depth 0")
    return tuple(_row(path, depth, row) for depth, row in enumerate(given))


def _row(path: Path, depth: int, given: dict[str, Any]) -> Row:
    missing = [name for name in COLUMNS if given.get(name) in (None, "")]
    if missing:
        raise ValueError(f"{path}, row {depth + 1}: there is no {', '.join(missing)}")
    if str(given["depth"]) != str(depth):
        raise ValueError(f"{path}, row {depth + 1}: depth is {given['depth']}: write {depth}")
    values: list[Any] = []
    for name in Row._fields:
        whole = name.endswith("tokens")
        try:
            value = int(str(given[name])) if whole else float(given[name])
        except (TypeError, ValueError):
            value = -1
        if not (1 <= value <= 1000 if whole else 0 <= value <= 1):
            wanted = "a whole number from 1 to 1000" if whole else "a number from 0 to 1"
            raise ValueError(f"{path}, row {depth + 1}: {name} is {given[name]!r}: write {wanted}")
        values.append(value)
    return Row(*values)
