"""Any model, adaptively: bounds hold for every model of the sets, and as often as claimed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learn.pac.members import member

import recurl
from recurl.learn.pac.access import ModelAccess, with_probabilities
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.contexts import for_model
from recurl.learn.pac.general import General, Plain, learn_general
from recurl.learn.pac.intervals import FAMILIES
from recurl.learn.pac.one_exit import Task

MODELS = [
    recurl.zoo.cloud(),
    recurl.zoo.stack_matters(),
    *(recurl.zoo.random_model(seed=s, components=2, nodes=4, exits=2) for s in range(2)),
    recurl.zoo.random_model(seed=4, components=2, nodes=3, exits=2, entries=2, successors=3),
]


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(MODELS), st.sampled_from(FAMILIES))
def test_every_model_of_the_sets_has_its_value_within_the_bounds(
    seed: int, model: recurl.RMDP, family: str
) -> None:
    access = ModelAccess(model, seed)
    random = np.flatnonzero(access.support > 1)
    access.raise_levels(random, by=20)
    task = Task(1e6, 0.1, intervals=family)
    run = General(access, task, Plain())
    run.run()
    assert run.reached
    sets = sets_of(access.view(), family, task.delta)
    drawn = with_probabilities(model, member(sets, model, np.random.default_rng(seed)))
    solution = recurl.solve(drawn, epsilon=1e-7)
    assert run.lower <= solution.upper
    assert solution.lower <= run.upper
    assert run.policy is not None
    assert recurl.evaluate(for_model(run.policy, drawn)).value >= run.lower - 1e-9


def test_repetitions_hold_as_often_as_claimed_at_every_look() -> None:
    model, held = recurl.zoo.cloud(), 0
    truth = recurl.solve(model, epsilon=1e-7).value
    for seed in range(10):
        looks: list[bool] = []
        task = Task(
            0.5,
            0.1,
            seed=seed,
            callback=lambda low, high, _, looks=looks: looks.append(low <= truth <= high),  # type: ignore[misc]
        )
        found = learn_general(model, task)
        assert found.reached
        assert found.upper - found.lower <= 0.5
        held += all(looks)
    assert held >= 9


def test_several_exits_need_no_assumption() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=4)
    found = learn_general(model, Task(0.3, 0.05, seed=1))
    truth = recurl.solve(model).value
    assert found.reached
    assert found.lower <= truth <= found.upper
    assert found.policy is not None
    assert recurl.evaluate(found.policy).value >= truth - found.loss
    assert "no plan beforehand" in found.statement


def test_samples_go_where_the_value_hangs_on_them() -> None:
    """Of two gambles, one hardly matters: it pays a thousandth."""
    model = (
        recurl.Builder("two")
        .component("A", entries="in", exits=["out", "odd"])
        .at("in").action("go").to("x", 0.5, reward=1).to("y", 0.5, reward=-1)
        .at("x").action("toss").to("out", 0.5, reward=0.001).to("odd", 0.5)
        .at("y").action("toss").to("out", 0.5, reward=0.001).to("odd", 0.5)
        .build()
    )  # fmt: skip
    access = ModelAccess(model, 1)
    General(access, Task(0.05, 0.1), Plain()).run()
    much, little, least = access.pair_samples()
    assert much > 10 * max(little, least)


def test_what_may_never_end_is_said() -> None:
    model = (
        recurl.Builder("loop")
        .component("A", entries="in", exits=["out", "odd"])
        .at("in").action("go").to("x", 0.5).to("odd", 0.5)
        .at("x").action("stay", reward=1).to("x").action("leave").to("out")
        .build()
    )  # fmt: skip
    found = learn_general(model, Task(0.1, 0.1, most=100))
    assert found.upper == math.inf
    assert not found.reached
    assert any("never ends" in text for text in found.warnings)


def test_counts_are_resumed(tmp_path: Path) -> None:
    model, file = recurl.zoo.cloud(), tmp_path / "counts"
    short = learn_general(model, Task(0.3, 0.1, seed=3, most=200, checkpoint=file))
    assert not short.reached
    whole = learn_general(model, Task(0.3, 0.1, seed=3, checkpoint=file))
    assert whole.reached
    again = learn_general(model, Task(0.3, 0.1, seed=3, checkpoint=file))
    assert again.samples == whole.samples > short.samples


def test_a_model_without_chance_needs_no_sample() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=3, kind="deterministic", exits=2)
    found = learn_general(model, Task(0.01, 0.1))
    assert found.samples == 0
    assert found.value == pytest.approx(recurl.solve(model).value, abs=0.01)
