"""Totals in which a run that does not end is worth an infinite amount."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import msgspec
import pytest
from benchmarks.storm import available
from tests.solving.check_endless import disagreement

import recurl
from recurl.errors import CertificateError, NotProperError, UnknownNameError


def tossing() -> recurl.RMDP:
    """Wait as long as one likes, or toss a coin until it shows heads."""
    builder = recurl.Builder("tossing").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("room").at("room").action("wait").to("room")
    return builder.action("toss", reward=1).to("out", "1/2").to("room", "1/2").build()


def waiting(stay: float, leave: float) -> recurl.RMDP:
    """Stay as long as one likes, or leave."""
    builder = recurl.Builder("waiting").component("A", entries="in", exits="out")
    for vertex in ("in", "room"):
        builder.at(vertex).action("stay", reward=stay).to("room")
        builder.action("leave", reward=leave).to("out")
    return builder.build()


def proved(solution: recurl.Solution) -> tuple[float, float]:
    """The interval that the checker proves, with None for an end without a claim."""
    verdict = recurl.verify(solution.model, solution.certificate)
    assert verdict.endless == solution.question.endless
    assert f"{verdict.endless} for runs that do not end" in str(verdict)
    low = -math.inf if verdict.lower is None else verdict.lower
    return low, math.inf if verdict.upper is None else verdict.upper


def solved(model: recurl.RMDP, objective: str, endless: str) -> tuple[float, float]:
    """The interval of a solution, which its certificate proves."""
    solution = recurl.solve(model, objective=objective, endless=endless)
    assert proved(solution) == (solution.lower, solution.upper)
    return solution.lower, solution.upper


@pytest.mark.parametrize(
    ("objective", "sign", "endless", "value"),
    [
        ("min", 1, "inf", 1),
        ("max", 1, "inf", math.inf),
        ("min", 1, "-inf", -math.inf),
        ("max", -1, "-inf", -1),
        ("min", -1, "-inf", -math.inf),
    ],
)
def test_waiting_for_free_is_no_way_to_end(
    objective: str, sign: int, endless: str, value: float
) -> None:
    low, high = solved(waiting(0, sign), objective, endless)
    assert low <= value <= high
    assert math.isinf(value) or high - low < 1e-12


def test_what_runs_collect_is_another_question() -> None:
    model = waiting(0, 1)
    collected = recurl.solve(model, objective="min")
    assert collected.value == 0
    ends = recurl.solve(model, objective="min", endless="inf")
    for certificate, endless in ((collected.certificate, "inf"), (ends.certificate, None)):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(certificate, endless=endless, claim=""))


def test_a_policy_iteration_case_of_prism() -> None:
    """From "help" one may give up (state 5), which costs 30 there, but never reaches the goal."""
    builder = recurl.Builder("strips").component("A", entries="s0", exits="goal")
    builder.at("s0").action("box", reward=8).to("s1")
    builder.action("ask", reward=5).to("s2", "0.4").to("again", "0.6")
    builder.at("again").action("box", reward=8).to("s1")
    builder.action("ask", reward=5).to("s2", "0.4").to("again", "0.6")
    builder.at("s2").action("helped", reward=4).to("s3").action("box", reward=8).to("s3")
    builder.at("s3").action("six", reward=3).to("goal", "0.3").to("s3", "0.5").to("s1", "0.2")
    builder.action("one", reward=3).to("goal", "0.1").to("s3", "0.9")
    builder.at("s1").action("box", reward=8).to("s1")
    builder.action("one", reward=3).to("s5", "0.1").to("s1", "0.9")
    builder.action("ask", reward=5).to("s3", "0.4").to("s1", "0.6")
    builder.at("s5").action("stay").to("s5")
    model = builder.build()
    low, high = solved(model, "min", "inf")
    assert low <= 209 / 6 <= high < low + 1e-9
    collected = recurl.solve(model, objective="min")
    assert collected.lower <= 34.5 <= collected.upper < low


def test_a_policy_that_cannot_surely_end_costs_infinitely_much() -> None:
    builder = recurl.Builder("risk").component("A", entries="in", exits="out")
    builder.at("in").action("try", reward=1).to("out", "0.999999").to("pit", "0.000001")
    builder.at("pit").action("stay").to("pit")
    model = builder.build()
    assert solved(model, "min", "inf") == (math.inf, math.inf)
    assert solved(model, "max", "-inf") == (-math.inf, -math.inf)


def test_ends_that_are_rare_are_found_to_many_digits() -> None:
    builder = recurl.Builder("rare").component("A", entries="in", exits="out").at("in")
    builder.action("go").to("a").at("a").action("wait").to("a").action("try", reward=1)
    model = builder.to("out", "1e-12").to("a", "0.999999999999").build()
    low, high = solved(model, "min", "inf")
    assert low <= 1e12 <= high <= (1 + 1e-12) * low


@pytest.mark.parametrize("objective", ["min", "max"])
def test_models_in_which_all_policies_end_do_not_care(objective: str) -> None:
    for model in (recurl.zoo.cloud(), recurl.zoo.cloud(exits=1), recurl.zoo.succinct(5)):
        collected = recurl.solve(model, objective=objective)
        for endless in ("inf", "-inf"):
            low, high = solved(model, objective, endless)
            assert low <= collected.upper
            assert collected.lower <= high < low + 1e-5


def test_loops_that_gain_leave_an_end_open() -> None:
    """The truth is infinite, and not proved."""
    solution = recurl.solve(waiting(1, -5), endless="-inf")
    assert (solution.upper, solution.lower <= -5) == (math.inf, True)
    assert proved(solution) == (solution.lower, math.inf)
    assert "gain" in solution.reason


def test_a_finite_process_with_a_stack() -> None:
    builder = recurl.Builder("shop").component("A", entries="in", exits=["done", "gone"])
    builder.box("one", "B").at("in").action("go").to("one")
    builder.at("one.yes").action("ok", reward=2).to("done")
    builder.at("one.no").action("again").to("one").action("give up", reward=7).to("gone")
    builder.component("B", entries="in", exits=["yes", "no"])
    builder.at("in").action("look").to("in2").at("in2").action("look").to("in2")
    builder.action("buy", reward=1).to("yes", "0.5").to("no", "0.5")
    model = builder.build("A")
    low, high = solved(model, "min", "inf")
    assert low <= 4 <= high < low + 1e-9  # 1 per attempt, 2 attempts on average, then 2
    assert solved(model, "max", "inf") == (math.inf, math.inf)
    assert recurl.solve(model, objective="min").value == 0


def critical() -> recurl.RMDP:
    """For free with two calls half of the time, or for 1 at once."""
    builder = recurl.Builder("critical").component("A", entries="in", exits="out")
    builder.box("one", "A").box("two", "A")
    builder.at("in").action("free").to("one", "1/2").to("out", "1/2")
    builder.action("pay", reward=1).to("out")
    builder.at("one.out").action("go").to("two").at("two.out").action("go").to("out")
    return builder.build()


def test_critical_recursion_leaves_the_interval_open() -> None:
    """The infimum is 0, and every greedy policy with a bound on its steps costs 1."""
    solution = recurl.solve(critical(), objective="min", endless="inf")
    assert (solution.lower, round(solution.upper, 9)) == (0, 1)
    assert "recursive" in solution.reason
    low, high = proved(solution)
    assert (low, round(high, 9)) == (0, 1)
    for objective, endless in (("max", "inf"), ("min", "-inf"), ("max", "-inf")):
        ends = solved(critical(), objective, endless)
        assert float(endless if objective == "min" else "inf") in ends


def test_a_call_of_oneself_for_free_is_no_plan() -> None:
    builder = (
        recurl.Builder("plan").component("task", entries="in", exits="done").box("own", "task")
    )
    builder.at("in").action("again").to("own").action("begin", reward=-1).to("begun")
    builder.at("begun").action("finish", reward=-1).to("done")
    builder.at("own.done").action("return").to("done")
    model = builder.build()
    assert recurl.solve(model).value == 0
    assert solved(model, "max", "-inf") == (-2, -2)


def random_plans(seed: int) -> recurl.RMDP:
    """A deterministic recursive model with two exits, in which much is free."""
    draw = random.Random(seed)
    builder = recurl.Builder("plans")
    for name in ("A", "B"):
        builder.component(name, entries="in", exits=["x", "y"])
        builder.box("one", draw.choice("AB")).box("two", draw.choice("AB"))
        places = ["in", "n", "m", *(f"{box}.{e}" for box in ("one", "two") for e in "xy")]
        for place in places:
            builder.at(place)
            for k in range(draw.randint(1, 2)):
                cost = Fraction(draw.choice([0, 0, 0, 1, 2]), 3)
                builder.action(f"a{k}", reward=-cost).to(draw.choice(["n", "m", "x", "one", "two"]))
            builder.action("leave", reward=-5).to("y") if draw.random() < 0.4 else None
    return builder.build("A")


@pytest.mark.parametrize("seed", range(30))
def test_deterministic_plans_are_exact(seed: int) -> None:
    model = random_plans(seed)
    low, high = solved(model, "max", "-inf")
    assert high <= low + 1e-15 * abs(low) or low == high
    collected = recurl.solve(model)
    assert low <= collected.upper + 1e-9
    if low > -math.inf:
        policy = recurl.solve(model, endless="-inf").policy
        found = recurl.evaluate(policy)
        assert found.value == pytest.approx(low)
        assert found.termination[0] == pytest.approx(1)


def test_ways_that_promise_more_are_refused() -> None:
    model = random_plans(10)
    given = recurl.solve(model, endless="-inf").certificate
    refused, rows = 0, given.ways.totals
    for v, own in enumerate(rows):
        for i, (k, total, first) in enumerate(own):
            for changed in ([(k, total - 1, first)], []):
                moved = [*own[:i], *changed, *own[i + 1 :]]
                totals = [*rows[:v], moved, *rows[v + 1 :]]
                ways = msgspec.structs.replace(given.ways, totals=totals)
                with pytest.raises(CertificateError):
                    recurl.verify(model, msgspec.structs.replace(given, ways=ways))
                refused += 1
    assert refused > 10
    for claim in (
        {"lower": given.lower + 1e-9},
        {"upper": given.upper - 1e-9},
        {"infinite": "-inf", "lower": None, "upper": None},
        {"endless": "inf"},
        {"endless": None},
        {"objective": "min"},
        {"rewards": "none"},
    ):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(given, **claim))
    with pytest.raises(CertificateError):
        recurl.verify(tossing(), msgspec.structs.replace(given, model=tossing().fingerprint))


def test_numbers_that_promise_more_are_refused() -> None:
    model = tossing()
    given = recurl.solve(model, objective="min", endless="inf").certificate
    assert recurl.verify(model, given).lower == pytest.approx(2)
    values = given.values
    for name, by in (("lower", 0.1), ("upper", -0.1)):
        moved = [x + by for x in getattr(values, name)]
        changed = msgspec.structs.replace(values, **{name: moved})
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(given, values=changed))
    stays = msgspec.structs.replace(values, actions=[0] * len(values.actions))
    with pytest.raises(CertificateError, match="surely ends"):
        recurl.verify(model, msgspec.structs.replace(given, values=stays))
    for claim in (
        {"infinite": "inf", "lower": None, "upper": None},
        {"endless": "-inf"},
        {"objective": "max"},
        {"endless": "nan"},
    ):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(given, **claim))


def test_a_policy_that_may_not_end_proves_no_lower_end() -> None:
    """Certificates of what runs collect, with the question changed."""
    builder = recurl.Builder("calls").component("A", entries="in", exits="out").box("own", "A")
    builder.at("in").action("again").to("own").action("leave", reward=-1).to("out")
    builder.at("own.out").action("go").to("out")
    model = builder.build()
    given = recurl.solve(model).certificate
    assert recurl.verify(model, given).lower == 0
    with pytest.raises(CertificateError):
        recurl.verify(model, msgspec.structs.replace(given, endless="-inf", claim=""))
    given = recurl.solve(model, objective="min").certificate
    assert (
        recurl.verify(model, msgspec.structs.replace(given, endless="-inf", claim="")).lower is None
    )
    with pytest.raises(CertificateError, match="surely end"):
        recurl.verify(model, msgspec.structs.replace(given, endless="inf", claim=""))


def test_what_endless_goes_with() -> None:
    model = waiting(0, 1)
    with pytest.raises(UnknownNameError):
        recurl.solve(model, endless="worst")
    with pytest.raises(ValueError, match="endless"):
        recurl.solve(model, of="exit:out", endless="inf")
    with pytest.raises(ValueError, match="endless"):
        recurl.solve(model, of="reward given end", endless="inf")
    with pytest.raises(ValueError, match="gamma"):
        recurl.solve(model, gamma=0.9, endless="inf")
    mixed = recurl.Builder("mixed").component("A", entries="in", exits="out").box("own", "A")
    mixed.at("in").action("go", reward=1).to("own").at("own.out").action("go", reward=-1).to("out")
    with pytest.raises(NotProperError):
        recurl.solve(mixed.build(), endless="-inf")


@pytest.mark.skipif(not available(), reason="stormpy is not installed: bench extra")
@pytest.mark.parametrize("seed", range(12))
def test_storm_agrees(seed: int) -> None:
    assert disagreement(seed) is None
