"""The compiled form of a model or of a policy: rows of what can happen next.

A row belongs to an action of a model, or to a slot (a vertex in a context) of a policy; see
`recurl.policy.outcomes` for the latter. Each of its outcomes says where control lands. A call
pushes the place of the box's first return port, so that leaving through exit k continues at that
place + k. All loops that draw, learn or solve by rows use these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import Bytes, Floats, Ints

if TYPE_CHECKING:
    from recurl.model.tables import Tables

PACKED = np.dtype(
    [("below", "f8"), ("reward", "f8"), ("landing", "i4"), ("push", "i4"), ("box", "i4"),
     ("move", "i4")]
)  # fmt: skip
"""One outcome as a record, so that a step of a compiled loop touches one line of cache."""


class Outcomes(NamedTuple):
    """The outcomes of each row, in compressed rows.

    Attributes:
        row_start: First outcome of each row. ``[rows + 1]``
        transition: Transition of the model that an outcome stands for.
        prob: Its probability.
        below: Sum of the probabilities in the row up to and with this outcome; 1 for the last.
        reward: Its reward.
        move: STEP, CALLS or EXITS.
        landing: Vertex or slot where control lands, or the exit's index.
        box: Box that a call enters, else -1.
        port: Vertex or slot of the call port that a call goes through, else -1.
        push: Vertex or slot of the first return port that a call pushes, else -1.
        start: Vertices or slots at which a run may start.
        start_below: Running sums of their probabilities.
    """

    row_start: Ints
    transition: Ints
    prob: Floats
    below: Floats
    reward: Floats
    move: Bytes
    landing: Ints
    box: Ints
    port: Ints
    push: Ints
    start: Ints
    start_below: Floats

    def packed(self) -> np.ndarray:
        """The outcomes as records, for compiled loops."""
        records = np.empty(len(self.prob), PACKED)
        for name in PACKED.names or ():
            records[name] = getattr(self, name)
        return records


def outcomes_of_model(t: Tables) -> Outcomes:
    """The outcomes of all actions; places are vertices.

    Example:
        >>> import recurl
        >>> outcomes = outcomes_of_model(recurl.zoo.cloud().tables)
        >>> outcomes.below[:3], outcomes.push[:3]
        (array([1., 1., 1.]), array([-1,  5,  6], dtype=int32))
    """
    calls = t.move_box >= 0
    return Outcomes(
        t.transition_start,
        np.arange(t.n_transitions, dtype=np.int32),
        t.prob,
        running_sums(t.prob, t.transition_start),
        t.reward,
        t.move,
        t.landing,
        t.move_box,
        np.where(calls, t.target, -1).astype(np.int32),
        np.append(t.box_return, -1)[t.move_box].astype(np.int32),
        t.component_start[t.start_component] + np.arange(len(t.start_prob), dtype=np.int32),
        running_sums(t.start_prob, np.array([0, len(t.start_prob)])),
    )


def running_sums(prob: np.ndarray, row_start: np.ndarray) -> Floats:
    """Sums of probabilities within each row; the last of each is exactly 1.

    Each row sums to 1. Taking 1 off at the beginning of each row keeps the total, and with it the
    rounding, small however many rows there are.
    """
    sizes = np.diff(row_start)
    filled = np.flatnonzero(sizes)
    change = np.array(prob, np.float64)
    change[row_start[filled]] -= 1
    total = np.concatenate([[0.0], np.cumsum(change)])
    below = total[1:] - np.repeat(total[row_start[:-1]], sizes) + 1
    below[row_start[filled + 1] - 1] = 1.0
    return np.asarray(below.clip(0.0, 1.0))
