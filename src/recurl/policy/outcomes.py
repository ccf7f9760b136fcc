"""The outcomes at every slot of a policy, as flat arrays.

A call pushes the slot of the box's first return port, so that leaving through exit k continues at
that slot + k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import CALLS, STEP, Bytes, Floats, Ints, runs
from recurl.policy.policy import RANDOM

if TYPE_CHECKING:
    from recurl.policy.policy import Policy


class Outcomes(NamedTuple):
    """Everything that can happen, in the order of slots.

    Attributes:
        slot: Slot at which it happens.
        transition: Transition of the model that it stands for.
        prob: Its probability.
        move: STEP, CALLS or EXITS.
        landing: Slot where control lands, or the exit's index.
        port: Slot of the call port that a call goes through, else -1.
        push: Slot that a call pushes, else -1.
    """

    slot: Ints
    transition: Ints
    prob: Floats
    move: Bytes
    landing: Ints
    port: Ints
    push: Ints

    @classmethod
    def of(cls, policy: Policy) -> Outcomes:
        """The outcomes of a policy at all its slots."""
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
        ids = (array.astype(np.int32) for array in (landing, port, push))
        return cls(slots.astype(np.int32), transitions.astype(np.int32), prob, move, *ids)


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
