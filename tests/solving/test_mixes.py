from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from recurl.solving.mixes import CallMixes


@pytest.mark.parametrize("seed", range(20))
def test_both_bounds_are_the_optima_of_linear_programs(seed: int) -> None:
    draw = np.random.default_rng(seed)
    leave, after = draw.random((2, 4))
    ends = float(draw.uniform(0.2, 1.0) * leave.sum())
    most = linprog(-after, [[1.0] * 4], [ends], bounds=list(zip([0] * 4, leave, strict=True)))
    high = CallMixes.above(leave[None], after[None], np.array([ends]))
    assert high.value()[0] == pytest.approx(-most.fun)
    assert high.shares()[0] == pytest.approx(most.x)
    more = ends + float(leave.sum())
    least = linprog(after, [[-1.0] * 4], [-more], bounds=[(a, None) for a in leave])
    real = np.ones((1, 4), np.bool_)
    low = CallMixes.below(leave[None], after[None], np.array([more]), real)
    assert low.value()[0] == pytest.approx(least.fun)
    assert low.outward(-1.0)[0] <= low.value()[0] < high.outward(1.0)[0] + 1e9


def test_a_certain_call_is_worth_the_best_return_exactly() -> None:
    ones, after = np.ones((1, 2)), np.array([[0.3, 0.1]])
    assert CallMixes.above(ones, after, np.ones(1)).outward(1.0)[0] == 0.3
    assert CallMixes.products(ones, after, np.ones(1)).value()[0] == pytest.approx(0.4)


def test_padding_does_not_count_as_an_exit() -> None:
    leave, after = np.array([[0.25, 0.0]]), np.array([[0.5, 0.0]])
    real = np.array([[True, False]])
    assert CallMixes.below(leave, after, np.ones(1), real).value()[0] == 0.5
    assert CallMixes.below(leave, after, np.ones(1), real | True).value()[0] == 0.125


def test_errors_from_below_are_bounded() -> None:
    draw = np.random.default_rng(5)
    real = np.ones((1, 3), np.bool_)
    for _ in range(200):
        leave, after = draw.random((2, 1, 3)) / 3
        ends = leave.sum(axis=1) + draw.random(1) / 2
        wrong, later = draw.random((2, 1, 3)) * np.array([leave, after])
        all_wrong = np.minimum(wrong.sum(axis=1) * draw.uniform(1, 2), ends)
        full = CallMixes.below(leave, after, ends, real)
        less = CallMixes.below(leave - wrong, after - later, ends - all_wrong, real)
        if (all_wrong >= wrong.sum(axis=1)).all():
            slope = full.slope(wrong, later, all_wrong)
            assert full.value()[0] - less.value()[0] <= slope[0] + 1e-12
