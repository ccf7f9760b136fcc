from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.references import small_model

import recurl
from recurl.errors import CertificateError
from recurl.solving.api import question_of
from recurl.solving.no_choice import chain_certificate, solve_chain
from recurl.solving.question import Question

FALSE = math.sqrt(10) / 2 - 1


def tree() -> recurl.RMDP:
    """One of the two trees of the zoo's model, with two exits at the start."""
    text = recurl.dumps(recurl.zoo.and_or())
    return recurl.loads(text.replace("start: main", "start: and"))


@pytest.mark.parametrize(("name", "expected"), [("true", 1 - FALSE), ("false", FALSE)])
def test_exits(name: str, expected: float) -> None:
    solution = recurl.solve(tree(), of=f"exit:{name}")
    assert solution.method == "evaluation"
    assert solution.lower <= expected <= solution.upper
    assert solution.gap < 1e-10
    assert recurl.verify(solution.model, solution.certificate).checked > 100


def test_steps() -> None:
    solution = solve_chain(tree(), Question("min", "steps"), 1e-6)
    assert solution.value == pytest.approx((3 + FALSE) / (1 - FALSE))


def test_losses_of_exits_turn_the_interval_round() -> None:
    solution = solve_chain(tree(), Question("max", "none", (-2.0, 4.0)), 1e-6)
    expected = -2 * (1 - FALSE) + 4 * FALSE
    assert solution.lower <= expected <= solution.upper
    assert solution.gap < 1e-9


FALSE = math.sqrt(10) / 2 - 1
STEPS = 2 + (3 + FALSE) / (1 - FALSE)
"""A tree takes S = 1 + (S + 1 + x (S + 1)) / 2 steps, if x is how often the second part is read."""


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize(
    ("of", "expected"), [("reward", FALSE), ("steps", STEPS), ("exit:out", 1.0)]
)
def test_the_tree(of: str, expected: float, objective: str) -> None:
    model = recurl.zoo.and_or()
    found = recurl.verify(model, chain_certificate(model, question_of(model, of, objective)))
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower - 1e-9 <= expected <= found.upper + 1e-9
    assert found.upper - found.lower < 1e-9


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), objective=st.sampled_from(["max", "min"]))
def test_around_the_value_of_the_only_policy(seed: int, objective: str) -> None:
    model = small_model(seed, actions=1)
    exits = int(model.tables.n_exits[model.tables.start_component])
    question = Question(objective, "model", tuple(float(k * k - 1) for k in range(exits)))
    found = recurl.verify(model, chain_certificate(model, question))
    value = recurl.evaluate(recurl.Policy.uniform(model), exit_values=question.exit_values).value
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower - 1e-9 <= value <= found.upper + 1e-9
    assert found.upper - found.lower < 1e-8


def test_where_runs_may_not_end_infinite_totals_and_exits_are_certified() -> None:
    model = recurl.zoo.gambler(p="3/5")
    assert recurl.verify(model, chain_certificate(model, Question())).lower == math.inf
    proved = recurl.verify(model, chain_certificate(model, Question("max", "none", (1.0,))))
    assert proved.lower is not None
    assert proved.upper is not None
    assert Fraction(proved.lower) <= Fraction(2, 3) <= Fraction(proved.upper)


def test_a_critical_chain_has_a_certificate_that_proves_less() -> None:
    model = recurl.zoo.gambler(p=0.5)
    proved = recurl.verify(model, chain_certificate(model, Question("max", "none", (1.0,))))
    assert proved.lower is not None
    assert 0.99 < proved.lower < 1
    assert proved.upper == 1


def two_steps(first: str, second: str) -> recurl.RMDP:
    builder = recurl.Builder("two").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go", reward=first).to("n", "1/2").to("y", "1/2")
    return builder.at("n").action("go", reward=second).to("x").build()


@pytest.mark.parametrize(
    ("first", "second"),
    [("1e-320", "1e-320"), ("10000000000000001.5", "-1e16"), ("1e-5", "-3e-5"), ("0", "0")],
)
def test_rewards_of_any_size_are_certified(first: str, second: str) -> None:
    model = two_steps(first, second)
    solution = recurl.solve(model)
    verdict = recurl.verify(model, solution.certificate)
    truth = Fraction(first) + Fraction(second) / 2
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower <= truth <= verdict.upper
    assert solution.lower <= truth <= solution.upper
    size = float(abs(Fraction(first)) + abs(Fraction(second)))
    assert verdict.upper - verdict.lower <= 1e-12 * size + 1e-320


def test_totals_beyond_the_floats_have_no_certificate() -> None:
    with pytest.raises(CertificateError, match="too large for floats"):
        chain_certificate(two_steps("1e308", "1.5e308"), Question())


def calls_twice(p: str, leave: str) -> recurl.RMDP:
    """Calls itself twice or leaves, by one of two exits."""
    builder = recurl.Builder("twice").component("A", entries="in", exits=["x", "y"])
    builder.box("one", "A").box("two", "A")
    builder.at("in").action("go", reward=1).to("one", p).to("x", leave).to("y", leave)
    for name in "xy":
        builder.at(f"one.{name}").action("go").to("two").at(f"two.{name}").action("go").to(name)
    return builder.build()


@pytest.mark.parametrize("of", ["reward", "steps"])
def test_totals_of_critical_chains_with_several_exits_are_infinite(of: str) -> None:
    model = calls_twice("1/2", "1/4")
    found = recurl.solve(model, of=of)
    assert found.lower == found.upper == math.inf
    assert recurl.verify(model, found.certificate).lower == math.inf


def test_a_wide_interval_is_explained_and_is_that_of_its_certificate() -> None:
    model = calls_twice("0.4999999", "0.25000005")
    found = recurl.solve(model)
    assert found.lower <= 5e6 <= found.upper
    assert "nearly balanced" in found.reason
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)


def test_loops_that_no_run_visits_do_not_count() -> None:
    # Nobody leaves by y, so nobody comes to the loop.
    builder = recurl.Builder("loop").component("C", entries="in", exits=["x", "y"]).box("b", "C")
    builder.at("in").action("go", reward=1).to("x", 0.6).to("b", 0.4)
    builder.at("b.x").action("up").to("x")
    builder.at("b.y").action("fall").to("loop")
    model = builder.at("loop").action("stay").to("loop").build()
    for of, truth in (("reward", 5 / 3), ("steps", 7 / 3), ("exit:x", 1.0)):
        found = recurl.solve(model, of=of)
        assert found.lower <= truth <= found.upper
        assert found.gap < 1e-12
        assert found.certificate is not None
        verdict = recurl.verify(model, found.certificate)
        assert (verdict.lower, verdict.upper) == (found.lower, found.upper)


@pytest.mark.parametrize("objective", ["max", "min"])
def test_critical_chains_have_the_same_certificate_for_both_optima(objective: str) -> None:
    builder = recurl.Builder("critical").component("A", entries="in", exits=["x", "y"])
    builder.box("one", "A").box("two", "A")
    builder.at("in").action("go").to("one", "1/2").to("x", "1/4").to("y", "1/4")
    for name in ("x", "y"):
        builder.at(f"one.{name}").action("go").to("two").at(f"two.{name}").action("go").to(name)
    model = builder.build()
    solution = recurl.solve(model, of="exit:x", objective=objective)
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
    assert solution.lower <= 0.5 <= solution.upper
    assert solution.gap < 1e-6
