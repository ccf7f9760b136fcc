from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.solving.check_oracle import holds
from tests.solving.oracle import Chain, random_spec, uniform

import recurl
from recurl.errors import CertificateError, NotProperError
from recurl.solving.given_end import quotient


def leaves(reward: str = "1", choice: bool = False) -> recurl.RMDP:
    """Leaves with 1/4 and a reward, with 1/4 and -2, else never."""
    builder = recurl.Builder("leaves").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go").to("m", "1/4").to("n", "1/4").to("trap", "1/2")
    builder.at("m").action("go", reward=reward).to("x").at("n").action("go", reward=-2).to("y")
    if choice:
        builder.at("n").action("stay").to("trap")
    return builder.at("trap").action("stay", reward=7).to("trap").build()


@pytest.mark.parametrize("p", ["0.6", "0.75", "0.9"])
def test_a_gambler_who_ends_plays_as_one_with_the_odds_reversed(p: str) -> None:
    other = 1 - Fraction(p)
    truth = (1 + 2 * other) / (1 - 2 * other)
    found = recurl.solve(recurl.zoo.gambler(p=float(p)), of="reward given end")
    assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
    assert found.gap < 1e-9


def test_rewards_of_runs_that_do_not_end_do_not_count() -> None:
    found = recurl.evaluate(recurl.Policy.uniform(leaves()))
    assert found.value == math.inf
    assert found.given_end[0] <= Fraction(-1, 2) <= found.given_end[1]
    assert found.given_end[1] - found.given_end[0] < 1e-12
    worth = recurl.evaluate(recurl.Policy.uniform(leaves()), exit_values=[4, 0])
    assert worth.given_end[0] <= Fraction(3, 2) <= worth.given_end[1]


@pytest.mark.parametrize("reward", ["1e300", "1e-300", "1e-320", "1/3"])
def test_rewards_of_any_size(reward: str) -> None:
    low, high = recurl.evaluate(recurl.Policy.uniform(leaves(reward))).given_end
    truth = (Fraction(reward) - 2) / 2
    assert Fraction(low) <= truth <= Fraction(high)
    assert high - low <= 1e-12 * abs(truth)


def check(seed: int) -> str:
    """The interval of a random chain holds the truth; whether it is narrow."""
    model = random_spec(seed, exits=1 + seed % 3)
    truth = Chain(model, uniform(model)).given_end()
    low, high = recurl.evaluate(recurl.Policy.uniform(model)).given_end
    if truth is None:
        return "open"
    assert holds(low, truth, high), f"seed {seed}: {truth} is not in [{low}, {high}]"
    return "narrow" if high - low < 1e-6 * (1 + abs(float(truth))) else "wide"


def test_intervals_hold_the_truth() -> None:
    found = Counter(map(check, range(60)))
    assert found["narrow"] >= 30
    assert found["wide"] <= 3


def test_nothing_changes_where_every_policy_ends() -> None:
    model = recurl.zoo.cloud(exits=1)
    plain, found = (recurl.solve(model, of=of) for of in ("reward", "reward given end"))
    assert (found.lower, found.upper) == (plain.lower, plain.upper)
    assert "reward of the runs that end" in str(found)
    policy = recurl.evaluate(plain)
    assert policy.given_end == (policy.lower, policy.upper)


def test_what_is_not_known_is_refused_with_its_reason() -> None:
    builder = recurl.Builder("ever").component("A", entries="in", exits="out")
    model = builder.at("in").action("stay", reward=1).to("n").at("n").action("stay").to("n").build()
    with pytest.raises(NotProperError, match="no run ends"):
        recurl.solve(model, of="reward given end")
    with pytest.raises(CertificateError, match="nothing to decide"):
        _ = recurl.solve(leaves(), of="reward given end").certificate
    with pytest.raises(ValueError, match="gamma discounts rewards"):
        recurl.solve(leaves(), of="reward given end", gamma=0.9)


def test_quotients_are_rounded_outwards() -> None:
    random = np.random.default_rng(0)
    for a, b, c, d in random.normal(size=(200, 4)).tolist():
        low, high = sorted((a, b))
        least, most = sorted((abs(c), abs(d)))
        found = quotient((low, high), (least, most))
        corners = [Fraction(x) / Fraction(y) for x in (low, high) for y in (least, most)]
        assert found[0] <= min(corners)
        assert max(corners) <= found[1]
    assert quotient((1.0, 2.0), (0.0, 1.0)) == (-math.inf, math.inf)
