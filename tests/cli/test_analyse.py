"""``recurl analyse``."""

from __future__ import annotations

import pytest

from .conftest import Run, RunJson


def test_a_proper_model_has_a_bound(run: Run, run_json: RunJson) -> None:
    data = run_json("analyse", "gambler", "p=0.25")
    assert data["verdict"] == "proper"
    assert data["steps"] == pytest.approx(3)  # 1 + two returns with p: 1.5 / (1 - 2 p)
    assert data["witness"] is None
    assert run("analyse", "gambler", "p=0.25").stdout.startswith("gambler is proper")


def test_an_improper_model_has_a_witness(run: Run, run_json: RunJson) -> None:
    data = run_json("analyse", "gambler", "p=0.75")
    assert data["verdict"] == "not proper"
    assert data["steps"] == "inf"
    assert data["witness"] == {}
    assert "gambler is not proper" in run("analyse", "gambler", "p=0.75").stdout
