from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from recurl.errors import ModelError
from recurl.model.assemble import assemble
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec


def small(row: Callable[[Builder], object]) -> RMDP:
    builder = Builder("m").component("A", entries="in", exits="out").at("in").action("go")
    row(builder)
    return builder.build()


def test_sums_that_are_nearly_one_are_made_exact_with_a_warning() -> None:
    model = small(lambda b: b.to("out", 0.3333333333).to("out", 0.6666666666))
    (warning,) = model.warnings
    assert warning.place == "component A, vertex in, action go"
    assert warning.message == "probabilities miss 1 by -1e-10"
    assert "taken to be 0.6666666667" in warning.fix
    assert model.exact.prob(0) == Fraction(3333333333, 10**10)
    assert model.exact.prob(1) == Fraction(6666666667, 10**10)
    assert model.tables.prob.tolist() == [0.3333333333, 0.6666666667]


def test_sums_that_are_exactly_one_have_no_warning() -> None:
    assert small(lambda b: b.to("out", "1/3").to("out", "2/3")).warnings == ()
    assert small(lambda b: b.to("out", 0.1).to("out", 0.2).to("out", 0.7)).warnings == ()


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ((0.5, 0.4), "probabilities sum to 0.9"),
        ((0.5, 0.500000002), "probabilities sum to 1.000000002"),
        (("1.0", "1e-10"), "probabilities miss 1 by 1e-10"),
        ((f"1/{3**420}", f"{3**420 - 1}/{3**420}"), "has more than 400 characters"),
        ((0, 1), "probability 0 is not in (0, 1]"),
        (("1e-400", 1), "probability 1e-400 is not in (0, 1]"),
        ((-0.5, 1.5), "probability -0.5 is not in (0, 1]"),
        (("x", 1), "probability: 'x' is not a finite decimal"),
        ((float("nan"), 1), "probability: 'nan' is not a finite decimal"),
    ],
)
def test_rows_that_are_no_distributions(probs: tuple[object, object], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        small(lambda b: b.to("out", probs[0]).to("out", probs[1]))
    assert message in str(caught.value)


def test_a_remainder_may_be_too_long_to_write() -> None:
    with pytest.raises(ModelError, match=r"probabilities miss 1 by .*make them sum to 1"):
        small(lambda b: b.to("out", f"1/{3**300}").to("out", f"1/{7**200}").to("out"))


def test_denominators_that_have_nothing_in_common_are_refused_at_once() -> None:
    def many(builder: Builder) -> None:
        for i in range(200):
            builder.to("out", f"{10**190 // 200}/{10**190 + 2 * i + 1}")

    with pytest.raises(ModelError, match="the common denominator is too long"):
        small(many)


def test_binary_numbers_need_not_sum_exactly() -> None:
    row = [EdgeSpec("out", 0.1)] * 10
    part = ComponentSpec(["in"], ["out"], vertices={"in": {"go": ActionSpec(0, row)}})
    model = assemble(ModelSpec("m", {"A.in": 1}, {"A": part}, binary=True))
    assert model.warnings == ()
    assert model.exact.prob(0) == Fraction(0.1)
    assert sum(model.exact.prob(i) for i in range(10)) == 1


@pytest.mark.parametrize("reward", [float("inf"), float("nan"), "1/0", "much", "1e999"])
def test_rewards_that_are_not_finite(reward: object) -> None:
    builder = Builder().component("A", entries="in", exits="out")
    builder.at("in").action("go", reward=reward).to("out")
    with pytest.raises(ModelError, match="component A, vertex in, action go, reward: "):
        builder.build()


def test_a_negative_zero_is_zero() -> None:
    builder = Builder().component("A", entries="in", exits="out")
    builder.at("in").action("a", reward="-0.0").to("out").action("b", reward=-0.0).to("out")
    assert not np.signbit(builder.build().tables.reward).any()


def test_action_names_are_checked() -> None:
    builder = Builder().component("A", entries="in", exits="out").at("in").action("").to("out")
    with pytest.raises(ModelError, match="'' is not a name for an action"):
        builder.build()


def test_an_action_without_transitions_leads_nowhere() -> None:
    builder = Builder().component("A", entries="in", exits="out").at("in").action("go")
    with pytest.raises(ModelError, match="action go: leads nowhere"):
        builder.build()
