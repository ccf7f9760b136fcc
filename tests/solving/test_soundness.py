"""Intervals hold the truth: models on which floats alone are led astray."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import recurl
from recurl.grammar import Grammar
from recurl.grammar import termination as grammar_termination


def runaway() -> recurl.RMDP:
    """P(x) = 9/20, P(y) = 11/20, and 10 steps; the equations have another solution nearby."""
    return (
        recurl.Builder("runaway").component("C", entries="in", exits=["x", "y"]).box("b", "C")
        .at("in").action("go", reward=1).to("y", 0.55).to("b", 0.45)
        .at("b.x").action("go", reward=1).to("x", 0.55).to("b", 0.45)
        .at("b.y").action("go", reward=1).to("x", 0.55).to("b", 0.45)
        .build()
    )  # fmt: skip


def doubling(p: str, exits: int = 2) -> recurl.RMDP:
    """Calls itself twice with probability p, else leaves; takes 1 / (1 - 2 p) calls."""
    names = ["x", "y"][:exits]
    rest, calls = 1 - Fraction(p), Fraction(p)
    builder = recurl.Builder("doubling").component("A", entries="in", exits=names)
    builder.box("one", "A").box("two", "A").at("in").action("go", reward=1).to("one", calls)
    for name in names:
        builder.to(name, rest / exits)
    for name in names:
        builder.at(f"one.{name}").action("go").to("two")
        builder.at(f"two.{name}").action("go").to(name)
    return builder.build()


@pytest.mark.parametrize(
    ("of", "truth"), [("exit:x", 0.45), ("exit:y", 0.55), ("reward", 10), ("steps", 10)]
)
def test_newton_stays_with_the_least_solution(of: str, truth: float) -> None:
    found = recurl.solve(runaway(), of=of)
    assert found.lower <= Fraction(str(truth)) <= found.upper
    assert found.gap < 1e-11


def test_the_evaluation_of_the_runaway() -> None:
    found = recurl.evaluate(recurl.Policy.uniform(runaway()))
    assert found.termination == (1.0, 1.0)
    assert found.lower <= 10 <= found.upper
    assert found.steps_interval[0] <= 10 <= found.steps_interval[1]
    low, high = found.exit_intervals["x"]
    assert low <= Fraction(9, 20) <= high
    assert high - low < 1e-12


def test_a_choice_does_not_make_the_total_infinite() -> None:
    model = (
        recurl.Builder("runaway").component("C", entries="in", exits=["x", "y"]).box("b", "C")
        .at("in").action("go", reward=1).to("y", 0.55).to("b", 0.45).action("up").to("y")
        .at("b.x").action("go", reward=1).to("x", 0.55).to("b", 0.45)
        .at("b.y").action("go", reward=1).to("x", 0.55).to("b", 0.45)
        .build()
    )  # fmt: skip
    assert recurl.analyse(model).verdict != "not proper"


def test_a_chain_close_to_critical_is_not_infinite() -> None:
    model = doubling("0.4999999")
    found = recurl.evaluate(recurl.Policy.uniform(model))
    assert found.lower <= 5_000_000 <= found.upper
    assert found.upper - found.lower < 5
    assert found.termination == (1.0, 1.0)
    solution = recurl.solve(model)
    assert solution.lower <= 5_000_000 <= solution.upper < math.inf


@pytest.mark.parametrize("digits", [10, 12, 13, 15, 20])
@pytest.mark.parametrize("exits", [1, 2])
def test_no_chain_is_infinite_without_a_proof(digits: int, exits: int) -> None:
    p = "0.4" + "9" * digits
    found = recurl.evaluate(recurl.Policy.uniform(doubling(p, exits)))
    truth = 1 / (1 - 2 * Fraction(p))
    assert found.lower <= truth <= found.upper
    low, high = found.steps_interval
    assert low <= truth * (1 + 2 * Fraction(p)) <= high
    assert found.termination[1] == 1.0


@pytest.mark.parametrize("exits", [1, 2])
def test_slightly_more_than_critical(exits: int) -> None:
    p = Fraction("0.5001")
    found = recurl.evaluate(recurl.Policy.uniform(doubling(str(p), exits)))
    assert found.termination[0] <= (1 - p) / p <= found.termination[1]
    assert found.termination[1] - found.termination[0] < 1e-9
    assert (found.lower, found.steps_interval) == (math.inf, (math.inf, math.inf))


@pytest.mark.parametrize("objective", ["max", "min"])
def test_a_longest_path_is_what_its_certificate_proves_of_it(objective: str) -> None:
    builder = recurl.Builder("far").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward="1e16").to("a").action("also", reward="1e16").to("a")
    builder.at("a").action("go", reward=1).to("b")
    builder.at("b").action("go", reward="-1e16").to("out")
    found = recurl.solve(builder.build(), objective=objective)
    proved = recurl.verify(builder.build(), found.certificate)
    assert found.lower <= 1 <= found.upper
    assert (found.lower, found.upper) == (proved.lower, proved.upper)
    assert found.gap <= 2  # 1e16 + 1 is no float, and certificates are made of floats


def test_thirds_add_up_to_less_than_a_float() -> None:
    builder = recurl.Builder("thirds").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward="1/3").to("out").action("also", reward="1/3").to("out")
    found = recurl.solve(builder.build())
    assert found.lower < Fraction(1, 3) < found.upper
    assert found.gap < 1e-15


@pytest.mark.parametrize("objective", ["max", "min"])
def test_steps_of_chains_are_rounded_outwards(objective: str) -> None:
    builder = recurl.Builder("third").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go").to("n", "1/3").to("x", "2/3").at("n").action("go").to("y")
    found = recurl.solve(builder.build(), of="steps", objective=objective)
    assert found.lower < Fraction(4, 3) < found.upper
    assert found.gap < 1e-14


def test_the_least_probability_of_a_derivation() -> None:
    grammar = Grammar("walk", {"W": {"a": ["W W [0.6]", "[0.4]"], "b": ["W W [0.7]", "[0.3]"]}})
    found = grammar_termination(grammar, "min")
    assert found.lower < Fraction(3, 7) < found.upper
    assert found.upper - found.lower < 1e-11


def test_rewards_at_the_end_of_the_floats() -> None:
    builder = recurl.Builder("huge").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go", reward="1e308").to("n")
    builder.at("n").action("go", reward="1e308").to("m", 0.5).to("x", 0.25).to("y", 0.25)
    builder.at("m").action("go", reward="-1e308").to("x")
    found = recurl.evaluate(recurl.Policy.uniform(builder.build()))
    assert found.lower <= Fraction("1.5e308") <= found.upper < math.inf


def test_more_than_the_greatest_float() -> None:
    builder = recurl.Builder("huge").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward="1e308").to("a").action("also", reward="1e308").to("a")
    builder.at("a").action("go", reward="1e308").to("out")
    found = recurl.solve(builder.build())
    assert found.lower <= Fraction("2e308")
    assert 1.7e308 < found.lower < math.inf
    assert found.upper == math.inf


def test_rewards_that_floats_round() -> None:
    builder = recurl.Builder("near").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go", reward="10000000000000001.5").to("n", 0.5).to("y", 0.5)
    builder.at("n").action("go", reward="-20000000000000000").to("x")
    found = recurl.evaluate(recurl.Policy.uniform(builder.build()))
    assert found.lower <= Fraction("1.5") <= found.upper


def test_bounds_are_checked_where_solutions_are_made() -> None:
    model = runaway()
    with pytest.raises(AssertionError, match="lower"):
        recurl.Solution(model, recurl.Question(), 1.0, 0.0, "guessing")
