"""The best reward of the runs that end, for models with choices in which runs may not end."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.solving.oracle import Chain, random_spec, stackless
from tests.solving.test_given_end import leaves

import recurl
from recurl.errors import NotProperError
from recurl.solving.ending_runs import best_run


def dares(*, again: bool) -> recurl.RMDP:
    """Every dare pays 1, and ends in a pit half the time; one may leave at any time."""
    builder = recurl.Builder("dares").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n")
    builder.at("n").action("leave").to("out").action("dare", reward=1)
    builder.to("n" if again else "out", 0.5).to("pit", 0.5)
    return builder.at("pit").action("stay").to("pit").build()


def test_one_may_avoid_ends_that_are_worth_less() -> None:
    found = recurl.solve(leaves(choice=True), of="reward given end")
    assert 1 - 1e-12 <= found.lower <= 1 == found.upper
    assert found.policy is not None
    assert found.policy.action_name("A.n") == "stay"
    least = recurl.solve(leaves(choice=True), of="reward given end", objective="min")
    assert least.lower == -2
    assert -0.5 <= least.upper < -0.5 + 1e-12


def test_one_who_remembers_may_have_any_reward() -> None:
    """After n dares in a row, a run that ends has n; a stackless policy has 0."""
    found = recurl.solve(dares(again=True), of="reward given end")
    assert -1e-12 <= found.lower <= 0
    assert found.upper == math.inf
    assert "quotient" in found.reason
    once = recurl.solve(dares(again=False), of="reward given end")
    assert 1 - 1e-12 <= once.lower <= 1 == once.upper


def test_no_stackless_policy_has_more() -> None:
    """And the policy that is given attains its end."""
    known = 0
    for seed in range(40):
        model = random_spec(seed, exits=1 + seed % 2, actions=2)
        truths: list[Decimal] | None = None
        for objective, best in (("max", max), ("min", min)):
            try:
                found = recurl.solve(model, of="reward given end", objective=objective)
            except NotProperError:
                continue
            if found.method != "policies and single runs":
                continue
            if truths is None:
                totals = (Chain(model, choice).given_end() for choice in stackless(model, 32))
                truths = [x for x in totals if x is not None]
            if not truths:
                continue
            known += 1
            assert found.lower - 1e-9 <= best(truths) <= found.upper + 1e-9, seed
            if found.policy is not None:
                low, high = recurl.evaluate(found.policy).given_end
                assert found.lower == low if objective == "max" else found.upper == high
    assert known > 10


def test_nested_runs_add_up() -> None:
    builder = recurl.Builder("nest").component("A", entries="in", exits=["x", "y"]).box("b", "A")
    builder.at("in").action("go", reward="1/3").to("b", 0.5).to("x", 0.25).to("y", 0.25)
    builder.at("b.x").action("go", reward=-1).to("x").at("b.y").action("go", reward=2).to("x")
    model = builder.build()
    assert best_run(model, 1) == Fraction(1, 3) + 2 + Fraction(1, 3)
    assert best_run(model, -1) == math.inf


def test_where_no_run_ends_there_is_none() -> None:
    builder = recurl.Builder("ever").component("A", entries="in", exits="out")
    builder.at("in").action("stay").to("n").at("n").action("stay").to("n").action("on").to("n")
    with pytest.raises(NotProperError, match="no run ends"):
        recurl.solve(builder.build(), of="reward given end")
