"""``recurl explain``."""

from __future__ import annotations

from .conftest import Run, RunJson


def test_actions_margins_and_visits(run: Run, run_json: RunJson) -> None:
    run("learn", "cloud", "--steps", "2e4", "--seeds", "2", "--out", "a")
    data = run_json("explain", "a", "--seed", "1", "--contexts", "1")
    assert [one["component"] for one in data["contexts"]] == ["T", "S", "H"]
    first = data["contexts"][0]["choices"][0]
    assert (first["vertex"], first["action"]) == ("u1", "divide")
    assert 1 < first["margin"] < 4
    text = run("explain", "a").stdout
    assert "In component S (learned from" in text
    assert "where all exits are worth the same" in text
    assert "where it is better to leave through u7 by 0." in text
    assert "only choice" in text
    assert "no run has seed 7" in run("explain", "a", "--seed", "7", code=2).stderr


def test_rules_come_first(run: Run, run_json: RunJson) -> None:
    run("learn", "cloud", "--steps", "2e4", "--out", "a")
    text = run("explain", "a").stdout
    assert text.startswith("Policy for cloud: by context")
    assert text.index("visits per run") < text.index("learned from")
    data = run_json("explain", "a", "T.u1")
    assert (data["rules"][0]["rule"], data["contexts"]) == ("divide", [])
    assert "learned from" not in run("explain", "a", "H.u5").stdout
    assert "Did you mean" in run("explain", "a", "H.u55", code=2).stderr


def test_networks_are_explained_by_the_same_rules(run: Run) -> None:
    run(
        "learn",
        "cloud",
        "--algorithm",
        "deep-rql",
        "--steps",
        "60",
        "--evaluate-every",
        "50",
        "--out",
        "a",
    )  # as in test_learn.py: compiled once
    assert "T.u1" in run("explain", "a").stdout
