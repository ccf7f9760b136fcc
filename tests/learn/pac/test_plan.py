"""Samples that are enough beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import recurl
from recurl.errors import LimitError
from recurl.learn.pac.loop import PACTask
from recurl.learn.pac.plan import (
    DiscoveryPlan,
    Plan,
    discounted_closeness,
    one_exit_closeness,
    steps_of_analysis,
    weissman_samples,
)


def test_two_outcomes_need_what_hoeffding_says() -> None:
    # |p - p'| summed over both is twice the difference of one: 2 exp(-n eps² / 2) = delta
    n = weissman_samples(0.2, [2], delta=0.01)[0]
    assert 2 * math.exp(-n * 0.2**2 / 2) <= 0.01 < 2 * math.exp(-(n - 1) * 0.2**2 / 2)


def test_delta_is_shared_by_random_pairs_only() -> None:
    assert weissman_samples(0.1, [2, 1, 1], 0.05)[0] == weissman_samples(0.1, [2], 0.05)[0]
    assert weissman_samples(0.1, [2, 2], 0.1)[0] == weissman_samples(0.1, [2], 0.05)[0]


def test_the_promise_holds_in_repeated_draws() -> None:
    p, closeness, delta = np.array([0.5, 0.3, 0.2]), 0.15, 0.1
    n = int(weissman_samples(closeness, [3], delta)[0])
    drawn = np.random.default_rng(0).multinomial(n, p, size=5000) / n
    assert (np.abs(drawn - p).sum(axis=1) > closeness).mean() <= delta


def test_large_supports_do_not_overflow() -> None:
    assert weissman_samples(0.5, [5000], 0.1)[0] == math.ceil(
        8 * (5000 * math.log(2) - math.log(0.1))
    )


def test_too_many_samples_are_refused() -> None:
    with pytest.raises(LimitError, match="adaptively"):
        weissman_samples(1e-10, [2], 0.1)


def test_closeness_solves_its_equation() -> None:
    steps = steps_of_analysis(recurl.analyse(recurl.zoo.gambler(p=0.25)))
    found = one_exit_closeness(0.5, 1.0, steps)
    assert 2 * found * steps(found) ** 2 == pytest.approx(0.5)
    assert steps(10.0) == math.inf
    assert one_exit_closeness(0.5, 0.0, steps) == 2.0


def test_discounted_values_of_close_models_differ_by_at_most_epsilon() -> None:
    closeness = discounted_closeness(0.3, 1.0, 0.5)
    one, other = (
        recurl.solve(recurl.discount_steps(recurl.zoo.gambler(p=p), 0.5)).value
        for p in (0.3, 0.3 + closeness / 2)
    )
    assert 0 < abs(one - other) <= 0.3
    assert discounted_closeness(0.3, 0.0, 0.5) == 2.0


def test_totals_are_whole_numbers_of_any_size() -> None:
    assert Plan(0.1, np.array([2**62, 2**62, 2**62]), 0.5).total == 3 * 2**62


TASK = PACTask(1.0, 0.1, steps=5, reward_bound=2, support=3, starts=1)


def test_a_known_start_needs_no_share() -> None:
    plan = DiscoveryPlan(TASK)
    assert plan.closeness == pytest.approx(0.999 / (2 * 25 * 2))
    assert plan(0, 1) == 1
    assert plan(2, 1) == weissman_samples(plan.closeness, [3], 0.1 / 6)[0]
    assert plan(2, 2) > 10**18
    assert plan.total(2) == plan(1, 1) + plan(2, 1)


def test_a_random_start_takes_the_first_share_and_part_of_epsilon() -> None:
    plan = DiscoveryPlan(PACTask(1.0, 0.1, steps=5, reward_bound=2, support=3, starts=4))
    assert plan.closeness == pytest.approx(0.9 * 0.999 / (2 * 25 * 2))
    assert plan.start_closeness == pytest.approx(0.1 * 0.999 / (5 * 2))
    assert plan(0, 1) == weissman_samples(plan.start_closeness, [4], 0.1 / 2)[0]
    assert plan(1, 1) == weissman_samples(plan.closeness, [3], 0.1 / 6)[0]


def test_a_discount_takes_the_place_of_steps() -> None:
    plan = DiscoveryPlan(PACTask(1.0, 0.1, reward_bound=2, support=3), gamma=0.9)
    assert plan.closeness == pytest.approx(0.9 * 0.999 * 0.1**2 / 2)
    assert plan.start_closeness == pytest.approx(0.1 * 0.999 * 0.1 / 2)


def test_what_cannot_be_counted_is_none() -> None:
    assert DiscoveryPlan(PACTask(1e-9, 0.1, steps=100, reward_bound=2, support=3)).total(1) is None
