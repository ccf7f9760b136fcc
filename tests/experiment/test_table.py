from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from recurl.experiment import table
from recurl.experiment.paper import published_curves
from recurl.experiment.statistics import final_value
from recurl.experiment.study import Study
from recurl.experiment.table import (
    HEADS,
    Row,
    cells,
    markdown,
    readable_number,
    table_rows,
)


def test_rows_say_what_the_records_say(study: Study) -> None:
    for row in table_rows([study]):
        records = study.of_method(row.method)
        assert row.runs == 2
        assert row.final == pytest.approx(np.mean([final_value(one) for one in records]))
        exact = [one.exact.value for one in records if one.exact and one.exact.value is not None]
        assert row.exact == pytest.approx(np.mean(exact))
        assert row.optimum == pytest.approx(-5.3425, abs=1e-4)
        assert row.distance == pytest.approx(row.optimum - row.exact)


def test_whole_curves_are_compared_for_the_papers_methods(study: Study) -> None:
    rows = {row.method: row for row in table_rows([study])}
    tests = sum(step <= 2_000 for step in published_curves()["cloud", "rql"].steps)
    for name in ("rql", "ql"):
        row = rows[name]
        assert row.better is not None
        assert row.alike is not None
        assert row.worse is not None
        assert row.better + row.alike + row.worse == tests
        assert "published tests" in row.comparison
    assert rows["rql-swift"].better is None


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
    assert readable_number(-3e-15) == "0"


def test_tables_are_tidy(study: Study) -> None:
    assert len(table.summary_table([study])) == 3
    runs, curves = table.run_table([study]), table.curve_table([study])
    assert isinstance(runs, pd.DataFrame)
    assert len(runs) == 6
    assert len(curves) == 6 * 21
    assert curves["steps"].max() == 2_000


def test_rows_where_there_is_no_pandas(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    assert table.run_table([study])[0]["method"] == "rql"
