from __future__ import annotations

import math

import pytest
from tests.solving.references import retry_client, stop_or_bet, stuck
from tests.solving.test_improper import two_ways, walk

import recurl
from recurl.solving.infinite import can_go_on, must_go_on
from recurl.solving.question import Question


def shut() -> recurl.RMDP:
    """Calls itself forever: recursive, two exits, neither of which can be reached."""
    builder = recurl.Builder("shut").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go", reward=-1).to("a").action("come", reward=-2).to("a")
    for name in ("x", "y"):
        builder.at(f"a.{name}").action("up", reward=-1).to(name)
    return builder.build()


def toss() -> recurl.RMDP:
    """One time in three a run gets stuck, after some rounds of tossing, where it is paid."""
    builder = recurl.Builder("toss").component("A", entries="in", exits=["x", "y"])
    for vertex in ("in", "again"):
        builder.at(vertex).action("toss", reward=-1).to("x", "1/3").to("pit", "1/3")
        builder.to("again", "1/3").action("leave", reward=5).to("y")
    return builder.at("pit").action("stay", reward="0.1").to("pit").build()


def trap_behind_a_call() -> recurl.RMDP:
    """A call that surely returns has no visits; so there is no room for rounding at its entry."""
    builder = recurl.Builder("trap").component("A", entries="in", exits="out")
    builder.box("again", "A").box("done", "B")
    builder.at("in").action("go").to("on", 0.55).to("out", 0.45)
    builder.at("on").action("go", reward=1).to("again", 0.5).to("ring", 0.5)
    builder.at("ring").action("go").to("ring", 0.5).to("done", 0.5)
    builder.at("again.out").action("go", reward=1).to("done", 0.3).to("ring", 0.3).to("on", 0.4)
    builder.at("done.out").action("go", reward=2.5).to("done", 0.55).to("ring", 0.45)
    builder.component("B", entries="in", exits="out").at("in").action("go").to("out")
    return builder.build()


def balanced() -> recurl.RMDP:
    """As many calls as returns on average: visits are 1 to 9 to 10, which leaves no room."""
    builder = recurl.Builder("balanced").component("A", entries="in", exits="out").box("b", "A")
    builder.at("in").action("go").to("out", 0.9).to("b", 0.1)
    builder.at("b.out").action("up").to("out", 0.5).to("b", 0.5)
    builder.action("again").to("b", 0.9).to("out", 0.1)
    return builder.build()


CASES = [
    (recurl.zoo.gambler(p=0.6), "reward", "max", math.inf),
    (recurl.zoo.gambler(p=0.6), "steps", "min", math.inf),
    (recurl.zoo.gambler(p=0.5), "steps", "max", math.inf),
    (recurl.zoo.gambler(p=0.5), "steps", "min", math.inf),
    (walk(1, 5), "reward", "max", math.inf),
    (walk(-1, 5), "reward", "min", -math.inf),
    (stuck(), "reward", "max", -math.inf),
    (stuck(), "steps", "min", math.inf),
    (shut(), "reward", "max", -math.inf),
    (shut(), "steps", "min", math.inf),
    (two_ways(1, -5), "reward", "max", math.inf),
    (retry_client(), "steps", "max", math.inf),
    (stop_or_bet(), "steps", "max", math.inf),
    (toss(), "reward", "max", math.inf),
    (trap_behind_a_call(), "reward", "max", math.inf),
    (balanced(), "steps", "max", math.inf),
]


@pytest.mark.parametrize(
    ("model", "of", "objective", "value"), CASES, ids=lambda x: getattr(x, "name", str(x))
)
def test_infinite_optima_have_certificates(
    model: recurl.RMDP, of: str, objective: str, value: float
) -> None:
    solution = recurl.solve(model, of=of, objective=objective)
    assert solution.lower == solution.upper == value
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (value, value)


def test_finite_ones_have_none() -> None:
    model = recurl.zoo.gambler(p=0.4)
    assert must_go_on(model, Question("min", "steps")) is None
    assert can_go_on(model, Question("max", "steps"), recurl.Policy.uniform(model)) is None


def idle_or_lose() -> recurl.RMDP:
    """To wait costs nothing; whoever calls B may come to lose 1 again and again."""
    builder = recurl.Builder("idle").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go", reward=2).to("room").at("room").action("wait").to("room")
    builder.action("call").to("b", "3/4").to("out", "1/4").at("b.out").action("up").to("out")
    builder.component("B", entries="in", exits="out").box("c", "B")
    builder.at("in").action("go").to("out", 0.55).to("c", 0.45)
    return builder.at("c.out").action("again", reward=-1).to("c").build("A")


def critical_pay() -> recurl.RMDP:
    """What is paid takes infinitely long only just, what is not paid need not end."""
    builder = recurl.Builder("pay").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go").to("x", "1/3").to("a", "2/3")
    builder.at("a.x").action("paid", reward=1).to("a", "1/3").to("x", "2/3")
    builder.action("free").to("a", 0.9).to("x", 0.1)
    return builder.at("a.y").action("up").to("y").build()


@pytest.mark.parametrize(
    ("model", "objective", "infinite"),
    [(idle_or_lose(), "min", -math.inf), (critical_pay(), "max", math.inf)],
)
def test_a_policy_that_is_paid_is_found_where_the_witness_is_not(
    model: recurl.RMDP, objective: str, infinite: float
) -> None:
    solution = recurl.solve(model, objective=objective)
    assert solution.value == infinite
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (infinite, infinite)
