"""Copies of components, one for each point, piece or context, and where runs come to in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from recurl.errors import CertificateError
from recurl.model.tables import CALL, Mask, Tables, runs
from recurl.verification.arithmetic import Ints, Numbers


class Ports(NamedTuple):
    """The ports that calls enter and return to; the exits of all calls are in a row."""

    entry: Ints  # vertex that each call enters
    size: Ints  # number of exits of each call
    call: Ints  # number of the call of each exit
    exit: Ints  # the exits, as vertices
    back: Ints  # the return ports, as places

    def among(self, places: Mask) -> Ports:
        """Only the exits whose return ports are among some places."""
        call, exits, back = (x[places[self.back]] for x in self[2:])
        return Ports(self.entry, np.bincount(call, minlength=len(self.size)), call, exits, back)


class Copies:
    """Copies of components; their vertices, copy by copy, are places.

    Args:
        tables: The model.
        component: Component of each copy.
        callee: The copy that each call port enters, -1 if there is none; more may follow.
        chosen: Action of each place, counted within the vertex; empty if it may take any.

    Attributes:
        starts: Places where runs begin.
        returns: Whether runs are taken to return from calls by all exits, reached or not.
    """

    def __init__(
        self,
        tables: Tables,
        component: Ints,
        callee: Iterable[int] = (),
        chosen: Iterable[int] = (),
    ) -> None:
        t, self.tables, self.component = tables, tables, component
        size = np.diff(t.component_start)[component]
        self.copy = np.arange(len(size)).repeat(size)
        self.vertex = runs(t.component_start[component], size)
        self.shift = np.cumsum(size) - size - t.component_start[component]
        self.kind = t.vertex_kind[self.vertex]
        self.calls = np.flatnonzero(self.kind == CALL)
        self.callee, self.chosen = (np.fromiter(x, np.int64) for x in (callee, chosen))
        self.starts: list[int] = []
        self.returns = False

    def actions(self, places: Ints, *, every: bool) -> tuple[Ints, Ints]:
        """All actions of places, or the chosen ones: the place of each, and its number."""
        first, last = (self.tables.action_start[self.vertex[places] + i] for i in (0, 1))
        if every:
            return places.repeat(last - first), runs(first, last - first)
        own = places[last > first]
        return own, first[last > first] + self.chosen[own]

    def moves(self, owner: Ints, action: Ints) -> tuple[Ints, Ints, Ints]:
        """Number of transitions of each action, the transitions, and the places they lead to."""
        first, last = (self.tables.transition_start[action + i] for i in (0, 1))
        moves = runs(first, last - first)
        places = self.shift[self.copy[owner]].repeat(last - first) + self.tables.target[moves]
        return last - first, moves, places

    def ports(self, calls: Ints) -> Ports:
        """The ports that calls enter and return to."""
        t, v = self.tables, self.vertex[calls]
        callee = t.box_component[t.vertex_box[v]]
        entry, count = t.component_start[callee] + t.vertex_port[v], t.n_exits[callee]
        back = runs(self.shift[self.copy[calls]] + t.box_return[t.vertex_box[v]], count)
        return Ports(entry, count, np.arange(len(v)).repeat(count), exits_of(t, callee), back)

    @cached_property
    def visited(self) -> Mask:
        """Whether runs can come to each place."""
        ports, mask = self.ports(self.calls), np.zeros(len(self.vertex), np.bool_)
        owner, action = self.actions(np.arange(len(mask)), every=not len(self.chosen))
        count, _, target = self.moves(owner, action)
        owner = np.append(owner.repeat(count), self.calls)
        callee = self.callee[: len(self.calls)]
        target = np.append(target, self.shift[callee] + ports.entry)
        order = np.argsort(owner, kind="stable")
        begin = np.searchsorted(owner[order], np.arange(len(mask) + 1)).tolist()
        ahead = target[order].tolist()
        call = self.calls[ports.call]
        left = call if self.returns else self.shift[callee[ports.call]] + ports.exit
        after_both: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for one, other, back in zip(call.tolist(), left.tolist(), ports.back.tolist(), strict=True):
            after_both[one].append((other, back))
            after_both[other].append((one, back))
        found, new = set(self.starts), list(self.starts)
        while new:
            place = new.pop()
            after = ahead[begin[place] : begin[place + 1]]
            after += [back for other, back in after_both[place] if other in found]
            new += set(after) - found
            found.update(after)
        mask[list(found)] = True
        if (mask[self.calls] & (callee < 0)).any():
            raise CertificateError("malformed certificate: a call that enters no context")
        return mask


class Within(Copies):
    """Copies of copies, visited where those are: points, or columns of numbers.

    Args:
        base: The latter.
        of: The one that each copy is a copy of.
    """

    def __init__(self, base: Copies, of: Ints) -> None:
        super().__init__(base.tables, base.component[of])
        self.base, self.of, self.origin = base, of, base.shift[of[self.copy]] + self.vertex
        self.callee = base.callee[np.searchsorted(base.calls, self.origin[self.calls])]
        self.chosen = base.chosen[self.origin] if len(base.chosen) else base.chosen
        self.first = np.searchsorted(of, np.arange(len(base.component)))
        self.column = np.arange(len(of)) - self.first[of]

    @cached_property
    def visited(self) -> Mask:
        """Whether runs can come to each place."""
        visited: Mask = self.base.visited[self.origin]
        return visited

    def by_place(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers that are listed place by place, with all columns of each."""
        width = np.bincount(self.of, minlength=len(self.base.component))[self.base.copy]
        numbers = numbers[(np.cumsum(width) - width)[self.origin] + self.column[self.copy]]
        return numbers

    def columns(self, copy: Ints, vertex: Ints, count: Ints) -> Ints:
        """Places of the first columns of vertices, ``count`` of them each."""
        return np.asarray(self.shift[runs(self.first[copy], count)] + vertex.repeat(count))


class Mixes:
    """Convex combinations of copies, with the last weight being what the others leave.

    Args:
        last: The last copy of each.
        mixes: All copies and weights; none if each combination is of one copy.
    """

    def __init__(self, last: Ints, mixes: Sequence[Sequence[tuple[int, float]]] = ()) -> None:
        self.last, self.count = last, np.zeros(len(last), np.int64)
        self.count[: len(mixes)] = [len(mix) - 1 for mix in mixes]
        others = list(chain.from_iterable(mix[:-1] for mix in mixes))
        self.other = np.array([i for i, _ in others], np.int64)
        self.share = Numbers(np.array([share for _, share in others], np.float64))

    def at(self, copies: Copies, x: Numbers, mix: Ints, vertex: Ints) -> Numbers:
        """x_last + sum_j l_j (x_j - x_last) at vertices, for mixes with some numbers."""
        last, count = x[copies.shift[self.last[mix]] + vertex], self.count[mix]
        if not count.any():
            return last
        terms = runs((np.cumsum(self.count) - self.count)[mix], count)
        others = x[copies.shift[self.other[terms]] + vertex.repeat(count)]
        change = others - last[np.arange(len(count)).repeat(count)]
        return last + (change * self.share[terms]).sums(count)


def exits_of(t: Tables, component: Ints) -> Ints:
    """The exits of components, as vertices."""
    return runs((t.component_start[:-1] + t.n_entries)[component], t.n_exits[component])
