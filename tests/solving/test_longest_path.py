from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving import longest_path
from recurl.solving.longest_path import solve_deterministic
from recurl.solving.question import Question


def ladder() -> recurl.RMDP:
    """A leaves by x for 1, or by y for 5; the caller then pays 10 or 0, or calls once more."""
    builder = recurl.Builder("ladder").component("main", entries="in", exits=["good", "bad"])
    builder.box("one", "A").box("two", "A").at("in").action("call").to("one")
    builder.at("one.x").action("up", reward=10).to("good")
    builder.at("one.y").action("up").to("bad").action("again", reward=-1).to("two")
    for exit_name in ("x", "y"):
        builder.at(f"two.{exit_name}").action("up").to("bad")
    builder.component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("x", reward=1).to("x").action("y", reward=5).to("y")
    return builder.build("main")


def test_by_hand() -> None:
    best = solve_deterministic(ladder(), Question(), 1e-6)
    assert best is not None
    assert (best.lower, best.upper) == (11.0, 11.0)
    least = solve_deterministic(ladder(), Question("min"), 1e-6)
    assert least is not None
    assert least.value == 5.0
    assert least.policy is not None
    assert recurl.evaluate(least.policy).value == 5.0


def test_exits_are_worth_something() -> None:
    found = solve_deterministic(ladder(), Question("max", "model", (0.0, 10.0)), 1e-6)
    assert found is not None
    assert found.value == 5 - 1 + 5 + 10
    assert recurl.solve(ladder(), of="exit:bad", objective="min").value == 0


@pytest.mark.parametrize(("stay", "go", "expected"), [(-1, -5, -5), (-1, -0.5, -0.5)])
def test_circles_that_cost_are_avoided(stay: float, go: float, expected: float) -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits="out")
    builder.at("in").action("stay", reward=stay).to("n").action("go", reward=go).to("out")
    builder.at("n").action("stay", reward=stay).to("n").action("go", reward=go).to("out")
    model = builder.build()
    assert recurl.solve(model).value == expected
    # Going round forever pays nothing by way of exits: it is the least.
    assert recurl.solve(model, of="exit:out", objective="min").upper == 0


def test_no_exit_in_sight() -> None:
    builder = recurl.Builder("shut").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward=-1).to("n").at("n").action("go", reward=-1).to("n")
    assert solve_deterministic(builder.build(), Question(), 1e-6) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("objective", ["max", "min"])
def test_settling_the_nearest_first_agrees_with_going_backwards(seed: int, objective: str) -> None:
    # Every step costs, so that both ways apply; a circle that nobody takes forces the second one.
    signs = {"max": -1.0, "min": 1.0}
    model = recurl.zoo.random_model(
        seed, components=3, nodes=8, kind="deterministic", reward_low=0.5, reward_high=2.0
    )
    text = recurl.dumps(model)
    plain = recurl.loads(text) if signs[objective] > 0 else _negated(text)
    expected = solve_deterministic(plain, Question(objective), 1e-6)
    assert expected is not None
    t = plain.tables
    graph = longest_path._Graph(plain, Question(objective))
    choice = np.zeros((t.n_vertices, t.max_exits), np.int32)
    best = graph.nearest_first(choice)
    order, ends = graph.callees_first()
    assert ends
    along = graph.along(order, choice)
    assert {key: best[key] for key in along} == along


def _negated(text: str) -> recurl.RMDP:
    model = recurl.loads(text)
    return recurl.RMDP.from_arrays(
        model.tables.layout,
        action_start=model.tables.action_start,
        transition_start=model.tables.transition_start,
        target=model.tables.target,
        prob=model.tables.prob,
        reward=-model.tables.reward,
        start_component=model.tables.start_component,
        start_prob=model.tables.start_prob,
    )


def test_a_circle_that_earns_has_no_longest_path() -> None:
    builder = recurl.Builder("round").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n")
    builder.at("n").action("round", reward=1).to("n").action("leave").to("out")
    assert solve_deterministic(builder.build(), Question(), 1e-6) is None
