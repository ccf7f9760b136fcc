"""``recurl verify``."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run, RunJson

MODEL = ("cloud", "exits=1")


def test_a_certificate_is_proved(run: Run, run_json: RunJson) -> None:
    solved = run_json("solve", *MODEL, "--certificate", "c.cert")
    data = run_json("verify", *MODEL, "c.cert")
    assert data["proved"] is True
    assert solved["lower"] - 1e-6 <= data["lower"] <= -5.3425 <= data["upper"]
    assert data["checked"] > 50
    assert data["steps"] >= 7
    assert run("verify", *MODEL, "c.cert").stdout.startswith("cloud: proved")


def test_a_false_claim_is_refused(run: Run, run_json: RunJson) -> None:
    run("solve", *MODEL, "--certificate", "c.cert")
    certificate = json.loads(Path("c.cert").read_text())
    Path("false.cert").write_text(json.dumps(certificate | {"lower": -5.0}))
    assert "the lower claim does not hold" in run("verify", *MODEL, "false.cert", code=1).stderr
    data = run_json("verify", *MODEL, "false.cert", code=1)
    assert data["proved"] is False
    assert "lower claim" in data["reason"]


def test_foreign_damaged_and_missing_certificates(run: Run) -> None:
    run("solve", *MODEL, "--certificate", "c.cert")
    assert "for another model" in run("verify", "cloud", "c.cert", code=1).stderr
    Path("half.cert").write_text(Path("c.cert").read_text()[:100])
    assert "half.cert" in run("verify", *MODEL, "half.cert", code=1).stderr
    assert "comes last" in run("verify", "cloud", "c.cert", "exits=1", code=2).stderr


def test_a_discount_of_1_is_none(run_json: RunJson) -> None:
    solved = run_json("solve", "cloud", "--discount", "1", "--certificate", "c.cert")
    for discount in ((), ("--discount", "1")):
        assert run_json("verify", "cloud", "c.cert", *discount)["lower"] == solved["lower"]


def test_discounted_totals(run: Run, run_json: RunJson) -> None:
    """Betting with p = 0.6 does not end surely: without a discount, rewards add up forever."""
    model = ("gambler", "p=0.6")
    solved = run_json("solve", *model, "--discount", "0.9", "--certificate", "c.cert")
    assert 0 < solved["lower"] <= solved["upper"] < 10
    data = run_json("verify", *model, "c.cert", "--discount", "0.9")
    assert (data["lower"], data["theorems"]) == (solved["lower"], ["steps"])
    assert "for another model" in run("verify", *model, "c.cert", code=1).stderr
