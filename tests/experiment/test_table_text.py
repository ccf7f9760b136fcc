from __future__ import annotations

from recurl.experiment.table import Row
from recurl.experiment.table_text import HEADS, cells, markdown, number


def test_markdown_has_a_line_per_row() -> None:
    row = Row("e", "m", "method", 2, 1, 100, iqm=1.0, iqm_low=0.5, iqm_high=1.5, speed=12345.0)
    assert len(cells(row)) == len(HEADS)
    head, rule, line = markdown([row]).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|")
    assert "2 (1 failed)" in line
    assert "1 [0.5, 1.5]" in line
    assert "12,345" in line


def test_computed_numbers_have_more_digits_than_sampled_ones() -> None:
    row = Row("e", "m", "method", 10, 0, 100, final=-5.342489, exact=-5.3425, near_optimal=10)
    row = row._replace(optimum=-5.34248536, distance=1.464e-05)
    texts = dict(zip(HEADS, cells(row), strict=True))
    assert texts["final value (sampled, 95 %)"] == "-5.3425"
    assert texts["exact value of policy"] == "-5.3425 (10 of 10 within 0.001 %)"
    assert texts["optimum"] == "-5.342485"
    assert texts["distance"] == "1.46e-05"
    assert number(-3e-15) == "0"
