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
    data = run_json("pac", "cloud", "--discount", "0.5", "--epsilon", "0.5")
    assert data["numbers"]["Discount"] == 0.5
    assert data["lower"] <= data["value"] <= data["upper"]
    cut = run_json("pac", "cloud", "--drift", "4,0.15,9", "--epsilon", "3")
    plain = run_json("pac", "cloud", "--epsilon", "0.3")
    for found, width in ((cut, 3), (plain, 0.3)):
        assert found["lower"] <= -5.34248 <= found["upper"]
        assert found["upper"] - found["lower"] <= width
        assert found["choices"]["T.u1"] == ["divide"]
    assert "give a discount" in run("pac", "cloud", "--method", "plan", code=1).stderr


def test_contradicted_assumptions_are_in_the_statement(run: Run) -> None:
    done = run("pac", "cloud", "--drift", "1.2,0.15,9", "--epsilon", "8")
    assert "Warning: under" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("access", ["generative", "episodes"])
def test_a_model_as_an_environment(access: str, run_json: RunJson) -> None:
    bounds = ("--steps", "6", "--reward-bound", "1", "--support", "2", "--starts", "1")
    options = ("pac", "gambler", "p=0.25", "--access", access, *bounds, "--epsilon", "1.5")
    short = run_json(*options, "--counts", "seen", "--most", "600")
    whole = run_json(*options, "--counts", "seen")
    assert not short["reached"]
    assert whole["reached"]
    assert whole["lower"] <= 3 <= whole["upper"]
    assert whole["numbers"]["Access"] == access
    assert any("may exist" in text for text in whole["unseen"])


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
        (("--epsilon", "0"), "--epsilon"),
        (("--delta", "2"), "--delta"),
        (("--method", "adaptiv"), "Did you mean 'adaptive'?"),
        (("--intervals", "x"), "Known: bernstein"),
        (("--drift", "1,2"), "three numbers"),
        (("--drift", "1,2,a"), "float"),
        (("--counts", "nowhere/c"), "the folder nowhere does not exist"),
        (("--access", "episode"), "Did you mean 'episodes'?"),
        (("--access", "episodes"), "give `steps`"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    arguments: tuple[str, str], message: str, run: Run
) -> None:
    assert message in run("pac", "cloud", "exits=1", *arguments, code=2).stderr


def test_a_discount_of_1_is_none(run_json: RunJson) -> None:
    given = ("pac", "gambler", "p=0.25", "--epsilon", "1")
    assert run_json(*given, "--discount", "1") == run_json(*given)
