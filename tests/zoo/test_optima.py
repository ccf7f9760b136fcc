"""The optima that the docs list are those that the solver finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.zoo.reference import solved

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `(\w+)` \| (-?[\d.]+) \| (-?[\d.]+) \| ([\d.e-]+) \|", re.MULTILINE)
ROWS = [
    row
    for page in ("results/automata", "reference/grammars")
    for row in ROW.findall((DOCS / f"{page}.md").read_text())
]


def test_all_are_listed() -> None:
    assert {name for name, *_ in ROWS} == {
        "palindrome_product", "battery_product", "brackets", "letter_world", "office",
        "frozen_lake", "taxi", "epidemic", "harvest", "language",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "lower", "upper", "width"), ROWS)
def test_an_optimum_is_what_the_docs_say(name: str, lower: str, upper: str, width: str) -> None:
    solution = solved(name)
    assert float(width) <= 1e-6
    assert solution.gap <= 1e-6
    assert float(lower) - 1e-8 <= solution.upper
    assert solution.lower <= float(upper) + 1e-8
