"""``recurl simulate``."""

from __future__ import annotations

from pathlib import Path

import pytest

from recurl.policy import Policy
from recurl.simulation.rollout import simulate
from recurl.zoo import cloud, gambler

from .conftest import Run, RunJson


def test_returns_may_be_discounted(run_json: RunJson) -> None:
    expected = simulate(cloud(), episodes=300, gamma=0.9)
    data = run_json("simulate", "cloud", "--episodes", "300", "--discount", "0.9")
    assert (data["return"]["mean"], data["discount"]) == (expected.mean, 0.9)


def test_returns_may_be_discounted_by_boxes(run: Run, run_json: RunJson) -> None:
    expected = simulate(gambler(), episodes=300, box_gamma=0.9)
    data = run_json("simulate", "gambler", "--episodes", "300", "--box-discount", "0.9")
    assert (data["return"]["mean"], data["box_discount"]) == (expected.mean, 0.9)
    several = run("simulate", "cloud", "--box-discount", "0.9", code=1)
    assert "has 2 exits" in several.stderr


def test_the_numbers_are_those_of_the_library(run: Run, run_json: RunJson) -> None:
    expected = simulate(cloud(), episodes=300, seed=7)
    data = run_json("simulate", "cloud", "--episodes", "300", "--seed", "7")
    assert data == {
        "model": "cloud",
        "policy": "uniform",
        "episodes": 300,
        "seed": 7,
        "step_limit": 1_000_000,
        "return": {
            "mean": expected.mean,
            "min": expected.returns.min(),
            "max": expected.returns.max(),
            "standard_error": expected.standard_error,
        },
        "length": {
            "mean": expected.lengths.mean(),
            "min": expected.lengths.min(),
            "max": expected.lengths.max(),
        },
        "depth": {
            "mean": expected.depths.mean(),
            "min": expected.depths.min(),
            "max": expected.depths.max(),
        },
        "truncated": 0,
        "traces": [],
    }
    text = run("simulate", "cloud", "--episodes", "300", "--seed", "7").stdout
    assert "300 episodes, policy uniform" in text
    assert f"{expected.mean:.6g} ± " in text


def test_a_policy_file_is_followed(run: Run, run_json: RunJson) -> None:
    Policy.stackless(cloud(), {"T.u1": "mono"}).save("mono.json")
    data = run_json("simulate", "cloud", "--policy", "mono.json", "--episodes", "9")
    assert (data["return"]["mean"], data["length"]["max"], data["depth"]["max"]) == (-8, 1, 1)
    wrong = run("simulate", "cloud", "exits=1", "--policy", "mono.json", code=1)
    assert "for another model" in wrong.stderr
    Path("bad.json").write_text("{")
    assert "bad.json" in run("simulate", "cloud", "--policy", "bad.json", code=1).stderr
    assert "file not found" in run("simulate", "cloud", "--policy", "none.json", code=2).stderr


def test_a_cut_episode_is_reported(run: Run, run_json: RunJson) -> None:
    arguments = ("simulate", "gambler", "p=0.9", "--step-limit", "50", "--episodes", "100")
    cut = int(simulate(gambler(p=0.9), episodes=100, step_limit=50).truncated.sum())
    assert 0 < cut < 100
    assert run_json(*arguments)["truncated"] == cut
    assert f"{cut} episodes cut at the step limit" in run(*arguments).stdout
    assert "cut" not in run("simulate", "cloud").stdout


def test_traces_are_indented_by_depth(run: Run, run_json: RunJson) -> None:
    arguments = ("simulate", "cloud", "--episodes", "2", "--trace", "2", "--seed", "4")
    text = run(*arguments).stdout
    first, second = simulate(cloud(), episodes=2, seed=4, traces=2).traces
    assert f"episode 0: {len(first)} steps\n{first}\n" in text
    assert str(second) in text
    steps = run_json(*arguments)["traces"][0]
    assert steps[0] == {"vertex": "T.u1", "action": "divide", "reward": -0.5, "depth": 1}
    assert [step["depth"] for step in steps] == [1 + len(step.stack) for step in first]


def test_a_long_and_deep_trace_stays_readable(run: Run) -> None:
    text = run(
        "simulate", "gambler", "p=0.999", "--episodes", "1", "--trace", "1", "--step-limit", "500"
    ).stdout
    lines = text.splitlines()
    assert len(lines) < 110
    assert "... and 400 more steps (all with --json)" in lines
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    "arguments",
    [
        ("--episodes", "0"),
        ("--episodes", "many"),
        ("--seed", "-1"),
        ("--step-limit", "0"),
        ("--step-limit", "99999999999999999999"),
        ("--trace", "-1"),
    ],
)
def test_numbers_out_of_range_are_usage_errors(arguments: tuple[str, str], run: Run) -> None:
    assert arguments[0] in run("simulate", "cloud", *arguments, code=2).stderr
