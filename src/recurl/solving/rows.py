"""Rows of equations: what can happen at each place of a model, or of a model under a policy.

A place is a vertex of the model, or a slot (vertex in a context) of a policy. Ports need no row of
their own: a transition that calls names the entry that it lands at and the first of the return
places, so that every place with a row stands for exactly one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.model.tables import CALLS, EXITS, STEP, Bytes, Floats, Ints, runs
from recurl.model.tables import Mask as Mask
from recurl.policy import RANDOM
from recurl.policy.outcomes import outcomes_of_policy

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Tables
    from recurl.policy import Policy


class Rows(NamedTuple):
    """Actions and transitions by place, in CSR form.

    Attributes:
        action_start: First action of each place; exits and call ports have none. ``[n + 1]``
        transition_start: First transition of each action. ``[A + 1]``
        prob: Probability of a transition. ``[T]``
        reward: Reward of a transition. ``[T]``
        move: STEP, CALLS or EXITS. ``[T]``
        landing: Place where control lands, or the exit's *index*. ``[T]``
        push: First return place of a call, else -1. ``[T]``
        exits: Exit vertex left by; for a call the callee's first exit vertex; else -1. ``[T]``
        n_returns: Number of exits of the component called, else 0. ``[T]``
        n_exits: Number of exits of the component of each place. ``[n]``
        start: Places at which a run may start.
        start_prob: Their probabilities, all positive.
        doubt: The exact probability of a transition is within this distance of ``prob``. ``[T]``
    """

    action_start: Ints
    transition_start: Ints
    prob: Floats
    reward: Floats
    move: Bytes
    landing: Ints
    push: Ints
    exits: Ints
    n_returns: Ints
    n_exits: Ints
    start: Ints
    start_prob: Floats
    doubt: Floats

    @property
    def size(self) -> int:
        """Number of places."""
        return len(self.n_exits)

    @property
    def row_place(self) -> Ints:
        """Place of each transition."""
        begins = self.transition_start[self.action_start]
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(begins))

    def action_of(self, transitions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """Actions that transitions belong to."""
        return np.searchsorted(self.transition_start, transitions, side="right") - 1


def rows_of_model(tables: Tables) -> Rows:
    """All actions of all vertices; places are vertices."""
    t = tables
    return _frozen(
        t.action_start,
        t.transition_start,
        t.prob,
        t.reward,
        t.move,
        t.landing,
        _first_return(t),
        *_exits(t),
        t.n_exits[t.vertex_component],
        t.starts,
        t.start_prob[t.start_prob > 0],
        _doubt(t, binary=True),
    )


def rows_of_policy(policy: Policy) -> Rows:
    """The one row per place that a policy leaves; places are slots of the policy."""
    t, chain = policy.model.tables, outcomes_of_policy(policy)
    i = chain.transition
    filled = np.diff(chain.row_start) > 0
    action_start = np.concatenate([[0], np.cumsum(filled)]).astype(np.int32)
    begins = np.append(chain.row_start[:-1][filled], len(i)).astype(np.int32)
    vertex = policy.slot_vertex
    count = np.where(policy.actions == RANDOM, np.diff(t.action_start)[vertex], 1)
    exits, n_returns = _exits(t)
    shared = np.repeat(count, np.diff(chain.row_start))
    prob = t.prob[i] / shared
    doubt = _doubt(t, binary=policy.model.exact.binary)[i] / shared
    return _frozen(
        action_start,
        begins,
        prob,
        chain.reward,
        chain.move,
        chain.landing,
        chain.push,
        exits[i],
        n_returns[i],
        t.n_exits[t.vertex_component[vertex]],
        chain.start[t.start_prob > 0],
        t.start_prob[t.start_prob > 0],
        np.where(shared > 1, doubt * (1 + 1e-15) + np.spacing(prob), doubt),
    )


def _doubt(t: Tables, *, binary: bool) -> Floats:
    """How far the exact probabilities may be from their floats.

    A number of a document is within half a unit in the last place, and the only transition of an
    action has probability 1. In a binary model the last transition of an action takes up what the
    others leave of 1.
    """
    begin, last = t.transition_start[:-1], t.transition_start[1:] - 1
    count = np.diff(t.transition_start)
    doubt: Floats = np.where(t.prob > 0, np.spacing(t.prob), 0.0)
    rest = np.abs(1.0 - np.add.reduceat(t.prob, begin)) if len(begin) else np.zeros(0)
    residue = np.where(count > 1, rest + count * 2.3e-16, np.abs(1.0 - t.prob[last]))
    doubt[last] = np.where(binary, residue, np.where(count > 1, doubt[last], 0.0))
    return doubt


def _frozen(*arrays: npt.NDArray[Any]) -> Rows:
    """Read-only rows, whatever they come from: kernels are compiled once for all."""
    copies = [np.ascontiguousarray(array).view() for array in arrays]
    for copy in copies:
        copy.setflags(write=False)
    return Rows(*copies)


def _first_return(t: Tables) -> Ints:
    """First return port of the box that each transition enters, else -1."""
    first = np.append(t.box_return, -1)
    return first[t.move_box].astype(np.int32)


def _exits(t: Tables) -> tuple[Ints, Ints]:
    """Exit vertex of each transition, or the first one of the component called; and how many."""
    callee = np.append(t.box_component, 0)[t.move_box]
    first = t.component_start[callee] + t.n_entries[callee]
    exits = np.where(t.move == STEP, -1, np.where(t.move == EXITS, t.target, first))
    counts = np.where(t.move == CALLS, t.n_exits[callee], 0)
    return exits.astype(np.int32), counts.astype(np.int32)


def place_graph(rows: Rows) -> tuple[Ints, Ints]:
    """CSR graph of the places that the equation of each place refers to."""
    r = rows
    onward = r.move != EXITS
    size = onward + r.n_returns
    begin = np.concatenate([[0], np.cumsum(size)])
    target = np.empty(begin[-1], np.int32)
    target[begin[:-1][onward]] = r.landing[onward]
    calls = r.n_returns > 0
    back = runs(r.push[calls], r.n_returns[calls])
    target[runs(begin[:-1][calls] + 1, r.n_returns[calls])] = back
    return begin[r.transition_start[r.action_start]].astype(np.int32), target


def greatest_last(t: Tables) -> npt.NDArray[np.integer[Any]]:
    """The transitions in an order in which the likeliest of each action comes last.

    In a model from arrays the last one takes up the rounding of the others, and must not vanish.
    """
    action = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    return np.lexsort((t.prob, action))


def part_of(t: Tables, seen: Mask, name: str = "part") -> RMDP:
    """The same model with vertices other than those seen leaving by the first exit at once."""
    from recurl.model.rmdp import RMDP

    lost = ~seen[t.action_vertex]
    count = np.diff(t.transition_start)
    kept = np.repeat(~lost, count)
    last = np.zeros(t.n_transitions, np.bool_)
    last[greatest_last(t)[t.transition_start[1:] - 1]] = True
    used = kept | last
    owner = t.vertex_component[np.repeat(t.action_vertex, count)]
    leave = t.component_start[owner] + t.n_entries[owner]
    order = greatest_last(t)
    used = used[order]
    return RMDP.from_arrays(
        t.layout,
        action_start=t.action_start,
        transition_start=np.concatenate([[0], np.cumsum(np.where(lost, 1, count))]),
        target=np.where(kept, t.target, leave)[order][used],
        prob=np.where(kept, t.prob, 1.0)[order][used],
        reward=np.where(kept, t.reward, 0.0)[order][used],
        start_component=t.start_component,
        start_prob=t.start_prob,
        name=name,
    )
