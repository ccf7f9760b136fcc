"""``recurl pac``."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run, RunJson


def test_cloud_is_learned(run: Run, run_json: RunJson) -> None:
    data = run_json("pac", "cloud", "exits=1", "--epsilon", "0.1", "--delta", "0.01")
    assert data["lower"] <= -5.3425 <= data["upper"]
    assert data["upper"] - data["lower"] <= 0.1
    assert data["reached"]
    assert data["samples"] <= 0.01 * data["planned"]
    assert data["choices"] == {"T.u1": ["divide"], "S.u3": ["reliable"]}
    text = run("pac", "cloud", "exits=1", "--method", "plan").stdout
    assert "With probability 0.95, the optimum of cloud lies in" in text
    assert "Bound K on expected steps: 11.5" in text


def test_several_exits(run_json: RunJson, run: Run) -> None:
    data = run_json("pac", "cloud", "--discount", "0.5", "--epsilon", "1")
    assert data["numbers"]["Discount"] == 0.5
    assert data["lower"] <= data["value"] <= data["upper"]
    cut = run_json("pac", "cloud", "--drift", "4,0.15,9", "--epsilon", "2")
    assert cut["lower"] <= -5.3425 <= cut["upper"]
    assert "give a discount" in run("pac", "cloud", code=1).stderr


def test_counts_go_on_where_they_were(run_json: RunJson) -> None:
    options = ("pac", "gambler", "p=0.25", "--epsilon", "0.3", "--counts", "g.counts")
    first = run_json(*options, "--most", "500")
    assert not first["reached"]
    assert Path("g.counts").is_file()
    second = run_json(*options)
    assert second["reached"]
    whole = run_json(*options[:-2])
    assert (second["samples"], second["lower"]) == (whole["samples"], whole["lower"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "0"), "epsilon must be positive"),
        (("--delta", "2"), "delta in (0, 1)"),
        (("--method", "adaptiv"), "Did you mean 'adaptive'?"),
        (("--intervals", "x"), "Known: bernstein"),
        (("--drift", "1,2"), "three numbers"),
        (("--drift", "1,2,a"), "float"),
        (("--counts", "nowhere/c"), "there is no folder"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    arguments: tuple[str, str], message: str, run: Run
) -> None:
    assert message in run("pac", "cloud", "exits=1", *arguments, code=2).stderr
