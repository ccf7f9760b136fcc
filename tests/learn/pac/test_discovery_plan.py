"""Plans for what is still to be discovered."""

from __future__ import annotations

import pytest

from recurl.learn.pac.discovery_plan import DiscoveryPlan
from recurl.learn.pac.one_exit import Task
from recurl.learn.pac.plan import weissman_samples

TASK = Task(1.0, 0.1, steps=5, reward_bound=2, support=3, starts=1)


def test_a_known_start_needs_no_share() -> None:
    plan = DiscoveryPlan(TASK)
    assert plan.closeness == pytest.approx(0.999 / (2 * 25 * 2))
    assert plan(0, 1) == 1
    assert plan(2, 1) == weissman_samples(plan.closeness, [3], 0.1 / 6)[0]
    assert plan(2, 2) > 10**18
    assert plan.total(2) == plan(1, 1) + plan(2, 1)


def test_a_random_start_takes_the_first_share_and_part_of_epsilon() -> None:
    plan = DiscoveryPlan(Task(1.0, 0.1, steps=5, reward_bound=2, support=3, starts=4))
    assert plan.closeness == pytest.approx(0.9 * 0.999 / (2 * 25 * 2))
    assert plan.start_closeness == pytest.approx(0.1 * 0.999 / (5 * 2))
    assert plan(0, 1) == weissman_samples(plan.start_closeness, [4], 0.1 / 2)[0]
    assert plan(1, 1) == weissman_samples(plan.closeness, [3], 0.1 / 6)[0]


def test_a_discount_takes_the_place_of_steps() -> None:
    plan = DiscoveryPlan(Task(1.0, 0.1, reward_bound=2, support=3), discount=0.9)
    assert plan.closeness == pytest.approx(0.9 * 0.999 * 0.1**2 / 2)
    assert plan.start_closeness == pytest.approx(0.1 * 0.999 * 0.1 / 2)


def test_what_cannot_be_counted_is_none() -> None:
    assert DiscoveryPlan(Task(1e-9, 0.1, steps=100, reward_bound=2, support=3)).total(1) is None
