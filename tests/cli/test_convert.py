"""``recurl convert``."""

from __future__ import annotations

from pathlib import Path

import recurl
from recurl.model.document import load
from recurl.zoo import cloud

from .conftest import Run, RunJson


def test_a_model_goes_round_through_both_formats(run: Run) -> None:
    assert run("convert", "cloud", "exits=1", "a.yaml").stdout == "cloud written to a.yaml\n"
    run("convert", "a.yaml", "b.json")
    run("convert", "b.json", "c.yml")
    assert Path("b.json").read_text().startswith("{")
    assert Path("c.yml").read_text() == Path("a.yaml").read_text()
    assert load("c.yml") == load("b.json") == cloud(exits=1)


def test_machines_get_the_fingerprint(run_json: RunJson) -> None:
    assert run_json("convert", "cloud", "a.json") == {
        "model": "cloud",
        "file": "a.json",
        "fingerprint": cloud().fingerprint,
    }


def test_a_target_that_cannot_be_is_refused(run: Run) -> None:
    assert "must end in" in run("convert", "cloud", "a.txt", code=2).stderr
    assert "come last" in run("convert", "cloud", "a.yaml", "exits=1", code=2).stderr
    assert "does not exist" in run("convert", "cloud", "nowhere/a.yaml", code=2).stderr
    assert list(Path.cwd().iterdir()) == []


def test_formats_without_calls_get_the_states(run: Run) -> None:
    run("convert", "succinct", "n=3", "flat.umb")
    assert "expected total reward is 7" in run("solve", "flat.umb").stdout
    assert "can reach a call of itself" in run("convert", "cloud", "a.umb", code=1).stderr
    run("convert", "cloud", "--depth", "2", "a.umb")
    run("convert", "a.umb", "goal=u2", "goal=deeper", "b.yaml")
    assert load("b.yaml").tables.n_exits.tolist() == [2]


def test_recursive_models_become_rules_of_pushdown_systems(run: Run) -> None:
    run("convert", "cloud", "rules.pds")
    run("convert", "rules.pds", "cloud.yaml")
    assert recurl.solve(load("cloud.yaml")).value == recurl.solve(cloud()).value
    assert "-5.342" in run("solve", "rules.pds").stdout
    assert "pushdown systems" in run("formats").stdout
