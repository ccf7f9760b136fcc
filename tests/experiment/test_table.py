from __future__ import annotations

import numpy as np
import pytest

from recurl.experiment.statistics import final_value
from recurl.experiment.study import Study
from recurl.experiment.table import table_rows, verdict


def test_rows_say_what_the_records_say(study: Study) -> None:
    for row in table_rows([study]):
        records = study.of_method(row.method)
        assert row.runs == 2
        assert row.final == pytest.approx(np.mean([final_value(one) for one in records]))
        exact = [one.exact.value for one in records if one.exact and one.exact.value is not None]
        assert row.exact == pytest.approx(np.mean(exact))
        assert row.optimum == pytest.approx(-5.3425, abs=1e-4)
        assert row.distance == pytest.approx(row.optimum - row.exact)


def test_published_values_are_beside_the_papers_methods(study: Study) -> None:
    published = {row.method: row.published is not None for row in table_rows([study])}
    assert published == {"rql": True, "ql": True, "rql-swift": False}


def test_verdict() -> None:
    assert [verdict(x, 1, 2) for x in (0, 1, 2, 3)] == ["below", "within", "within", "above"]
