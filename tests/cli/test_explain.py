"""``recurl explain``."""

from __future__ import annotations

from .conftest import Run, RunJson


def test_actions_margins_and_visits(run: Run, run_json: RunJson) -> None:
    run("learn", "cloud", "--steps", "2e4", "--seeds", "2", "--out", "a")
    data = run_json("explain", "a", "--seed", "1", "--contexts", "1")
    assert [one["component"] for one in data] == ["T", "S", "H"]
    first = data[0]["choices"][0]
    assert (first["vertex"], first["action"]) == ("u1", "divide")
    assert 1 < first["margin"] < 4
    text = run("explain", "a").stdout
    assert "In component S (learned from" in text
    assert "where all exits are worth the same" in text
    assert "where it is better to leave through u7 by 0." in text
    assert "only choice" in text
    assert "no run with seed 7" in run("explain", "a", "--seed", "7", code=2).stderr
