"""MODEL and KEY=VALUE: zoo names, files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run

from recurl.cli.models import read_model
from recurl.cli.output import UsageError
from recurl.errors import DocumentError, UnknownNameError
from recurl.model.document import dump
from recurl.zoo import cloud, spelunking


def test_a_name_with_parameters_is_a_model_of_the_zoo() -> None:
    assert read_model("cloud") == cloud()
    assert read_model("cloud", ["exits=1"]) == cloud(exits=1)
    assert read_model("spelunking", ["trap=0.9", "discount=1/2"]) == spelunking(
        trap=0.9, discount="1/2"
    )


def test_a_file_is_read(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.json", "c.yml"):
        dump(cloud(), tmp_path / name)
        assert read_model(str(tmp_path / name)) == cloud()


def test_a_path_names_a_file_even_if_the_zoo_knows_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dump(cloud(exits=1), "cloud.yaml")
    Path("cloud.yaml").rename("cloud")
    assert read_model("cloud") == cloud()
    assert read_model("./cloud") == cloud(exits=1)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("clowd", [], "Unknown model 'clowd'. Did you mean 'cloud'?"),
        ("spelunking", ["tarp=0.9"], "parameter of spelunking 'tarp'. Did you mean 'trap'?"),
    ],
)
def test_an_unknown_name_is_answered_with_a_close_one(
    name: str, parameters: list[str], message: str
) -> None:
    with pytest.raises(UnknownNameError, match=message.replace("?", r"\?")):
        read_model(name, parameters)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("cloud", ["1"], "'1' is not a parameter of cloud"),
        ("cloud", ["exits=3"], "exits"),
        ("cloud", ["exits=many"], "exits"),
        ("cloud", ["exits=1", "exits=2"], "twice"),
        ("gambler", ["p=2"], "p must be in"),
        ("nothing.yaml", [], "nothing.yaml: file not found"),
        ("no/such/model", [], "file not found"),
    ],
)
def test_a_wrong_word_is_a_usage_error(name: str, parameters: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_model(name, parameters)


def test_a_file_takes_no_parameters(tmp_path: Path) -> None:
    dump(cloud(), tmp_path / "a.yaml")
    with pytest.raises(UsageError, match=r"is a file, which takes .*: exits=1"):
        read_model(str(tmp_path / "a.yaml"), ["exits=1"])


def test_a_damaged_file_is_a_document_error(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\x00\xff\xfe binary")
    with pytest.raises(DocumentError, match=r"a\.yaml"):
        read_model(str(path))


WORLD = """
recurl: 1
grid: {map: "S.A/..B", slip: 1/10, breakdown: 0.2}
machine:
  exclusive: [[A, B]]
  rules:
    - {from: go, read: A, push: A _}
    - {from: go, read: B, top: A, push: "", reward: 1}
"""
FILES = {
    "world.yaml": WORLD,
    "grid.yaml": "{recurl: 1, grid: {map: S.G, ends: G, breakdown: 0.1, rewards: {G: 1}}}",
    "machine.yaml": "{recurl: 1, machine: {final: end, rules: [{from: go, to: end, read: a}]}}",
    "grammar.yaml": "{recurl: 1, grammar: {W: ['W W [0.4] {1}', '[0.6]']}}",
    "task.txt": "0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n(0,0,'!a',ConstantRewardFunction(0))",
}


@pytest.mark.parametrize("name", FILES)
def test_grids_machines_and_grammars_are_models(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    path = str(tmp_path / name)
    assert "valid" in run("check", path).stdout
    assert "actions" in run("describe", path).stdout
    assert "greatest expected total" in run("solve", path, "--epsilon", "1e-3").stdout
    assert run("learn", path, "--steps", "1000", "--out", str(tmp_path / "runs")).stdout
    (tmp_path / name).write_text("recurl: 1\ngrid: {map: S.A, slip: 2}")
    assert "line" in run("check", path, code=1).stderr


def test_how_to_read_a_file_is_said_with_key_and_value(run: Run) -> None:
    run("convert", "cloud", "--depth", "2", "a.umb")
    assert "exits" in run("describe", "a.umb", "goal=deeper").stdout
    assert "unknown label 'x'" in run("describe", "a.umb", "goal=x", code=1).stderr
    assert "which takes constants, goal" in run("describe", "a.umb", "p=1", code=2).stderr
    assert "given twice" in run("describe", "a.umb", "rewards=a", "rewards=b", code=2).stderr
    assert "NAME=VALUE" in run("describe", "a.umb", "constants=N", code=2).stderr


def test_a_property_is_the_question(run: Run) -> None:
    run("convert", "cloud", "--depth", "2", "a.umb")
    out = run("solve", "a.umb", "--property", 'Pmin=? [ F "u2" ]').stdout
    assert "the least probability to leave by goal" in out
    assert "globally (G)" in run("solve", "a.umb", "--property", "Pmax=? [ G x ]", code=1).stderr
