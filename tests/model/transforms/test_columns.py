from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.definition import binary

import recurl
from recurl.model.transforms.columns import ColumnType, Transitions


def test_columns_are_as_exact_as_the_model() -> None:
    model = recurl.zoo.gambler(p="1/3")
    exact, floats = Transitions.of(model), Transitions.of(binary(model))
    assert exact.prob.tolist() == [Fraction(1, 3), Fraction(2, 3), 1, 1]
    assert floats.prob.tolist() == [1 / 3, 2 / 3, 1.0, 1.0]
    assert (exact.column.binary, floats.column.binary) == (False, True)
    assert exact.column.start(model).tolist() == [Fraction(1)]


def test_numbers_are_read_as_the_column_keeps_them() -> None:
    assert ColumnType(binary=False).number(0.1) == Fraction(1, 10)
    assert ColumnType(binary=True).number("1/4") == 0.25
    assert ColumnType(binary=False).full(2, "1/3").tolist() == [Fraction(1, 3)] * 2
    assert ColumnType(binary=True).full(2, 0.5).dtype == np.float64


def test_joined_transitions_are_ordered_by_action_and_else_in_turn() -> None:
    def edges(*actions: int, target: int) -> Transitions:
        count = len(actions)
        return Transitions(
            np.array(actions), np.full(count, target), np.ones(count), np.zeros(count)
        )

    joined = edges(0, 0, 2, target=7).join(edges(0, 1, 2, target=8), edges(1, target=9))
    assert joined.action.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert joined.target.tolist() == [7, 7, 8, 8, 9, 7, 8]
