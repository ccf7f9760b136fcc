"""The components that were discovered, as matrices from pairs to what follows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.model_based.counts import CALL, EXIT, LEAVE, STEP
from recurl.learn.model_based.estimate import Estimate, named

if TYPE_CHECKING:
    from recurl.learn.model_based.counts import OutcomeCounts
    from recurl.model.tables import Floats

Index = np.ndarray


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A component: its states, its boxes and its calls.

    Attributes:
        states: Its states.
        exits: Number of exits.
        boxes: Its boxes.
        callee: Component that each box calls.
        boxes_by_callee: Boxes of each component that is called, counted within the component.
        returns: States after the exits of each box, counted within the component; the last one
            again where a box has fewer exits than others. ``[boxes, exits]``
        call_box: Box of each call, counted within the component.
        own_states: Where its states are among all.
        own_calls: Where its calls are among all.
        own_boxes: Where its boxes are among all.
        own_exits: Columns of its exits, of the best exit and of the unknown.
    """

    states: Index
    exits: int
    boxes: Index
    callee: Index
    boxes_by_callee: list[tuple[int, Index]]
    returns: Index
    call_box: Index
    own_states: slice
    own_calls: slice
    own_boxes: slice
    own_exits: slice


class World:
    """All components that were discovered: states and calls are columns, pairs are rows.

    Columns are the states, the calls (a box and an entry each), and for each component its exits,
    the best exit and the unknown. States, calls and rows are ordered by component. A state where no
    run has stood has one row, which leads to the unknown.

    Args:
        counts: The counts.
        prior: Weight of the unknown in pairs that the estimate does not know, in samples.
        gamma: Discount of a step.
        estimate: Corrections of the counts.
        box_gamma: Discount by boxes: the rest of what follows a step is the exit.

    Attributes:
        component: Component of each state.
        place: Place of each state within its component.
        parts: The components.
        width: Number of columns.
        matrix: Weights from pairs to columns.
        gain: Expected reward of each pair.
        unknown: Weight of the unknown in each pair.
        last: Column of the unknown for each pair.
        tried: How often each pair was tried.
        begin: First row of each state.
        calling: Which pairs may call which boxes.
        call_entry: Column of the entry of each call.
        call_callee: Component that each call enters.
        call_returns: Columns of the states after the exits of each call. ``[calls, exits]``
        exit_index: Exits of each component, the last one again where others have more, with the
            best exit and the unknown behind them. ``[components, exits + 2]``
    """

    def __init__(
        self,
        counts: OutcomeCounts,
        prior: float,
        gamma: float,
        estimate: Estimate | None = None,
        box_gamma: float = 1.0,
    ) -> None:
        estimate = estimate or Estimate()
        size = len(counts.states)
        roots = np.fromiter(map(counts.component, range(size)), np.int64, size)
        self.component = np.unique(roots, return_inverse=True)[1]
        self._by_part = _Groups(self.component)
        self.place = self._by_part.place
        self._read_boxes(counts)
        outcomes = _Outcomes(counts, estimate)
        calls = self._calls(outcomes)
        first = size + len(calls.box)
        self._exit_first = first + np.concatenate([[0], np.cumsum(self.exits + 2)])
        self.width = int(self._exit_first[-1])
        self._read_calls(calls)
        hope = np.full(len(counts.tried), prior)
        hope[: len(estimate.hope)] = estimate.hope
        rates = (gamma, box_gamma)
        self._read_pairs(outcomes, calls, _Rows(counts, self._by_part), hope, rates)
        self.parts = [self._part(c, calls) for c in range(len(self._by_part))]

    def _read_boxes(self, counts: OutcomeCounts) -> None:
        after, states = counts.after, len(self._by_part)
        self.owner = self.component[np.array([own[0] for own in after], np.int64)]
        self.callee = self.component[np.array(counts.entries, np.int64)]
        self.exits = np.ones(states, np.int64)
        np.maximum.at(self.exits, self.callee, np.array([len(own) for own in after], np.int64))
        self.boxes = _Groups(self.owner, states)
        most = int(self.exits.max(initial=1))
        padded = [(*own, *([own[-1]] * (most - len(own)))) for own in after]
        self._returns = self.place[np.array(padded, np.int64).reshape(len(after), most)]

    def _calls(self, o: _Outcomes) -> _Calls:
        """Calls: boxes with entries, by component."""
        which = np.flatnonzero(o.kind == CALL)
        box_rank = self.boxes.first[self.owner] + self.boxes.place
        key = box_rank[o.box[which]] * len(self.component) + o.target[which]
        found, number = np.unique(key, return_inverse=True)
        rank, entry = np.divmod(found, len(self.component))
        box = self.boxes.order[rank]
        return _Calls(which, number, box, entry, _Groups(self.owner[box], len(self._by_part)))

    def _read_calls(self, calls: _Calls) -> None:
        first, most = self._by_part.first, self._returns.shape[1]
        self.call_callee = self.callee[calls.box]
        self.call_entry = first[self.call_callee] + self.place[calls.entry]
        exit = np.minimum(np.arange(most), self.exits[:, None] - 1)
        self.exit_index = np.hstack([exit, self.exits[:, None] + np.arange(2)])
        returns = np.take_along_axis(self._returns[calls.box], exit[self.call_callee], axis=1)
        self.call_returns = first[self.owner[calls.box]][:, None] + returns

    def _columns(self, o: _Outcomes, calls: _Calls, part: Index) -> Index:
        """Column of each outcome; -1 for the end of a run."""
        column = np.full(len(o.kind), -1, np.int64)
        steps, exits, leaves = (o.kind == kind for kind in (STEP, EXIT, LEAVE))
        column[steps] = self._by_part.first[part[steps]] + self.place[o.target[steps]]
        column[exits] = self._exit_first[part[exits]] + o.target[exits]
        column[calls.outcomes] = len(self.component) + calls.number
        many = self.exits[part[leaves]]
        column[leaves] = self._exit_first[part[leaves]] + np.where(many == 1, 0, many)
        return column

    def _read_pairs(
        self, o: _Outcomes, calls: _Calls, rows: _Rows, hope: Floats, rates: tuple[float, float]
    ) -> None:
        """Weights from all pairs to columns and to boxes; rewards, unknown weights and tries."""
        from scipy.sparse import csr_array

        bare = np.zeros(len(rows.state) - len(o.tried))
        tried, hope = np.concatenate([o.tried, bare]), np.concatenate([hope, bare])
        seen = np.bincount(o.owner, o.count, len(tried))
        share = np.where(tried > 0, 1 / np.maximum(seen + hope, 1e-300), 0.0)
        unknown = np.where(tried > 0, hope * share, 1.0)
        part = self.component[rows.state]
        column = self._columns(o, calls, part[o.owner])
        kept = np.flatnonzero(column >= 0)
        weights = np.concatenate([(o.count * share[o.owner])[kept], unknown])
        last = self._exit_first[part + 1] - 1
        at = np.concatenate([rows.row[o.owner[kept]], rows.row])
        columns = np.concatenate([column[kept], last])
        gamma, box_gamma = rates
        if box_gamma < 1:
            leaves = np.full(len(tried), 1.0 - box_gamma)
            weights = np.concatenate([box_gamma * weights, leaves])
            at = np.concatenate([at, rows.row])
            columns = np.concatenate([columns, self._exit_first[part]])
        self.matrix = csr_array((gamma * weights, (at, columns)), shape=(len(tried), self.width))
        boxes = self.boxes.first[self.owner] + self.boxes.place
        callers = (rows.row[o.owner[calls.outcomes]], boxes[o.box[calls.outcomes]])
        shape = (len(tried), max(1, len(boxes)))
        self.calling = csr_array((np.ones(len(callers[0])), callers), shape=shape)
        gain = np.bincount(o.owner, o.reward, len(tried)).astype(np.float64) * share
        self.gain, self.unknown, self.tried = np.stack([gain, gamma * box_gamma * unknown, tried])[
            :, rows.order
        ]
        self.last, self.begin = last[rows.order], rows.begin

    def _part(self, c: int, calls: _Calls) -> Part:
        own = self.boxes.slice(c)
        boxes = self.boxes.order[own]
        callee = self.callee[boxes]
        first = self._exit_first[c : c + 2]
        return Part(
            states=self._by_part.order[self._by_part.slice(c)],
            exits=int(self.exits[c]),
            boxes=boxes,
            callee=callee,
            boxes_by_callee=[
                (d, np.flatnonzero(callee == d)) for d in sorted(set(callee.tolist()))
            ],
            returns=self._returns[boxes],
            call_box=self.boxes.place[calls.box[calls.groups.slice(c)]],
            own_states=self._by_part.slice(c),
            own_calls=calls.groups.slice(c),
            own_boxes=own,
            own_exits=slice(int(first[0]), int(first[1])),
        )


class _Groups:
    """Things by the group that they belong to.

    Attributes:
        order: The things, group by group.
        size: Size of each group.
        first: Where each group begins.
        place: Place of each thing in its group.
    """

    def __init__(self, group: Index, count: int = 0) -> None:
        self.order = np.argsort(group, kind="stable")
        self.size = np.bincount(group, minlength=count)
        self.first = np.concatenate([[0], np.cumsum(self.size)])
        self.place = np.empty(len(group), np.int64)
        self.place[self.order] = np.arange(len(group)) - self.first[group[self.order]]

    def __len__(self) -> int:
        return len(self.size)

    def slice(self, group: int) -> slice:
        """Where a group is in the order."""
        return slice(int(self.first[group]), int(self.first[group + 1]))


@dataclass(frozen=True, slots=True, eq=False)
class _Calls:
    """Outcomes that call, the number of the call of each, and box, entry and group of calls."""

    outcomes: Index
    number: Index
    box: Index
    entry: Index
    groups: _Groups


class _Rows:
    """Rows of pairs, component by component and state by state; bare states have one, too."""

    def __init__(self, counts: OutcomeCounts, by_part: _Groups) -> None:
        bare = [state for state, pairs in enumerate(counts.pairs_of) if not pairs]
        self.state = np.array([*counts.pair_state, *bare], np.int64)
        rank = np.empty(len(by_part.order), np.int64)
        rank[by_part.order] = np.arange(len(rank))
        self.order = np.argsort(rank[self.state], kind="stable")
        self.row = np.empty(len(self.order), np.int64)
        self.row[self.order] = np.arange(len(self.order))
        self.begin = np.flatnonzero(np.diff(rank[self.state[self.order]], prepend=-1))


class _Outcomes:
    """Outcomes as arrays: observed ones as they are estimated, and expected ones behind them."""

    def __init__(self, counts: OutcomeCounts, estimate: Estimate) -> None:
        more = estimate.more
        like = [outcome for outcome, _ in more.values()]
        kind, target, box = (
            np.array(column, np.int64) for column in (counts.kind, counts.target, counts.box)
        )
        self.kind, self.target, self.box = (
            np.concatenate([column, column[like]]) for column in (kind, target, box)
        )
        owner = np.array(counts.owner, np.int64)
        self.owner = np.concatenate([owner, np.array(list(more), np.int64)])
        self.tried = np.array(counts.tried, np.float64)
        weight = np.ones(len(owner))
        weight[: len(estimate.weight)] = estimate.weight
        count = named(owner, kind, np.array(counts.count) * weight, len(self.tried))
        reward = np.array(counts.reward, np.float64) * weight
        pairs, times = self.owner[len(owner) :], np.array([t for _, t in more.values()])
        mean = np.bincount(owner, reward, len(self.tried)) / np.maximum(self.tried, 1.0)
        self.count = np.concatenate([count, times])
        self.reward = np.concatenate([reward, times * mean[pairs]])
