from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.definition import landing, models

import recurl
from recurl.model.rmdp import RMDP


@given(models())
def test_every_step_is_one_that_the_definition_allows(model: RMDP) -> None:
    t = model.tables
    walk = recurl.Walk(model, np.random.default_rng(2))
    for number in range(40):
        if walk.ended:
            assert walk.height == 0
            walk.restart()
        vertex, stack = walk.vertex, tuple(walk.stack)
        assert walk.height == len(stack) + 1
        step = walk.step(number % walk.n_actions)
        action = t.action_start[vertex] + number % np.diff(t.action_start)[vertex]
        assert t.transition_start[action] <= step.transition < t.transition_start[action + 1]
        after = landing(model, stack, int(t.target[step.transition]))
        assert step.ended == walk.ended == (after is None)
        if after is not None:
            assert (tuple(walk.stack), walk.vertex) == after
        assert step.reward == t.reward[step.transition]
        change = {"call": 1, "return": -1, None: 0}[step.event]
        assert len(walk.stack) == len(stack) + (0 if step.ended else change)


def test_what_a_call_and_a_return_say() -> None:
    model = recurl.zoo.succinct(2)
    walk = recurl.Walk(model, np.random.default_rng(0))
    call, back = walk.step(0), walk.step(0)
    assert (call.event, call.box, call.exit) == ("call", 0, None)
    assert (back.event, back.box, back.exit) == ("return", 0, 0)
    while not walk.ended:
        last = walk.step(0)
    assert (last.event, last.box, last.exit, last.ended) == (None, None, 0, True)


def test_starts_and_steps_follow_their_distributions() -> None:
    model = (
        recurl.Builder()
        .component("A", entries=["x", "y"], exits=["l", "r"])
        .at("x").action("go").to("l", 0.9).to("r", 0.1)
        .at("y").action("go").to("l", 0.2).to("r", 0.8)
        .build({"A.x": "1/4", "A.y": "3/4"})
    )  # fmt: skip
    walk, rng = recurl.Walk(model, np.random.default_rng(0)), np.random.default_rng(1)
    counts = np.zeros((2, 2))
    for _ in range(20_000):
        vertex = walk.restart(rng)
        counts[vertex, walk.step(0).exit] += 1
    expected = np.array([[0.25 * 0.9, 0.25 * 0.1], [0.75 * 0.2, 0.75 * 0.8]])
    np.testing.assert_allclose(counts / 20_000, expected, atol=5 * np.sqrt(0.25 / 20_000))


def test_errors_say_what_to_do() -> None:
    walk = recurl.Walk(recurl.zoo.cloud(), np.random.default_rng(0))
    for action in (-1, 2):
        with pytest.raises(ValueError, match=r"T\.u1 has 2 actions, and -?\d+ is not among them"):
            walk.step(action)
    walk.step(0)
    with pytest.raises(ValueError, match=r"the run is over: call restart\(\)"):
        walk.step(0)
