from __future__ import annotations

from fractions import Fraction

from recurl.model.builder import Builder
from recurl.zoo.outcomes import Branch, add_action

THIRD = Fraction(1, 3)


def test_same_targets_merge_into_the_mean_reward() -> None:
    builder = Builder().component("A", entries="in", exits=["x", "y"]).at("in")
    outcomes = [Branch("x", THIRD, 1), Branch("y", THIRD, 5), Branch("x", THIRD, 4)]
    add_action(builder, "go", outcomes)
    model = builder.build()
    assert [model.local_name(int(v)) for v in model.tables.target] == ["x", "y"]
    assert [model.exact.prob(t) for t in range(2)] == [2 * THIRD, THIRD]
    assert [model.exact.reward(t) for t in range(2)] == [Fraction(5, 2), 5]


def test_what_cannot_happen_is_left_out() -> None:
    builder = Builder().component("A", entries="in", exits=["x", "y"]).at("in")
    add_action(builder, "go", [Branch("x", Fraction(1), 1), Branch("y", Fraction(0), 2)])
    assert builder.build().tables.n_transitions == 1
