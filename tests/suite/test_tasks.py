from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import make_suite
from recurl.env.protocol import check_recursive_env
from recurl.errors import UnknownNameError
from recurl.model.certificate import Certificate
from recurl.suite.tasks import FAMILIES, SIZES, TASKS, find_setting, settings
from recurl.verification import verify


def test_there_are_twenty_tasks_in_four_families_at_three_sizes() -> None:
    assert len(TASKS) == 20
    assert len(FAMILIES) == 4
    assert {task.family for task in TASKS} == set(FAMILIES)
    assert len({one.name for one in settings()}) == 60
    assert {task.exits for task in TASKS} == {"one", "several"}
    assert {task.reward for task in TASKS} == {"dense", "sparse"}
    assert {task.horizon for task in TASKS} == {"short", "long"}
    assert {task.observation for task in TASKS} == {"index", "vector", "image"}


@pytest.mark.parametrize("setting", settings(), ids=lambda one: one.name)
def test_what_is_known_is_consistent(setting) -> None:
    known = setting.known
    low, high = known.optimum
    assert low <= high
    assert high - low <= 2e-6
    # Intervals of other policies may overlap that of the optimum, but not lie above it.
    assert known.stackless[0] <= high
    assert known.uniform[1] < low
    assert known.score(low) == pytest.approx(1, abs=2e-5)
    assert known.score(known.uniform[0] - 1) == 0
    assert known.score(known.optimum[1] + 1) == 1  # as a mean of lucky episodes may be
    assert len(known.certificate) == 64


@pytest.mark.parametrize("task", TASKS, ids=lambda one: one.name)
def test_tags_say_what_is_true(task) -> None:
    small, large = (find_setting(f"{task.name}-{size}") for size in ("small", "large"))
    assert (task.exits == "one") == small.model().kind.one_exit
    assert (task.horizon == "long") == (large.known.steps >= 20)
    assert small.known.vertices <= large.known.vertices
    if task.exits == "one":
        assert small.known.stackless_is == "exact"
        assert small.known.stackless[1] >= small.known.optimum[0]


@pytest.mark.parametrize("name", ["epidemic-small", "words-small", "maze-vector-small"])
def test_what_is_known_is_found_again(name: str, tmp_path: Path) -> None:
    setting = find_setting(name)
    known, again = setting.known, make_suite.known(setting, tmp_path)
    assert again.fingerprint == known.fingerprint == setting.model().fingerprint
    for kept, found in (
        (known.optimum, again.optimum),
        (known.stackless, again.stackless),
        (known.uniform, again.uniform),
    ):
        assert kept[0] <= found[1]
        assert found[0] <= kept[1]
    proof = Certificate.load(tmp_path / f"{name}.cert")
    assert (verify(setting.model(), proof).lower, again.optimum[0]) == (again.optimum[0],) * 2


@pytest.mark.parametrize("name", ["fishery-small", "maze-3-small", "battery-small"])
def test_models_are_those_that_the_facts_are_about(name: str) -> None:
    setting = find_setting(name)
    assert setting.model().fingerprint == setting.known.fingerprint


@pytest.mark.parametrize("name", ["words-small", "maze-vector-small", "battery-image-small"])
def test_environments_keep_the_protocol(name: str) -> None:
    check_recursive_env(find_setting(name).env(), steps=300)


def test_a_search_finds_the_best_stackless_policy_that_trying_all_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import recurl

    model = recurl.zoo.stack_matters()
    solution = recurl.solve(model)
    tried, exact = make_suite.best_stackless(model, solution)
    monkeypatch.setattr(make_suite, "FEW", 0.5)
    searched, proved = make_suite.best_stackless(model, solution)
    assert exact
    assert not proved
    assert tried[0] == pytest.approx(0.5)
    assert searched[0] == pytest.approx(tried[0], abs=1e-9)


def test_slopes_are_those_of_the_value() -> None:
    """A gain is the derivative: checked by the value of a policy that mixes in an action."""
    import recurl

    model = recurl.zoo.leaky_pfa()
    base = recurl.Policy.uniform(model)
    slopes = make_suite.gains(base)
    start = model.tables.action_start
    # The gains of all actions of a vertex add up to 0 under the uniform policy.
    for vertex in np.flatnonzero(np.diff(start) > 1):
        assert slopes[start[vertex] : start[vertex + 1]].sum() == pytest.approx(0, abs=1e-6)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="words"):
        settings(["word"])
    with pytest.raises(UnknownNameError, match="small"):
        settings(sizes=["smal"])
    with pytest.raises(UnknownNameError, match="words-small"):
        find_setting("words-smal")
    assert len(settings(["one exit"], SIZES[:1])) == 6
