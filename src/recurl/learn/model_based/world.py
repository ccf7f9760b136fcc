"""The components that were discovered, as matrices from pairs to what follows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.learn.model_based.counts import CALL, END, EXIT, LEAVE, STEP
from recurl.model.tables import Floats

if TYPE_CHECKING:
    from recurl.learn.model_based.counts import OutcomeCounts

Index = np.ndarray


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A component: its states and calls are columns, its pairs are rows.

    Columns are the states, the calls (a box and an entry each), the exits, the best exit, and the
    unknown. A state where no run has stood has one row, which leads to the unknown.

    Attributes:
        states: Its states.
        exits: Number of exits.
        matrix: Weights from pairs to columns.
        gain: Expected reward of each pair.
        unknown: Weight of the unknown in each pair.
        tried: How often each pair was tried.
        begin: First row of each state.
        boxes: Its boxes.
        callee: Component that each box calls.
        returns: States after the exits of each box, counted within the component; the last one
            again where a box has fewer exits than others. ``[boxes, exits]``
        call_box: Box of each call, counted within the component.
        call_entry: Entry of each call, counted within the callee.
        calls_by_callee: Calls of each component that is called.
        calling: Which pairs may call which boxes.
    """

    states: Index
    exits: int
    matrix: Any
    gain: Floats
    unknown: Floats
    tried: Floats
    begin: Index
    boxes: Index
    callee: Index
    returns: Index
    call_box: Index
    call_entry: Index
    calls_by_callee: list[tuple[int, Index]]
    calling: Any

    @property
    def first_exit(self) -> int:
        """The first column of an exit; behind the exits are the best exit and the unknown."""
        return len(self.states) + len(self.call_box)


class World:
    """All components that were discovered.

    Args:
        counts: The counts.
        prior: Weight of the unknown among the outcomes of a pair, in samples.
        gamma: Discount of a step.

    Attributes:
        component: Component of each state.
        place: Place of each state within its component.
        parts: The components.
    """

    def __init__(self, counts: OutcomeCounts, prior: float, gamma: float) -> None:
        size = len(counts.states)
        roots = np.fromiter(map(counts.component, range(size)), np.int64, size)
        self.component = np.unique(roots, return_inverse=True)[1]
        self._by_part = _Groups(self.component)
        self.place = self._by_part.place
        self._read_boxes(counts)
        outcomes = _Outcomes(counts)
        calls = self._calls(outcomes)
        rows = _Rows(counts, self._by_part)
        whole, calling, numbers = self._matrices(outcomes, calls, rows, prior, gamma)
        self.parts = [
            self._part(c, calls, rows, whole, calling, numbers) for c in range(len(self._by_part))
        ]

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

    def _columns(self, o: _Outcomes, calls: _Calls, part: Index) -> Index:
        """Column of each outcome; -1 for the end of a run."""
        column = np.full(len(o.kind), -1, np.int64)
        behind = self._by_part.size + calls.groups.size
        steps, exits, leaves = (o.kind == kind for kind in (STEP, EXIT, LEAVE))
        column[steps] = self.place[o.target[steps]]
        column[exits] = behind[part[exits]] + o.target[exits]
        own = part[calls.outcomes]
        column[calls.outcomes] = self._by_part.size[own] + calls.groups.place[calls.number]
        many = self.exits[part[leaves]]
        column[leaves] = behind[part[leaves]] + np.where(many == 1, 0, many)
        return column

    def _matrices(
        self, o: _Outcomes, calls: _Calls, rows: _Rows, prior: float, gamma: float
    ) -> tuple[Any, Any, Floats]:
        """Weights from all pairs to columns and to boxes; rewards, unknown weights and tries."""
        from scipy.sparse import csr_array

        tried = np.concatenate([o.tried, np.zeros(len(rows.state) - len(o.tried))])
        share = np.where(tried > 0, 1 / np.maximum(tried + prior, 1e-300), 0.0)
        unknown = np.where(tried > 0, prior * share, 1.0)
        column = self._columns(o, calls, self.component[rows.state[o.owner]])
        width = self._by_part.size + calls.groups.size + self.exits + 2
        kept = np.flatnonzero(column >= 0)
        weights = np.concatenate([(o.count * share[o.owner])[kept], unknown])
        at = np.concatenate([rows.row[o.owner[kept]], rows.row])
        last = width[self.component[rows.state]] - 1
        places = (at, np.concatenate([column[kept], last]))
        whole = csr_array((gamma * weights, places), shape=(len(tried), int(width.max())))
        boxes = self.boxes.place[o.box[calls.outcomes]]
        callers = (rows.row[o.owner[calls.outcomes]], boxes)
        shape = (len(tried), max(1, int(self.boxes.size.max(initial=0))))
        calling = csr_array((np.ones(len(boxes)), callers), shape=shape)
        gain: Floats = np.bincount(o.owner, o.reward, len(tried)).astype(np.float64) * share
        self._width = width
        return whole, calling, np.stack([gain, gamma * unknown, tried])[:, rows.order]

    def _part(
        self, c: int, calls: _Calls, rows: _Rows, whole: Any, calling: Any, numbers: Floats
    ) -> Part:
        own, mine = rows.groups.slice(c), self._by_part.slice(c)
        boxes = self.boxes.order[self.boxes.slice(c)]
        call_box = calls.box[calls.groups.slice(c)]
        called = self.callee[call_box]
        gain, unknown, tried = numbers[:, own]
        return Part(
            states=self._by_part.order[mine],
            exits=int(self.exits[c]),
            matrix=whole[own, : self._width[c]],
            gain=gain,
            unknown=unknown,
            tried=tried,
            begin=rows.begin[mine] - own.start,
            boxes=boxes,
            callee=self.callee[boxes],
            returns=self._returns[boxes],
            call_box=self.boxes.place[call_box],
            call_entry=self.place[calls.entry[calls.groups.slice(c)]],
            calls_by_callee=[(int(d), np.flatnonzero(called == d)) for d in np.unique(called)],
            calling=calling[own, : max(1, len(boxes))],
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
        ranked = rank[self.state[self.order]]
        self.begin = np.flatnonzero(np.diff(ranked, prepend=-1))
        part = np.repeat(np.arange(len(by_part)), by_part.size)
        self.groups = _Groups(part[ranked], len(by_part))


class _Outcomes:
    """Outcomes as arrays, ends of whole runs by exit.

    Such an end does not name its exit: it is shared among the exits that its pair has shown.
    """

    def __init__(self, counts: OutcomeCounts) -> None:
        self.kind, self.target, self.box, self.owner = (
            np.array(column, np.int64)
            for column in (counts.kind, counts.target, counts.box, counts.owner)
        )
        self.count = np.array(counts.count, np.float64)
        self.reward = np.array(counts.reward, np.float64)
        self.tried = np.array(counts.tried, np.float64)
        self._name_exits()

    def _name_exits(self) -> None:
        named, pairs = (self.kind == EXIT) | (self.kind == END), len(self.tried)
        nameless = np.bincount(self.owner, self.count * (self.kind == LEAVE), pairs)
        shown = np.bincount(self.owner, self.count * named, pairs)
        both = (nameless > 0) & (shown > 0)
        scale = np.where(both, 1.0 + nameless / np.maximum(shown, 1.0), 1.0)
        self.count[named] *= scale[self.owner[named]]
        self.count[(self.kind == LEAVE) & both[self.owner]] = 0.0
