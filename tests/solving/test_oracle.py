"""Random models against an oracle; ``python -m tests.solving.check_oracle 5000`` tries many."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.solving.check_oracle import check_chain, check_choices
from tests.solving.oracle import Chain, truncated, uniform
from tests.solving.test_soundness import doubling, runaway


@pytest.mark.parametrize("exits", [1, 2, 3])
def test_chains(exits: int) -> None:
    for seed in range(1000 * exits, 1000 * exits + 40):
        assert check_chain(seed, exits)["chains"] == 1


@pytest.mark.parametrize("exits", [1, 2, 3])
def test_models_with_choices(exits: int) -> None:
    for seed in range(1000 * exits, 1000 * exits + 12):
        assert check_choices(seed, exits, totals=exits == 1)["models"] == 1


def test_the_oracle_itself() -> None:
    truth = Chain(runaway(), uniform(runaway())).truth()
    assert abs(truth.end - 1) < Decimal("1e-90")
    assert abs(float(truth.exits[0]) - 0.45) < 1e-15
    assert float(truth.steps) == pytest.approx(10, rel=1e-15)
    critical = Chain(doubling("1/2", 1), uniform(doubling("1/2", 1))).truth()
    assert critical.steps.is_infinite()
    low, high = truncated(runaway(), "exit:0", "max", height=8, sweeps=30)
    assert low <= 0.45 <= high
    assert high - low < 0.05
