from __future__ import annotations

import pytest

import recurl
from recurl import zoo


@pytest.mark.parametrize(("survival", "litter", "roe"), [(0.7, 0.6, 0.3), (0.5, 0.5, 0.2)])
def test_the_closed_form(survival: float, litter: float, roe: float) -> None:
    model = zoo.harvest(survival, litter=litter, roe=roe)
    solution = recurl.solve(model)
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(max(1, roe / (1 - 2 * survival * litter)), abs=1e-9)
