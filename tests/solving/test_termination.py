from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.oracle import random_spec
from tests.solving.references import (
    cubic,
    looping,
    stackless_choices,
    stackless_ends,
    stop_or_bet,
)

import recurl
from recurl.errors import CertificateError, ModelError
from recurl.solving.question import Question
from recurl.solving.termination import solve_ending


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (cubic(), (math.sqrt(5) - 1) / 2),
        (recurl.zoo.gambler(p="3/5"), 2 / 3),
        (looping(), 1 / 2),
        (recurl.zoo.gambler(p=0.4), 1.0),
    ],
)
def test_without_a_choice_both_are_the_same(
    model: recurl.RMDP, expected: float, objective: str
) -> None:
    found = recurl.termination(model, objective)
    assert found.lower <= expected <= found.upper
    assert found.gap < 1e-10


def test_stop_or_bet() -> None:
    # Betting looks as good as stopping where everything ends, and ends with 2/3 only.
    best, worst = (recurl.termination(stop_or_bet(), o) for o in ("max", "min"))
    assert (best.lower, best.upper) == (1.0, 1.0)
    assert worst.value == pytest.approx(2 / 3, abs=1e-11)
    assert worst.policy is not None
    assert worst.policy.action_name("A.in") == "bet"


def test_sitting_still_never_ends() -> None:
    builder = recurl.Builder("sit").component("A", entries="in", exits="out")
    builder.at("in").action("sit").to("room").action("leave").to("out")
    builder.at("room").action("sit").to("room").action("leave").to("out")
    model = builder.build()
    assert recurl.termination(model, "max").lower == 1.0
    worst = recurl.termination(model, "min")
    assert worst.lower == worst.upper == 0.0


@pytest.mark.parametrize("objective", ["max", "min"])
def test_a_critical_model_gets_an_honest_interval(objective: str) -> None:
    found = recurl.termination(recurl.zoo.gambler(p=0.5), objective)
    assert 1 - 1e-4 < found.lower <= 1.0
    assert found.upper == 1.0


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("model", [cubic(), recurl.zoo.gambler(p="3/5"), looping(), stop_or_bet()])
def test_the_interval_is_what_the_certificate_proves(model: recurl.RMDP, objective: str) -> None:
    found = recurl.termination(model, objective)
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert proved.theorems == ("values",)


@pytest.mark.parametrize("worth", [0.1, -0.1, 3.0, 0.0])
@pytest.mark.parametrize("objective", ["max", "min"])
def test_an_exit_may_be_worth_any_number(worth: float, objective: str) -> None:
    model = stop_or_bet()
    found = solve_ending(model, Question(objective, "none", (worth,)))
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    ends = Fraction(1) if (objective == "max") == (worth >= 0) else Fraction(2, 3)
    assert Fraction(found.lower) <= Fraction(worth) * ends <= Fraction(found.upper)
    assert found.gap < 1e-12


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), objective=st.sampled_from(["max", "min"]))
def test_certificates_are_accepted_and_wrong_ones_are_not(seed: int, objective: str) -> None:
    model = recurl.zoo.random_model(
        seed, components=2, nodes=3, kind="one_exit", boxes=1,
        exit_probability=0.3, load=math.inf, call_fraction=0.7,
    )  # fmt: skip
    found = recurl.termination(model, objective)
    own = found.certificate
    assert recurl.verify(model, own).lower == found.lower
    assert own.values is not None
    for name, sign in (("lower", 1), ("upper", -1)):
        numbers = [x + sign * 1e-6 for x in getattr(own.values, name)]
        claim = {name: getattr(own, name) + sign * 1e-6}
        values = msgspec.structs.replace(own.values, **{name: numbers})
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(own, values=values, **claim))


def test_several_exits_are_refused() -> None:
    with pytest.raises(ModelError, match='of="exit:NAME"'):
        recurl.termination(recurl.zoo.and_or())


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_optima_by_brute_force(seed: int) -> None:
    model = recurl.zoo.random_model(
        seed, components=2, nodes=2, kind="one_exit", boxes=1,
        exit_probability=0.3, load=math.inf, call_fraction=0.7,
    )  # fmt: skip
    choices = stackless_choices(model)
    ends = stackless_ends(model, choices)
    best, worst = (recurl.termination(model, o) for o in ("max", "min"))
    for found, row in ((best, ends.argmax()), (worst, ends.argmin())):
        low, high = recurl.evaluate(recurl.Policy.stackless(model, choices[row])).termination
        assert low - 1e-9 <= ends[row] <= high + 1e-9
        assert found.lower <= high + 1e-9
        assert low <= found.upper + 1e-9
    assert ends.max() <= best.upper + 1e-9
    assert best.gap < 1e-6
    assert worst.gap < 1e-4


def test_many_types_are_quick_and_narrow() -> None:
    # Type i becomes two of type i + 1, or dies; the last one is the first again.
    builder = recurl.Builder("ring")
    count = 60
    for i in range(count):
        builder.component(f"T{i}", entries="in", exits="out")
        builder.box("one", f"T{(i + 1) % count}").box("two", f"T{(i + 1) % count}")
        for name, p in (("a", "0.55"), ("b", "0.6")):
            builder.at("in").action(name).to("one", p).to("out", str(1 - Fraction(p)))
        builder.at("one.out").action("next").to("two").at("two.out").action("next").to("out")
    model = builder.build("T0")
    best, worst = recurl.termination(model), recurl.termination(model, "min")
    assert best.lower <= Fraction(9, 11) <= best.upper
    assert worst.lower <= Fraction(2, 3) <= worst.upper
    assert max(best.gap, worst.gap) < 1e-11


def test_wide_intervals_say_why() -> None:
    builder = recurl.Builder("critical").component("A", entries="in", exits="out")
    builder.box("a", "A").box("b", "A").at("in").action("wait").to("later")
    for name in ("in", "later"):
        builder.at(name).action("go").to("a", "1/2").to("out", "1/2")
    builder.at("a.out").action("next").to("b").at("b.out").action("next").to("out")
    found = recurl.termination(builder.build(), "min")
    assert found.lower < found.upper == 1
    assert found.reason.endswith("nearly balanced, floats prove no narrower interval")
    assert "balanced" not in recurl.termination(recurl.zoo.gambler(p=0.6)).reason


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("seed", [2000072, 2000336, 2000492])
def test_answers_that_another_proof_found_have_certificates_too(seed: int, objective: str) -> None:
    model = random_spec(seed, exits=1, actions=2)
    found = recurl.termination(model, objective)
    assert found.gap < 1e-8
    proved = recurl.verify(model, found.certificate)
    assert proved.lower is not None
    assert proved.upper is not None
    assert found.lower - 1e-6 <= proved.lower <= proved.upper <= found.upper + 1e-12
