"""Assumptions against simulated runs."""

from __future__ import annotations

import recurl
from recurl.learn.pac.drift import Drift
from recurl.learn.pac.drift_check import contradictions


def test_what_holds_is_not_contradicted() -> None:
    assert contradictions(recurl.zoo.cloud(), Drift(height=4, fall=0.15, value=9)) == ()


def test_what_always_holds_is_not_contradicted() -> None:
    for seed in range(3):
        model = recurl.zoo.random_model(seed=seed, components=2, nodes=4)
        steps = recurl.analyse(model).bound_everywhere
        assert contradictions(model, Drift.of_steps(steps, 1.0)) == ()


def test_stacks_that_are_too_high_are_found() -> None:
    found = contradictions(recurl.zoo.cloud(), Drift(1.2, 0.15, 9))
    assert any("c_o = 1.2" in text for text in found)


def test_levels_that_are_worth_too_much_are_found_within_runs_too() -> None:
    model = (
        recurl.Builder("inside")
        .component("A", entries="in", exits="out").box("c", "B")
        .at("in").action("call", reward=-5).to("c")
        .at("c.out").action("up").to("out")
        .component("B", entries="in", exits="out")
        .at("in").action("go", reward=5).to("out")
        .build()
    )  # fmt: skip
    assert contradictions(model, Drift(3, 0.5, 5)) == ()
    found = contradictions(model, Drift(3, 0.5, 4))
    assert found == ("under the uniform policy a level entered at B.in is worth 5, beyond b = 4",)
