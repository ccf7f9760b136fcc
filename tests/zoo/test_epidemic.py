from __future__ import annotations

from typing import Any

import pytest

import recurl
from recurl import zoo


@pytest.mark.parametrize(
    "prices", [{}, {"spread": 0.1}, {"isolation": 5, "treatment": 0}, {"worsen": 0.4}]
)
def test_the_value_solves_the_two_equations(prices: dict[str, Any]) -> None:
    given = {"spread": 0.4, "worsen": 0.2, "isolation": 1, "treatment": 3, **prices}
    s, w = given["spread"], given["worsen"]
    m = v = 0.0
    for _ in range(5000):
        m, v = (
            -1 + w * v + max(s * m, -given["isolation"]),
            -10 + max(s * (m + v), -given["treatment"] + s * m / 2),
        )
    solution = recurl.solve(zoo.epidemic(**prices))
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(m, abs=1e-8)


def test_the_default_value() -> None:
    assert recurl.solve(zoo.epidemic()).value == pytest.approx(-115 / 24, abs=1e-9)
