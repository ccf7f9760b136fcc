"""The door: what is asked for goes to the right method."""

from __future__ import annotations

from typing import Any

import pytest

import recurl
from recurl.errors import ModelError, UnknownNameError, UnknownSettingError
from recurl.learn.pac.drift import Drift
from recurl.learn.pac.learner import PACLearner


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0}, {"epsilon": float("nan")}, {"delta": 0}, {"delta": 1}, {"steps": 0.5},
        {"gamma": 0.0}, {"gamma": 1.5}, {"gamma": 0.5, "drift": Drift(2, 0.5, 3)},
        {"support": 0}, {"starts": 0}, {"reward_bound": -1},
    ],
)  # fmt: skip
def test_senseless_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not|give"):
        PACLearner(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"method": "adaptiv"}, {"intervals": "weisman"}, {"access": "episode"}]
)
def test_unknown_names_are_offered_close_ones(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean"):
        PACLearner(**wrong)


def test_unknown_settings_are_answered_with_the_one_meant() -> None:
    with pytest.raises(UnknownSettingError, match=r"PACLearner has no .*'discount'.* mean gamma"):
        PACLearner(discount=0.9)  # type: ignore[call-arg]
    with pytest.raises(UnknownSettingError, match=r"PACLearner.learn has no .*'mots'.* mean most"):
        PACLearner().learn(recurl.zoo.cloud(), mots=5)  # type: ignore[call-arg]


def test_gamma_1_is_no_discount() -> None:
    model = recurl.zoo.gambler(p=0.25)
    plain, given = (
        PACLearner(1.0, seed=3).learn(model),
        PACLearner(1.0, seed=3, gamma=1).learn(model),
    )
    assert (plain.lower, plain.upper, plain.samples) == (given.lower, given.upper, given.samples)


def test_a_plan_for_several_exits_needs_a_discount_or_assumptions() -> None:
    with pytest.raises(ModelError, match="discount"):
        PACLearner(method="plan").learn(recurl.zoo.cloud())
    adaptive = PACLearner(0.5, 0.1, seed=1).learn(recurl.zoo.cloud())
    assert adaptive.lower <= -5.34248 <= adaptive.upper


def test_methods_go_to_the_right_place() -> None:
    cloud, drift = recurl.zoo.cloud(), Drift(4, 0.15, 9)
    for method in ("plan", "adaptive"):
        with_drift = PACLearner(4.0, 0.1, method, drift=drift).learn(cloud)
        assert (with_drift.method, "Cut length k" in with_drift.numbers) == (method, True)
        discounted = PACLearner(1.0, 0.1, method, gamma=0.5).learn(cloud)
        assert (discounted.method, discounted.numbers["Discount"]) == (method, 0.5)


@pytest.mark.parametrize("method", ["plan", "adaptive"])
def test_the_optimum_of_cloud_is_learned(method: str) -> None:
    learned = recurl.PACLearner(0.1, 0.01, method, seed=2).learn(recurl.zoo.cloud(exits=1))
    assert learned.method == method
    assert learned.lower <= -5.3425 <= learned.upper
    assert learned.policy is not None
    assert learned.policy.action_name("T.u1") == "divide"


def test_intervals_are_reported_on_the_way() -> None:
    seen: list[tuple[float, float]] = []
    learned = PACLearner(0.3, 0.1).learn(
        recurl.zoo.gambler(p=0.25), callback=lambda low, high, work: seen.append((low, high))
    )
    assert seen[-1] == (learned.lower, learned.upper)
    widths = [high - low for low, high in seen]
    assert widths == sorted(widths, reverse=True)
