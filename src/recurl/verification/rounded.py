"""The inequalities of points and pieces that rounded arithmetic proves, many at once.

Every sum is computed in binary floats together with a bound on its rounding error: an inequality
counts as proved only if it holds by more than that. The others are left to exact arithmetic. With
u = 2**-53, a sum of n products of rounded factors is off by at most (n + 2) u times the sum of
their sizes; all bounds below are generous.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import CALL, EXIT, Floats, Ints

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_U = 2.0**-53 * 1.01
_TINY, _HUGE = 1e-290, 1e30
"""More than products of numbers that are not huge can lose below the smallest normal ones."""
_CHUNK = 4_000_000
"""Numbers that a table may have."""

Proved = np.ndarray
"""Whether all inequalities of each vertex are proved: ``[points or pieces, vertices]``."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A component; vertices, actions and transitions are counted within it.

    Attributes:
        first: Its first vertex.
        kind: Kinds of its vertices.
        entries: Number of entries, which come before the exits.
        exits: Number of exits.
        states: Vertices with actions.
        begin: First action of each state.
        moves: First transition of each action, and the end of the last.
        target: Where transitions lead.
        prob: Their probabilities, rounded to nearest.
        gain: Expected reward of each action, rounded.
        size: The same for the sizes of the rewards.
        calls: Call ports.
        callee: Component that each calls.
        port: Entry that each calls.
        back: First return port of each.
    """

    first: int
    kind: np.ndarray
    entries: int
    exits: int
    states: np.ndarray
    begin: Ints
    moves: Ints
    target: Ints
    prob: Floats
    gain: Floats
    size: Floats
    calls: np.ndarray
    callee: Ints
    port: Ints
    back: Ints

    @property
    def choices(self) -> Ints:
        """Number of actions of each state."""
        return np.diff(np.append(self.begin, len(self.gain)))

    @property
    def terms(self) -> Ints:
        """Number of transitions of each action."""
        return np.diff(self.moves)


class Rounded:
    """The claims of a certificate that rounded arithmetic proves.

    Args:
        model: The model.
        given: The certificate, well-formed.
        sign: -1 to negate all rewards.

    Attributes:
        proved: Number of inequalities proved so far.
    """

    def __init__(self, model: RMDP, given: Certificate, sign: int) -> None:
        self.given, self.tables, self.proved = given, model.tables, 0
        self.prob, reward = model.exact.nearest()
        self.huge = np.abs(reward) > _HUGE
        paid = {"model": reward, "steps": np.ones_like(reward), "none": np.zeros_like(reward)}
        self.parts = self._parts(self.prob * (sign * paid[given.rewards]))

    def _parts(self, gains: Floats) -> list[_Part]:
        return [self._part(c, gains) for c in range(self.tables.n_components)]

    def _part(self, c: int, gains: Floats) -> _Part:
        t, prob = self.tables, self.prob
        first, last = (int(v) for v in t.component_start[c : c + 2])
        actions = slice(int(t.action_start[first]), int(t.action_start[last]))
        moves = t.transition_start[actions.start : actions.stop + 1]
        own = slice(int(moves[0]), int(moves[-1]))
        states = np.flatnonzero(np.diff(t.action_start[first : last + 1]))
        calls = np.flatnonzero(t.vertex_kind[first:last] == CALL)
        box = t.vertex_box[first + calls]
        starts = moves[:-1] - own.start
        return _Part(
            first,
            t.vertex_kind[first:last],
            int(t.n_entries[c]),
            int(t.n_exits[c]),
            states,
            t.action_start[first + states] - actions.start,
            moves - own.start,
            t.target[own] - first,
            prob[own],
            _sums(gains[own], starts),
            _sums(np.where(self.huge[own], np.inf, np.abs(gains[own])), starts),
            calls,
            t.box_component[box],
            t.vertex_port[first + calls],
            t.box_return[box] - first,
        )

    # Steps are points of a model in which every step pays 1, one for each component

    def steps(self) -> Proved:
        """Which vertices have the inequalities of their step bounds proved."""
        if self.given.reach is not None:
            return np.zeros(self.tables.n_vertices, bool)
        own, start, d = self.parts, self.tables.component_start.tolist(), self.given.steps
        self.parts = self._parts(self.prob)
        points = [
            Point(c, d[start[c] : start[c + 1]], [[(int(i), 1.0)] for i in part.callee])
            for c, part in enumerate(own)
        ]
        proved = np.concatenate(self.points(points)) & (np.array(d) >= 0.0)
        self.parts = own
        return np.asarray(proved)

    # Points

    def points(self, points: Sequence[Point]) -> list[Proved]:
        """For every point, which vertices have all their inequalities proved."""
        number = _by_component(points, len(self.parts))
        self.place = _places(number, len(points))
        self.values = [
            np.array([points[i].values for i in own]).reshape(len(own), len(part.kind))
            for own, part in zip(number, self.parts, strict=True)
        ]
        self.largest = [_largest(w) for w in self.values]
        proved: list[Proved] = [np.zeros(0, bool)] * len(points)
        for c, own in enumerate(number):
            part = self.parts[c]
            count = np.zeros(len(part.kind), np.int64)
            count[part.states], count[part.calls] = part.choices, 2
            width = max(len(part.target), len(part.calls) * _width(self.parts))
            for rows in _chunks(len(own), width):
                listed = [points[i] for i in own[rows]]
                known = self._check_points(c, listed, rows)
                self.proved += int((known * count).sum())
                for i, found in zip(own[rows], known, strict=True):
                    proved[i] = found
        return proved

    def _check_points(self, c: int, points: list[Point], rows: slice) -> Proved:
        part, w, largest = self.parts[c], self.values[c][rows], self.largest[c][rows, None]
        proved = np.ones(w.shape, bool)
        if len(part.states):
            after = _sums(w[:, part.target] * part.prob, part.moves[:-1]) + part.gain
            owner = part.states.repeat(part.choices)
            error = _U * (part.terms + 8) * (2.0 * largest + part.size) + _TINY
            holds = w[:, owner] - after > error
            proved[:, part.states] = np.logical_and.reduceat(holds, part.begin, axis=1)
        if self.given.reach is not None:
            proved[:, part.calls] = False
            return proved
        for callee in np.unique(part.callee):
            own = np.flatnonzero(part.callee == callee)
            mixes = [point.calls[i] for i in own for point in points]
            back = part.back[own, None] + np.arange(self.parts[callee].exits)
            holds = self._check_mixes(
                callee,
                part.port[own].repeat(len(points)),
                mixes,
                w[:, part.calls[own]].T.ravel(),
                w[:, back].swapaxes(0, 1).reshape(len(mixes), -1),
                np.tile(largest[:, 0], len(own)),
            )
            proved[:, part.calls[own]] = holds.reshape(len(own), len(points)).T
        return proved

    def _check_mixes(
        self,
        callee: int,
        entry: Ints,
        mixes: list[list[tuple[int, float]]],
        value: Floats,
        outside: Floats,
        largest: Floats,
    ) -> np.ndarray:
        """Whether value >= sum_j l_j w_j(en) + max (outside - sum_j l_j v_j), mix by mix."""
        part, terms = self.parts[callee], np.array([len(mix) for mix in mixes])
        ends = np.cumsum(terms)
        node = self.place[[j for mix in mixes for j, _ in mix]]
        weight = np.array([x for mix in mixes for _, x in mix])
        weight[ends - 1] = 0.0
        fair = np.minimum.reduceat(weight, ends - terms) >= 0.0
        rest = 1.0 - _sums(weight, ends - terms)
        weight[ends - 1] = rest
        fair &= (terms == 1) | (rest > 4.0 * _U * terms)
        first, own = part.entries, self.values[callee][node]
        exits = own[:, first : first + part.exits]
        inside = _sums((exits * weight[:, None]).T, ends - terms).T
        below = _sums(own[np.arange(len(node)), entry.repeat(terms)] * weight, ends - terms)
        size = np.maximum.reduceat(self.largest[callee][node], ends - terms)
        error = _U * (2 * terms + 12) * (largest + 2.0 * size) + _TINY
        proved = value - (below + (outside - inside).max(axis=1)) > error
        tight = np.flatnonzero(~proved & (terms == 1))
        proved[tight] = _at_most(
            [below[tight, None], outside[tight], -inside[tight]], value[tight, None]
        ).all(axis=1)
        return np.asarray(fair & proved)

    # Pieces

    def pieces(self, pieces: Sequence[Piece]) -> list[Proved]:
        """For every piece, which vertices have all their inequalities proved."""
        number = _by_component(pieces, len(self.parts))
        self.place = _places(number, len(pieces))
        self.rewards, self.weights = [], []
        for own, part in zip(number, self.parts, strict=True):
            shape = len(own), len(part.kind), part.exits
            self.rewards.append(np.array([pieces[i].rewards for i in own]).reshape(shape[:2]))
            self.weights.append(_weights([pieces[i] for i in own], shape))
        proved: list[Proved] = [np.zeros(0, bool)] * len(pieces)
        for c, own in enumerate(number):
            part = self.parts[c]
            count = np.where(part.kind == EXIT, 2, 2 + part.exits * (part.exits > 1))
            width = len(part.target) * part.exits + len(part.calls) * _width(self.parts) ** 2
            for rows in _chunks(len(own), width):
                known = self._check_pieces(c, [pieces[i] for i in own[rows]], rows)
                self.proved += int((known * count).sum())
                for i, found in zip(own[rows], known, strict=True):
                    proved[i] = found
        return proved

    def _check_pieces(self, c: int, pieces: list[Piece], rows: slice) -> Proved:
        part, reward, weight = self.parts[c], self.rewards[c][rows], self.weights[c][rows]
        largest = _largest(reward)
        total, used = weight.sum(axis=2), (weight != 0.0).sum(axis=2)
        proved: Proved = (weight.min(axis=(1, 2)) >= 0.0)[:, None]
        proved = proved & (total <= 1.0 - np.where(used > 1, _U * part.exits, 0.0))
        exits = part.kind == EXIT
        proved[:, exits] &= reward[:, exits] <= 0.0
        proved[:, exits] &= (weight[:, exits] <= np.eye(part.exits)).all(axis=2)
        if len(part.states):
            proved[:, part.states] &= self._check_actions(part, pieces, reward, weight, largest)
        for callee in np.unique(part.callee):
            own = np.flatnonzero(part.callee == callee)
            inner = self.place[[[piece.calls[i] for i in own] for piece in pieces]]
            proved[:, part.calls[own]] &= self._check_calls(
                part, own, inner, reward, weight, largest
            )
        return proved

    def _check_actions(
        self,
        part: _Part,
        pieces: list[Piece],
        reward: Floats,
        weight: Floats,
        largest: Floats,
    ) -> Proved:
        """R <= g + sum p R' and p_k <= sum p p_k' for the actions that pieces take at states."""
        taken = np.array([piece.actions for piece in pieces])[:, part.states] + part.begin
        terms = part.terms[taken]
        ends = np.cumsum(terms)
        number = np.arange(ends[-1]) + (part.moves[taken].ravel() - ends + terms.ravel()).repeat(
            terms.ravel()
        )
        piece = np.arange(len(pieces)).repeat(terms.sum(axis=1))
        start, prob, target = ends - terms.ravel(), part.prob[number], part.target[number]
        after = _sums(prob * reward[piece, target], start).reshape(taken.shape) + part.gain[taken]
        error = _U * (terms + 8) * (2.0 * largest[:, None] + part.size[taken]) + _TINY
        proved = after - reward[:, part.states] > error
        if part.exits > 1:
            reached = _sums((prob[:, None] * weight[piece, target]).T, start).T
            own = weight[:, part.states]
            room = reached.reshape(own.shape) - own
            proved &= ((own == 0.0) | (room > _U * (terms + 8)[:, :, None])).all(axis=2)
        return np.asarray(proved)

    def _check_calls(
        self,
        part: _Part,
        own: np.ndarray,
        inner: Ints,
        reward: Floats,
        weight: Floats,
        largest: Floats,
    ) -> Proved:
        """R <= R_c + p_c.R_ret + (1 - sum p_c) min R_ret and p <= sum p_c p_ret at some calls.

        All of them call one component; ``inner`` has their pieces: ``[pieces, calls]``.
        """
        callee, calls = int(part.callee[own[0]]), part.calls[own]
        count = self.parts[callee].exits
        back = part.back[own, None] + np.arange(count)
        paid, p = (a[callee][inner, part.port[own]] for a in (self.rewards, self.weights))
        after = (p * reward[:, back]).sum(axis=2) + paid
        after += (1.0 - p.sum(axis=2)) * reward[:, back].min(axis=2)
        error = _U * (2 * count + 10) * (4.0 * largest[:, None] + np.abs(paid)) + _TINY
        proved = after - reward[:, calls] > error
        if count == 1:
            proved |= _at_most([-paid, -reward[:, back[:, 0]]], -reward[:, calls])
        if part.exits > 1:
            reached = np.einsum("ncj,ncjk->nck", p, weight[:, back])
            mine = weight[:, calls]
            room = reached - mine
            proved &= ((mine == 0.0) | (room > _U * (count + 8) * (1.0 + reached))).all(axis=2)
        return np.asarray(proved)


def _at_most(terms: list[Floats], bound: Floats) -> np.ndarray:
    """Whether sums of few terms are at most a bound, rounding errors counted in full.

    The error of each sum is itself a float (Knuth's two-sum); what is left of their own sum is far
    smaller.
    """
    total, errors, size = terms[0], np.zeros(1), np.zeros(1)
    for term in (*terms[1:], -bound):
        new = total + term
        part = new - total
        error = (total - (new - part)) + (term - part)
        total, errors, size = new, errors + error, size + np.abs(error)
    return np.asarray(total + errors <= -8.0 * _U * (np.abs(total) + size))


def _sums(terms: Floats, start: Ints) -> Floats:
    """Sums of consecutive terms along the last axis."""
    found: Floats = np.add.reduceat(terms, start, axis=-1) if len(start) else terms
    return found


def _largest(values: Floats) -> Floats:
    """The greatest size in each row; infinite, so that nothing is proved, if it is huge."""
    size = np.abs(values).max(axis=1, initial=0.0)
    return np.where(size > _HUGE, np.inf, size)


def _by_component(listed: Sequence[Point | Piece], count: int) -> list[list[int]]:
    """Numbers of the points or pieces of each component."""
    own: list[list[int]] = [[] for _ in range(count)]
    for i, one in enumerate(listed):
        own[one.component].append(i)
    return own


def _places(number: list[list[int]], count: int) -> np.ndarray:
    """Place of each point or piece among those of its component."""
    place = np.zeros(count, np.int64)
    for own in number:
        place[own] = np.arange(len(own))
    return place


def _weights(pieces: list[Piece], shape: tuple[int, int, int]) -> Floats:
    """Weights of some pieces of a component; 1 where there is one exit."""
    listed = [piece.weights for piece in pieces if piece.weights is not None]
    return np.array(listed).reshape(shape) if listed else np.ones(shape)


def _width(parts: list[_Part]) -> int:
    return max(part.exits for part in parts)


def _chunks(count: int, width: int) -> Iterator[slice]:
    rows = max(1, _CHUNK // max(width, 1))
    return (slice(i, min(count, i + rows)) for i in range(0, count, rows))


def binary_places(numbers: Iterable[float]) -> int:
    """Digits after the binary point that all numbers can be written with."""
    _, exponent = np.frexp([x for x in numbers if x])
    return max(0, 53 - int(exponent.min(initial=53)))
