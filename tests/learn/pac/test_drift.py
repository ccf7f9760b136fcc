"""Undiscounted models under assumptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recurl
from recurl.learn.pac import bounds
from recurl.learn.pac.drift import Cut, Drift, contradictions, paying
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.observed import with_probabilities

GOOD = Drift(height=4, fall=0.15, value=9)


def test_senseless_assumptions_are_refused() -> None:
    for wrong in ((0.5, 0.5, 1), (2, 0, 1), (2, 1.5, 1), (2, 0.5, 0), (float("inf"), 1, 1)):
        with pytest.raises(ValueError, match="c_o"):
            Drift(*wrong)


def test_cut_and_closeness_follow_their_formulas() -> None:
    drift = Drift(height=3, fall=0.5, value=2)
    k = drift.cut(0.1)
    assert k == 120
    change = 2 * (1 + 3) * (k**2 - 1) + 0.7 * (k - 1) / 2
    assert drift.change(k, spread=0.7) == pytest.approx(change)
    assert drift.closeness(0.1, spread=0.7) == pytest.approx(0.1 / change)


def test_the_change_is_the_sum_over_all_steps() -> None:
    """What a step of an eps-close model changes at most, added up step by step."""
    drift, k, spread = Drift(height=3, fall=0.5, value=2), 7, 0.7
    t = np.arange(3000)
    each = (spread + 2 * drift.value * (1 + drift.height) * (t + 2)) / 2
    assert ((1 - 1 / k) ** (t + 1) * each).sum() == pytest.approx(drift.change(k, spread))


@pytest.mark.parametrize("k", [10, 100, 300])
def test_paying_lanes_enclose_the_optimum(k: int) -> None:
    model = recurl.zoo.cloud()
    truth = recurl.solve(model).value
    frame = Cut(GOOD, k)
    high, low = (recurl.solve(cut(model), epsilon=1e-3) for cut in (frame.upper, frame.lower))
    assert low.lower <= truth <= high.upper
    assert high.value - low.value <= 500 / k


def test_the_optimum_is_enclosed_even_where_levels_are_worth_all_of_b() -> None:
    """A loss comes before a call. Paid at a cut as well, it would pull the upper end below 1.

    Every vertex is worth 1 = b. Cut with 1/2: 1 after the call, 2 = 2 b inside it, and 1 before.
    """
    model = (
        recurl.Builder("tight")
        .component("A", entries="in", exits="out").box("c", "B")
        .at("in").action("call", reward=-1).to("c")
        .at("c.out").action("up", reward=1).to("out")
        .component("B", entries="in", exits="out")
        .at("in").action("go", reward=1).to("out")
        .build()
    )  # fmt: skip
    frame = Cut(Drift(height=2, fall=0.5, value=1), 2)
    high, low = (recurl.solve(cut(model), epsilon=1e-9).value for cut in (frame.upper, frame.lower))
    assert high == pytest.approx(1)
    assert low == pytest.approx(-1 / 2 + (-1 + (-1 + (1 + (-1 / 2 + 1 / 2)) / 2)) / 2)
    lanes = recurl.discount_steps(model, 0.5)
    into = paying(lanes, 99.0).tables.reward == 99
    twice = with_probabilities(lanes, lanes.tables.prob, lanes.tables.reward + into)
    assert recurl.solve(twice, epsilon=1e-9).value == pytest.approx(0.875)


@settings(max_examples=4)
@given(st.integers(0, 10**6), st.sampled_from([3, 20]), st.sampled_from([0.01, 0.2]))
def test_cut_values_of_close_models_differ_by_no_more_than_stated(
    seed: int, k: int, closeness: float
) -> None:
    model = recurl.zoo.random_model(seed=seed % 4, components=2, nodes=3, exits=2)
    t, random = model.tables, np.random.default_rng(seed)
    prob = t.prob.copy()
    for a in range(t.n_actions):
        at = slice(t.transition_start[a], t.transition_start[a + 1])
        other = random.dirichlet(np.ones(at.stop - at.start))
        off = np.abs(other - prob[at]).sum()
        prob[at] += min(closeness / off, 1.0) * (other - prob[at]) if off > 0 else 0
    near = with_probabilities(model, prob)
    assert np.add.reduceat(np.abs(prob - t.prob), t.transition_start[:-1]).max() <= closeness + 1e-9
    steps = recurl.analyse(model).bound_everywhere
    drift = Drift.of_steps(steps, float(np.abs(t.reward).max()))
    spread = float(np.ptp(t.reward))
    for cut in (Cut(drift, k).upper, Cut(drift, k).lower):
        one, other = (recurl.solve(cut(m), epsilon=1e-4) for m in (model, near))
        most = closeness * drift.change(k, spread)
        assert max(one.lower - other.upper, other.lower - one.upper) <= most


@pytest.mark.parametrize(("adaptive", "epsilon"), [(False, 1.0), (True, 1.0)])
def test_the_optimum_of_cloud_without_a_discount(adaptive: bool, epsilon: float) -> None:
    method = "adaptive" if adaptive else "plan"
    learned = PACLearner(epsilon, 0.05, method, drift=GOOD, seed=1).learn(recurl.zoo.cloud())
    assert learned.warnings == ()
    assert learned.lower <= -5.34248 <= learned.upper
    assert learned.upper - learned.lower <= (epsilon if adaptive else 2 * epsilon)
    assert learned.reached
    assert float(learned.numbers["Cut length k"]) >= GOOD.cut(0.4 * epsilon)
    assert learned.policy is not None
    assert recurl.evaluate(learned.policy).value >= learned.lower
    assert learned.loss == learned.upper - learned.lower
    if adaptive:
        assert learned.planned is not None
        assert learned.samples < 1e-9 * learned.planned


def test_searches_of_sets_that_are_too_wide_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sets allow runs that hardly end; their optimum would take thousands of points."""

    def watched(*args: Any, **options: Any) -> Any:
        def few(_lower: float, _upper: float, work: dict[str, float]) -> None:
            assert work["trials"] <= 20, "a search of wide sets goes on"

        return recurl.solve(*args, **options, callback=few)

    monkeypatch.setattr(bounds, "solve", watched)
    learned = PACLearner(2.0, 0.05, drift=GOOD, seed=5).learn(recurl.zoo.cloud())
    assert learned.reached
    assert learned.lower <= -5.34248 <= learned.upper
    assert learned.samples < 50_000


def test_wrong_assumptions_are_warned_of_and_stated() -> None:
    wrong = Drift(1.2, 0.15, 9)
    with pytest.warns(UserWarning, match="above c_o"):
        found = PACLearner(8.0, 0.05, drift=wrong).learn(recurl.zoo.cloud())
    assert found.warnings
    assert "Warning: " in found.statement


def test_what_holds_is_not_contradicted() -> None:
    assert contradictions(recurl.zoo.cloud(), Drift(height=4, fall=0.15, value=9)) == ()


def test_what_always_holds_is_not_contradicted() -> None:
    for seed in range(3):
        model = recurl.zoo.random_model(seed=seed, components=2, nodes=4)
        steps = recurl.analyse(model).bound_everywhere
        assert contradictions(model, Drift.of_steps(steps, 1.0)) == ()


def test_stacks_that_are_too_high_are_found() -> None:
    found = contradictions(recurl.zoo.cloud(), Drift(1.2, 0.15, 9))
    assert any("c_o = 1.2" in text for text in found)


def test_levels_that_are_worth_too_much_are_found_within_runs_too() -> None:
    model = (
        recurl.Builder("inside")
        .component("A", entries="in", exits="out").box("c", "B")
        .at("in").action("call", reward=-5).to("c")
        .at("c.out").action("up").to("out")
        .component("B", entries="in", exits="out")
        .at("in").action("go", reward=5).to("out")
        .build()
    )  # fmt: skip
    assert contradictions(model, Drift(3, 0.5, 5)) == ()
    found = contradictions(model, Drift(3, 0.5, 4))
    assert found == ("under the uniform policy a level entered at B.in is worth 5, beyond b = 4",)


def test_the_papers_mapping_of_a_discount_says_how_many_samples_it_takes() -> None:
    drift = recurl.Drift.of_discount(0.9, reward_bound=8)
    assert (drift.height, drift.fall, drift.value) == pytest.approx((11, 0.1, 80))
    lanes = recurl.discount_steps(recurl.zoo.cloud(), "0.9")
    assert contradictions(lanes, drift) == ()
    learner = PACLearner(0.5, 0.05, method="plan", drift=drift)
    with pytest.raises(recurl.errors.LimitError, match=r"takes 1\.3e\+27 samples of a pair"):
        learner.learn(lanes)
