"""A model under a policy, as rows that a kernel can walk.

A slot is a vertex in a context of the policy. Its row lists what can happen next; a call pushes
the slot of the box's first return port, so that leaving through exit k continues at that slot + k.
Neither policy nor context is left to look up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALLS, STEP, Bytes, Floats, Ints, runs
from recurl.policy import RANDOM

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
    t = policy.model.tables
    slots, transitions, weight = _outcomes(policy)
    row_start = np.searchsorted(slots, np.arange(len(policy.actions) + 1)).astype(np.int32)
    component_first = t.component_start[t.vertex_component[policy.slot_vertex[slots]]]
    # Slot of a vertex of the same component and context: vertex + shift.
    shift = _context_of(policy)[slots] - component_first
    move, target = t.move[transitions], t.target[transitions]
    landing = np.where(move == STEP, target + shift, t.landing[transitions])
    push = np.full(len(slots), -1, np.int32)
    calls = np.flatnonzero(move == CALLS)
    entered = policy.callees[target[calls] + shift[calls]]
    entry = t.landing[transitions[calls]]
    inside = entry - t.component_start[t.vertex_component[entry]]
    landing[calls] = policy.context_start[entered] + inside
    push[calls] = t.box_return[t.move_box[transitions[calls]]] + shift[calls]
    first = t.component_start[t.start_component]
    start = [policy.slot(int(c), int(first + j)) for j, c in enumerate(policy.start)]
    return Chain(
        row_start,
        _running_sums(weight, row_start),
        t.reward[transitions],
        move,
        landing.astype(np.int32),
        push,
        transitions.astype(np.int32),
        np.array(start, np.int32),
        _last_is_one(np.cumsum(t.start_prob)),
    )


def _context_of(policy: Policy) -> Ints:
    """First slot of the context of each slot."""
    return np.repeat(policy.context_start[:-1], np.diff(policy.context_start))


def _outcomes(policy: Policy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slot, transition and probability of everything that can happen, in order of slots."""
    t = policy.model.tables
    vertex = policy.slot_vertex
    count = np.diff(t.action_start)[vertex]
    random = policy.actions == RANDOM
    first = t.action_start[vertex] + np.where(random, 0, policy.actions)
    taken = np.where(count == 0, 0, np.where(random, count, 1))
    slot_of_action = np.repeat(np.arange(len(vertex)), taken)
    actions = runs(first, taken)
    begin, end = t.transition_start[actions], t.transition_start[actions + 1]
    transitions = runs(begin, end - begin)
    slots = np.repeat(slot_of_action, end - begin)
    return slots, transitions, t.prob[transitions] / taken[slots]


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
