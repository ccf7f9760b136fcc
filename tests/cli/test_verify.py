"""``recurl verify``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recurl.verification.proved import proved_program

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


def test_a_discount_by_boxes_is_one_of_the_model(run_json: RunJson) -> None:
    single = ("cloud", "exits=1")
    solved = run_json("solve", *single, "--box-discount", "0.9", "--certificate", "c.cert")
    assert solved["lower"] > -5
    data = run_json("verify", *single, "c.cert", "--box-discount", "0.9")
    assert data["proved"] is True
    assert data["lower"] == pytest.approx(solved["lower"])
    other = run_json("verify", *single, "c.cert", code=1)
    assert "for another model" in other["reason"]


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


COIN = """mdp
const int N;
module coin
 s : [0..2] init 0;
 [a] s=0 -> 0.5:(s'=1) + 0.5:(s'=2);
 [b] s=0 -> 0.25:(s'=1) + 0.75:(s'=2);
 [] s>0 -> true;
endmodule
label "goal" = s=N;
"""


def test_the_property_and_the_constants_of_a_flat_model(
    run: Run, run_json: RunJson, tmp_path: Path
) -> None:
    pytest.importorskip("stormpy")
    (tmp_path / "coin.prism").write_text(COIN)
    model, proof = str(tmp_path / "coin.prism"), str(tmp_path / "coin.cert")
    asked = ["--constants", "N=1", "--property", 'Pmax=? [ F "goal" ]']
    run("solve", model, *asked, "--certificate", proof)
    verdict = run_json("verify", model, proof, *asked)
    assert verdict["claim"] == "greatest probability to leave by goal"
    assert verdict["lower"] <= 0.5 <= verdict["upper"]
    run("verify", model, proof, "--constants", "N=2", *asked[2:], code=1)


@pytest.mark.skipif(
    proved_program() is None, reason="the proved checker is not built (make proved)"
)
def test_the_proved_checker_reads_tables_and_documents(run: Run, run_json: RunJson) -> None:
    run("solve", *MODEL, "--certificate", "c.cert")
    run("convert", *MODEL, "cloud.json")
    said = run("verify", *MODEL, "c.cert", "--proved").stdout
    assert said.startswith("cloud: proved: the greatest expected total reward lies in [-5.34")
    assert "table file" in said
    data = run_json("verify", "cloud.json", "c.cert", "--proved")
    assert "its document" in data["read"]
    assert float(data["lower"]) <= -5.3425 <= float(data["upper"]) + 1e-4
    certificate = json.loads(Path("c.cert").read_text())
    Path("false.cert").write_text(json.dumps(certificate | {"lower": -5.0}))
    data = run_json("verify", *MODEL, "false.cert", "--proved", code=1)
    assert data["proved"] is False
