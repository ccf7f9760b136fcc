from __future__ import annotations

from recurl.experiment.table import Row
from recurl.experiment.table_text import HEADS, cells, markdown


def test_markdown_has_a_line_per_row() -> None:
    row = Row("e", "m", "method", 2, 1, 100, iqm=1.0, iqm_low=0.5, iqm_high=1.5, speed=12345.0)
    assert len(cells(row)) == len(HEADS)
    head, rule, line = markdown([row]).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|")
    assert "2 (1 failed)" in line
    assert "1 [0.5, 1.5]" in line
    assert "12,345" in line
