"""Certificates of deterministic models without circles: the best ways, rounded outwards.

A point lists the best total of every vertex at one vector of exit values, and a piece the best way
to one exit. Sums are exact, and rounded once at every vertex: where all totals are floats, the
certificate proves the optimum itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import CALL, EXIT
from recurl.solving.budget import check_time
from recurl.solving.outward import float_above, float_below

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints
    from recurl.solving.question import Question

_MOST, _DEEPEST = 30_000, 400
"""Numbers of all points, and calls within calls; beyond them there is no certificate."""


def path_certificate(
    model: RMDP, question: Question, order: Sequence[int], choice: Ints, exits: Ints
) -> Certificate | None:
    """The certificate of the best ways of a model in which no run meets a circle.

    Args:
        model: The model.
        question: What was asked of it.
        order: Vertices, each after all that may follow it.
        choice: The first action, or the exit of the callee, on the best way to each exit.
        exits: The exit by which each start leaves.

    Returns:
        The certificate, or None if it had too many points or too large numbers, or entries call
        each other in circles.
    """
    t = model.tables
    root = tuple(question.root_values(t).tolist())
    try:
        paths = _Paths(model, question, order)
        for c in paths.own:
            if t.n_exits[c] == 1:
                paths.point((c, (0.0,)))
        start = paths.point((t.start_component, root))
        pieces, start_pieces = paths.pieces(choice, exits)
        ends = paths.claim(start, [pieces[i] for i in start_pieces], exits, root)
        return question.certificate(
            model,
            ends if question.sign > 0 else (0.0 - ends[1], 0.0 - ends[0]),
            points=paths.complete(),
            pieces=pieces,
            steps=paths.steps(),
            start_points=[[(start, 1.0)]] * len(t.start_prob),
            start_pieces=start_pieces,
        )
    except (_TooManyError, OverflowError):  # more points than fit, or numbers beyond floats
        return None


class _TooManyError(Exception):
    """There are too many points, calls within calls, or no order of the vertices."""


Context = tuple[int, tuple[float, ...]]
"""A component, and what its exits are worth."""


class _Paths:
    """The vertices that runs visit, callees first, with exact rewards; and the points so far."""

    def __init__(self, model: RMDP, question: Question, order: Sequence[int]) -> None:
        self.model, self.tables = model, model.tables
        self.sign, self.paid = int(question.sign), question.rewards
        self.order = self._returns_first(order, self._visited())
        self.own: dict[int, list[int]] = {}
        for v in self.order:
            self.own.setdefault(int(self.tables.vertex_component[v]), []).append(v)
        self.size = 0
        self.points: list[Point] = []
        self.called: list[list[int]] = []
        self.number: dict[Context, int] = {}

    def _visited(self) -> set[int]:
        """Vertices that runs visit, if a call may return by all exits that any call leaves by."""
        t, found, new = self.tables, set(self.tables.starts.tolist()), self.tables.starts.tolist()
        calls: dict[int, list[int]] = {}  # first return ports, by the callee's first exit
        while new:
            v = new.pop()
            if t.vertex_kind[v] == CALL:
                callee, entry, back, count = self._call(v)
                first = int(t.component_start[callee] + t.n_entries[callee])
                calls.setdefault(first, []).append(back)
                after = [entry, *(back + k for k in range(count) if first + k in found)]
            elif t.vertex_kind[v] == EXIT:
                k = int(t.vertex_port[v])
                after = [back + k for back in calls.get(v - k, [])]
            else:
                after = [q for _, q in self._ways(v)]
            new += set(after) - found
            found.update(after)
        return found

    def _returns_first(self, order: Sequence[int], visited: set[int]) -> list[int]:
        """Those that runs visit, each after what it leads to, calls also after return ports."""
        t, found, placed = self.tables, list[int](), set[int]()
        left = [v for v in order if v in visited]
        while left:
            rest = []
            for v in left:
                if t.vertex_kind[v] == CALL:
                    _, entry, back, count = self._call(v)
                    after = {entry, *range(back, back + count)} & visited
                else:
                    after = {q for _, q in self._ways(v)}
                if after <= placed:
                    placed.add(v)
                    found.append(v)
                else:
                    rest.append(v)
            if len(rest) == len(left):
                raise _TooManyError
            left = rest
        return found

    def _reward(self, action: int) -> Fraction:
        if self.paid != "model":
            return Fraction(self.sign * (self.paid == "steps"))
        return self.sign * self.model.exact.reward(int(self.tables.transition_start[action]))

    def _ways(self, v: int) -> list[tuple[Fraction, int]]:
        """Reward and target of every action."""
        t = self.tables
        actions = range(int(t.action_start[v]), int(t.action_start[v + 1]))
        return [(self._reward(a), int(t.target[t.transition_start[a]])) for a in actions]

    def _call(self, v: int) -> tuple[int, int, int, int]:
        """Callee, entry, first return port and number of exits of what a port calls."""
        t = self.tables
        box = int(t.vertex_box[v])
        callee = int(t.box_component[box])
        entry = int(t.component_start[callee] + t.vertex_port[v])
        return callee, entry, int(t.box_return[box]), int(t.n_exits[callee])

    def point(self, context: Context, depth: int = 0) -> int:
        """The number of the point of a context; those of its calls are made first."""
        if context in self.number:
            return self.number[context]
        (c, worth), t = context, self.tables
        self.size += len(self.own[c])
        if depth > _DEEPEST or self.size > _MOST:
            raise _TooManyError
        w = dict(zip(t.exits_of(c), worth, strict=True))  # those that no run visits, too
        called: dict[int, int] = {}
        for v in self.own[c]:
            check_time()
            if t.vertex_kind[v] == CALL:
                w[v], called[v] = self._through(v, w, depth)
            elif t.vertex_kind[v] != EXIT:
                w[v] = float_above(max(r + Fraction(w[q]) for r, q in self._ways(v)))
        first, last = (int(v) for v in t.component_start[c : c + 2])
        ports = [v for v in range(first, last) if t.vertex_kind[v] == CALL]
        self.points.append(Point(c, [w.get(v, 0.0) for v in range(first, last)], []))
        self.called.append([called.get(v, -1) for v in ports])
        self.number[context] = len(self.points) - 1
        return self.number[context]

    def complete(self) -> list[Point]:
        """The points with those of their calls: any one of the callee where no run calls."""
        t = self.tables
        some = {point.component: i for i, point in enumerate(self.points)}
        size, ports = np.diff(t.component_start).tolist(), t.vertex_kind == CALL
        for c in range(t.n_components):
            if c not in some:
                some[c] = len(self.points)
                self.points.append(Point(c, [0.0] * size[c], []))
                self.called.append([-1] * int(np.count_nonzero(ports[t.vertex_component == c])))
        callees = [
            t.box_component[t.vertex_box[ports & (t.vertex_component == c)]].tolist()
            for c in range(t.n_components)
        ]
        for point, own in zip(self.points, self.called, strict=True):
            pairs = zip(own, callees[point.component], strict=True)
            point.calls.extend([(i if i >= 0 else some[c], 1.0)] for i, c in pairs)
        return self.points

    def _through(self, v: int, w: dict[int, float], depth: int) -> tuple[float, int]:
        """The worth of a call, and its point; exits that are never taken are like another one."""
        callee, entry, back, count = self._call(v)
        known = [w[back + k] for k in range(count) if back + k in w]
        for k in range(count):
            w.setdefault(back + k, known[0])
        outside = [Fraction(w[back + k]) for k in range(count)]
        worth = tuple(float_above(x - outside[0]) for x in outside)
        i = self.point((callee, worth), depth + 1)
        inside = self.points[i].values[entry - int(self.tables.component_start[callee])]
        rise = max(x - Fraction(y) for x, y in zip(outside, worth, strict=True))
        return float_above(Fraction(inside) + rise), i

    def pieces(self, choice: Ints, exits: Ints) -> tuple[list[Piece], list[int]]:
        """The best ways to exits, those that the start leads to, and the one of each entry."""
        t, lower, pieces = self.tables, self._lower(choice), list[Piece]()
        start = [(t.start_component, k) for k in exits.tolist()]
        ways = list(dict.fromkeys(start))
        number = {way: i for i, way in enumerate(ways)}
        for c, k in ways:
            own = range(int(t.component_start[c]), int(t.component_start[c + 1]))
            ports = [v for v in own if t.vertex_kind[v] == CALL]
            called = [(self._call(v)[0], int(choice[v, k])) for v in ports]
            for way in called:
                if way not in number:
                    number[way] = len(ways)
                    ways.append(way)
            leads = [(v, k) in lower for v in own]
            weights = np.zeros((len(own), int(t.n_exits[c])))
            weights[leads, k] = 1.0
            piece = Piece(
                c,
                [0 if t.vertex_kind[v] == CALL else int(choice[v, k]) for v in own],
                [number[way] for way in called],
                [lower.get((v, k), 0.0) for v in own],
                weights.tolist() if t.n_exits[c] > 1 else None,
            )
            pieces.append(piece)
        return pieces, [number[way] for way in start]

    def _lower(self, choice: Ints) -> dict[tuple[int, int], float]:
        """The total on the way chosen from a vertex to an exit, where there is one."""
        t = self.tables
        found: dict[tuple[int, int], float] = {}
        for v in self.order:
            for k in range(int(t.n_exits[t.vertex_component[v]])):
                way, total = int(choice[v, k]), Fraction(0)
                if t.vertex_kind[v] == EXIT:
                    ends = [] if k == t.vertex_port[v] else [(v, k)]
                elif t.vertex_kind[v] == CALL:
                    _, entry, back, _ = self._call(v)
                    ends = [(entry, way), (back + way, k)]
                else:
                    total, q = self._ways(v)[way]
                    ends = [(q, k)]
                if all(end in found for end in ends):
                    found[v, k] = float_below(total + sum(Fraction(found[end]) for end in ends))
        return found

    def steps(self) -> list[float]:
        """The most steps from each vertex to an exit."""
        t, d = self.tables, [0.0] * self.tables.n_vertices
        for v in self.order:
            if t.vertex_kind[v] == CALL:
                _, entry, back, count = self._call(v)
                d[v] = float_above(Fraction(d[entry]) + Fraction(max(d[back : back + count])))
            elif t.vertex_kind[v] != EXIT:
                d[v] = float_above(1 + Fraction(max(d[q] for _, q in self._ways(v))))
        return d

    def claim(
        self, start: int, pieces: Sequence[Piece], exits: Ints, root: Sequence[float]
    ) -> tuple[float, float]:
        """The interval that points and pieces prove of the start, as totals are made great."""
        low = high = Fraction(0)
        for e, piece in enumerate(pieces):
            share = self.model.exact.start(e)
            low += share * (Fraction(piece.rewards[e]) + Fraction(root[exits[e]]))
            high += share * Fraction(self.points[start].values[e])
        return float_below(low), float_above(high)
