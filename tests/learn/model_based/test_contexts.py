"""What the unknown is worth, and what calls are worth."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from recurl.learn.model_based.contexts import Beliefs, Context
from recurl.learn.model_based.counts import CALL, STEP, OutcomeCounts

HOPE = Beliefs(1.0, 1.0, optimistic=True, earnings=10.0)


@pytest.mark.parametrize(
    ("exits", "unknown"), [([-4.0, -7.0], 6.0), ([3.0, 0.0], 10.0), ([12.0, 1.0], 12.0)]
)
def test_hope_is_bounded_by_the_best_exit_and_what_can_be_earned(exits, unknown):
    worth = HOPE.extended(np.array(exits))
    assert worth.tolist() == [*exits, max(exits), unknown]


def test_hope_is_not_added_at_every_call():
    """However many calls are pending, the unknown is worth the same."""
    exits = np.zeros(2)
    for _ in range(20):
        exits = np.full(2, HOPE.extended(exits)[-1])
    assert exits.tolist() == [10.0, 10.0]


def test_pessimists_put_the_unknown_below_the_worst_exit():
    worth = Beliefs(1.0, 0.0, optimistic=False, earnings=3.0).extended(np.array([1.0, 5.0]))
    assert worth.tolist() == [1.0, 5.0, 5.0, -2.0]


def test_shifts_are_lower_bounds_of_what_changes():
    plain = Beliefs(1.0, 0.0, optimistic=False)
    known = np.array([0.0, 0.0, 0.0, -1.0])
    assert plain.shift(np.array([2.0, 2.0, 2.0, 1.0]), known) == 2.0
    assert plain.shift(np.array([2.0, 9.0, 9.0, 1.0]), known) == 2.0
    discounted = Beliefs(0.9, 0.0, optimistic=False, shifts=False)
    assert discounted.shift(np.array([2.0, 9.0, 9.0, 1.0]), known) == 0.0
    assert discounted.shift(np.array([-2.0, 9.0, 9.0, 1.0]), known) == -2.0


def test_pairs_are_worth_what_was_counted_and_some_hope():
    counts = OutcomeCounts(spaces.Discrete(9), spaces.Discrete(2))
    counts.begin(counts.visit(0, None))
    for _ in range(3):
        counts.add(0, STEP, counts.visit(1, None), -1, 1.0)
    context = Context(0, [0.0, 0.0, 10.0], {1: 4.0})
    assert HOPE.pair(counts, 0, context) == pytest.approx((3 * 5.0 + 10.0) / 4)
    assert HOPE.pair(counts, 1, context) == 10.0
    assert HOPE.choose(counts, 0, context) == (1, 10.0)


def test_calls_move_with_the_exits():
    counts = OutcomeCounts(spaces.Discrete(9), spaces.Discrete(2))
    counts.begin(counts.visit(0, None))
    entry = counts.visit(5, None)
    box = counts.find_box([counts.state(3)], entry)
    counts.add(0, CALL, entry, box, 0.0)
    context = Context(0, [0.0, 0.0, 10.0], {counts.state(3): 12.0})
    child = context.children[box] = Context(entry, [11.0, 11.0, 11.0], {entry: 7.0})
    assert HOPE.call(context, box, counts.after[box], entry) == pytest.approx(8.0)
    del context.children[box]
    assert HOPE.call(context, box, counts.after[box], entry) == 10.0
    assert HOPE.enter(context, counts.after[box], entry).worth == [12.0, 12.0, 12.0]
    assert child.state == entry
