from __future__ import annotations

import re

from recurl.experiment.report_table import shown_columns, table_html
from recurl.experiment.study import Optimum, Study
from recurl.experiment.table import Row, table_rows
from recurl.experiment.table_text import HEADS, cells


def test_cells_are_those_of_the_text_table(study: Study) -> None:
    lines = re.findall(r"<tr data-method.*?</tr>", table_html([study]))
    columns = shown_columns(table_rows([study]))
    for line, row in zip(lines, table_rows([study]), strict=True):
        plain = [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", line)]
        assert plain == [cells(row)[i] for i in columns]


def test_what_holds_for_all_rows_is_said_once(study: Study) -> None:
    text = table_html([study])
    assert text.count("certified optimum -5.342485") == 1
    assert "2,000 steps a run" in text
    unknown = Optimum(None, None, "not known: the model is not proper", "")
    assert "optimum not known" in table_html([study._replace(optimum=unknown)])


def test_columns_that_say_nothing_are_left_out(study: Study) -> None:
    plain = Row("e", "m", "method", 1, 0, 10, final=1.0, exact=1.0)
    shown = [HEADS[i] for i in shown_columns([plain])]
    assert shown == ["method", "runs", "final value (sampled, 95 %)", "exact value of policy"]
    assert "ours is" in [HEADS[i] for i in shown_columns(table_rows([study]))]
