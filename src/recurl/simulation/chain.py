"""A model under a policy, as rows that a kernel can walk.

A slot is a vertex in a context of the policy. Its row lists what can happen next (see
`recurl.policy.outcomes`): neither policy nor context is left to look up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import Bytes, Floats, Ints
from recurl.policy.outcomes import Outcomes

if TYPE_CHECKING:
    from recurl.policy import Policy


class Chain(NamedTuple):
    """Rows of outcomes by slot.

    Attributes:
        row_start: First outcome of each slot. ``[slots + 1]``
        below: Sum of the probabilities in the row up to and with this outcome; 1 for the last.
        reward: Reward of an outcome.
        move: STEP, CALLS or EXITS.
        landing: Slot where control lands, or the exit's index.
        push: Slot that a call pushes, else -1.
        transition: Transition of the model that the outcome stands for.
        start: Slots at which a run may start.
        start_below: Running sums of their probabilities.
    """

    row_start: Ints
    below: Floats
    reward: Floats
    move: Bytes
    landing: Ints
    push: Ints
    transition: Ints
    start: Ints
    start_below: Floats


def chain_of(policy: Policy) -> Chain:
    """The rows of a model under a policy."""
    t, all_ = policy.model.tables, Outcomes.of(policy)
    row_start = np.searchsorted(all_.slot, np.arange(len(policy.actions) + 1)).astype(np.int32)
    first = t.component_start[t.start_component]
    start = [policy.slot(int(c), int(first + j)) for j, c in enumerate(policy.start)]
    return Chain(
        row_start,
        _running_sums(all_.prob, row_start),
        t.reward[all_.transition],
        all_.move,
        all_.landing,
        all_.push,
        all_.transition,
        np.array(start, np.int32),
        _last_is_one(np.cumsum(t.start_prob)),
    )


def _running_sums(weight: np.ndarray, row_start: Ints) -> Floats:
    """Sums within each row; the last of each is 1."""
    rows = np.repeat(np.arange(len(row_start) - 1), np.diff(row_start))
    filled = np.flatnonzero(np.diff(row_start))
    # Each row sums to 1. Taking it off at the next row's beginning keeps the running total, and
    # with it the rounding, small however many rows there are.
    change = weight.copy()
    change[row_start[filled]] -= 1
    total = np.concatenate([[0.0], np.cumsum(change)])
    below = total[1:] - total[row_start[rows]] + 1
    below[row_start[filled + 1] - 1] = 1.0
    return np.asarray(below.clip(0.0, 1.0))


def _last_is_one(below: Floats) -> Floats:
    below[-1] = 1.0
    return np.clip(below, 0.0, 1.0)
