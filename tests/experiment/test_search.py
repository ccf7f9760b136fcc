from __future__ import annotations

from typing import Any

import pytest

from recurl.experiment.search import Range, read_search

TREE: dict[str, Any] = {
    "models": {"cloud": {"steps": "100"}, "gambler": ""},
    "methods": {"mine": {"algorithm": "rql", "preset": "paper"}},
    "steps": "1e3",
    "seeds": "3",
    "trials": "8",
    "search": {
        "learning_rate": {"low": "0.01", "high": "1.0", "log": "true"},
        "replay": {"low": "0", "high": "8"},
        "exploration": ["0.1", "linear(1, 0.1, 500)"],
    },
}


def test_a_search_is_an_experiment_with_a_space_and_a_budget() -> None:
    search = read_search(TREE)
    assert search.trials == 8
    assert search.space["learning_rate"] == Range(0.01, 1.0, True)
    assert search.space["exploration"] == (0.1, "linear(1, 0.1, 500)")
    cloud, gambler = search.trial(5, {"replay": 2})
    assert (cloud.steps, gambler.steps) == (100, 1000)
    assert [run.name for run in cloud.runs()] == ["trial-5-0", "trial-5-1", "trial-5-2"]
    assert next(cloud.runs()).settings == {"preset": "paper", "replay": 2}


def test_the_last_rung_is_the_end() -> None:
    search = read_search({**TREE, "rungs": "3"})
    cloud = search.experiments[0]
    assert [search.rung_steps(cloud, rung) for rung in range(3)] == [34, 67, 100]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": None}, "trials"),
        ({"search": {}}, "names no settings"),
        ({"search": {"alpha": ["1"]}}, "did you mean learning_rate"),
        ({"search": {"learning_rate": ["7"]}}, "rates must lie within"),
        ({"search": {"learning_rate": {"low": "1", "high": "0.1"}}}, "neither a list of values"),
        ({"search": {"learning_rate": {"low": "0", "high": "1", "log": "true"}}}, "neither"),
        ({"methods": {"a": {}, "b": {}}}, "one method"),
    ],
)
def test_what_cannot_be_searched_is_refused(change: dict[str, Any], message: str) -> None:
    tree = {key: value for key, value in {**TREE, **change}.items() if value is not None}
    with pytest.raises((ValueError, TypeError), match=message):
        read_search(tree)
