from __future__ import annotations

import pandas as pd
import pytest

from recurl.experiment import tidy
from recurl.experiment.study import Study


def test_tables_are_tidy(study: Study) -> None:
    assert len(tidy.summary_table([study])) == 3
    runs, curves = tidy.run_table([study]), tidy.curve_table([study])
    assert isinstance(runs, pd.DataFrame)
    assert len(runs) == 6
    assert len(curves) == 6 * 21
    assert curves["steps"].max() == 2_000


def test_rows_where_there_is_no_pandas(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "find_spec", lambda name: None)
    assert tidy.run_table([study])[0]["method"] == "rql"
