"""The compiled form of a policy: what can happen at each of its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.outcomes import Outcomes, running_sums
from recurl.model.tables import CALLS, STEP, runs
from recurl.policy.policy import RANDOM

if TYPE_CHECKING:
    from recurl.policy.policy import Policy


def outcomes_of_policy(policy: Policy) -> Outcomes:
    """The outcomes of a policy, a row for each slot."""
    t = policy.model.tables
    slots, transitions, prob = _taken(policy)
    # Slot of a vertex of the same component and context: vertex + shift.
    context = policy.slot_context[slots]
    shift = policy.context_start[context] - t.component_start[policy.context_component[context]]
    move, target = t.move[transitions], t.target[transitions]
    landing = np.where(move == STEP, target + shift, t.landing[transitions])
    port, push = np.full((2, len(slots)), -1)
    calls = np.flatnonzero(move == CALLS)
    port[calls] = target[calls] + shift[calls]
    entry = t.landing[transitions[calls]]
    inside = entry - t.component_start[t.vertex_component[entry]]
    landing[calls] = policy.context_start[policy.callees[port[calls]]] + inside
    push[calls] = t.box_return[t.move_box[transitions[calls]]] + shift[calls]
    row_start = np.searchsorted(slots, np.arange(len(policy.actions) + 1)).astype(np.int32)
    first = t.component_start[t.start_component]
    start = [policy.slot(int(c), int(first + j)) for j, c in enumerate(policy.start)]
    return Outcomes(
        row_start,
        transitions.astype(np.int32),
        prob,
        running_sums(prob, row_start),
        t.reward[transitions],
        move,
        landing.astype(np.int32),
        t.move_box[transitions],
        port.astype(np.int32),
        push.astype(np.int32),
        np.array(start, np.int32),
        running_sums(t.start_prob, np.array([0, len(t.start_prob)])),
    )


def _taken(policy: Policy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
