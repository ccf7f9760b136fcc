"""The search by trials: right where few of many possible exit values matter.

A trial goes from the start, with the actions that look best from above, into the calls where both
bounds are farthest apart, and puts points at their exit values; on the way out it backs up both
bounds. Some trials are made side by side. Values of points only fall, and pieces refer to older
pieces only: whatever is there is a bound at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import Floats
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.linear import block_of
from recurl.solving.certified.lower import Lower
from recurl.solving.certified.points import Cloud
from recurl.solving.certified.upper import Upper

if TYPE_CHECKING:
    from recurl.solving.certified.problem import Component, SearchProblem, Site

_SLACK = 1e-13
_NEAR = 1e-13
_DEPTH = 64
_SIDE_BY_SIDE = 8
_SWEEPS, _ROUNDS, _STEPS = 40, 20, 200
_ROOM = 1.5
"""Times the points needed that a component may have before needless ones are taken out."""
_LEFT = 1e-3
"""Share of a run that may be lost."""

Level = dict[int, tuple[np.ndarray, Floats]]
"""By component: points that trials have come to, and how often at each entry: ``[E, points]``."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of one component: a column each.

    Attributes:
        vectors: Exit values at which they were found. ``[pieces, K]``
        action: Actions of states, counted within the component. ``[states, pieces]``
        callee: Pieces that the calls enter. ``[calls, pieces]``
        rewards: R of entries. ``[entries, pieces]``
        reach: p of entries. ``[entries, pieces, K]``
        whole: R, and p behind it, of all vertices, by piece. ``[vertices, 1 + K]`` each
    """

    vectors: Floats
    action: np.ndarray
    callee: np.ndarray
    rewards: Floats
    reach: Floats
    whole: list[Floats]

    @classmethod
    def of(
        cls, entries: int, vectors: Floats, action: np.ndarray, callee: np.ndarray, both: Floats
    ) -> Pieces:
        """Pieces with given R, and p behind it: ``[vertices, pieces, 1 + K]``."""
        rewards, reach = both[:entries, :, 0].copy(), both[:entries, :, 1:].copy()
        whole = [both[:, i].copy() for i in range(len(vectors))]
        return cls(vectors, action, callee, rewards, reach, whole)

    @cached_property
    def from_entries(self) -> tuple[Floats, Floats]:
        """Sums of p and R over the entries: ``[pieces, K]`` and ``[pieces]``."""
        return self.reach.sum(axis=0), self.rewards.sum(axis=0)

    def at(self, vectors: Floats) -> Floats:
        """Values of all pieces at exit values, from the entries: ``[n, entries, pieces]``."""
        least = vectors.min(axis=1)
        along = vectors - least[:, None]
        flat: Floats = along @ self.reach.reshape(-1, self.reach.shape[2]).T
        worth = flat.reshape(len(vectors), *self.rewards.shape)
        worth += self.rewards
        worth += least[:, None, None]
        return worth

    def below(self, vectors: Floats) -> Floats:
        """A lower bound at all vertices for exit values, by a piece good at entries."""
        least = vectors.min(axis=1)
        along = vectors - least[:, None]
        total, earned = self.from_entries
        best = (along @ total.T + earned).argmax(axis=1).tolist()
        terms = np.append(np.ones((len(along), 1)), along, axis=1)
        worth = np.array([self.whole[i] @ own for i, own in zip(best, terms, strict=True)])
        found: Floats = worth.T + least
        return found

    def joined(self, other: Pieces) -> Pieces:
        """These, and others behind them."""
        return Pieces(
            np.concatenate([self.vectors, other.vectors]),
            np.concatenate([self.action, other.action], axis=1),
            np.concatenate([self.callee, other.callee], axis=1),
            np.concatenate([self.rewards, other.rewards], axis=1),
            np.concatenate([self.reach, other.reach], axis=1),
            self.whole + other.whole,
        )


class Trials:
    """Trials from the start of a model; bounds only get better.

    Args:
        upper: First points.
        lower: First pieces; those of every component.
        tolerance: Gap, weighted by visits, below which a trial turns back.

    Attributes:
        points: Points of each component, vectors normalised to minimum 0.
        values: Values of the vertices of each component at them. ``[vertices, points]``
        pieces: Pieces of each component.
        clock: Number of backups so far.
        changed: Clock when the entries of each point last fell.
        checked: Clock when the calls of each point were last bounded.
        called: Values of the vertices of each point then. ``[vertices, points]``
        tried: Number of pieces when pieces at each point were last looked for.
    """

    def __init__(self, upper: Upper, lower: Lower, *, tolerance: float) -> None:
        self.problem: SearchProblem = upper.contexts.problem
        self.tolerance, self.fine = tolerance, 0.05 * tolerance
        self.points: list[Cloud] = []
        self.values: list[Floats] = []
        # Trials may come to any point, not only to those that the start leads to now.
        every = [np.arange(n) for n in upper.contexts.count]
        excess = upper.excess_at(every)
        for c, part in enumerate(self.problem.components):
            raised = upper.raised(c, every[c], excess)
            least = raised[part.exits].min(axis=0)
            self.points.append(Cloud((raised[part.exits] - least).T))
            self.values.append(raised - least)
        self.clock = 0
        self.tried = [np.zeros(len(points), np.int64) for points in self.points]
        self.changed = [np.zeros(len(points), np.int64) for points in self.points]
        self.checked = [np.full(len(points), -1) for points in self.points]
        self.called = [np.full_like(values, np.inf) for values in self.values]
        self.room = [0.0] * len(self.points)
        self._prune()
        self.pieces = [_pieces_of(lower, c) for c in range(len(self.points))]

    def run(self) -> None:
        """Some trials side by side."""
        c, prob = self.problem.start, self.problem.tables.start_prob
        root = self._points_at(c, self.problem.root[None])
        level: Level = {c: (root, prob[:, None])}
        levels: list[Level] = []
        while level and len(levels) < _DEPTH:
            levels.append(level)
            level = self._next(level)
        for level in reversed(levels):
            for c, (own, _) in level.items():
                self._back_up_above(c, own)
            for c, (own, _) in level.items():
                self._back_up_below(c, own)
        self._prune()

    def go_deeper(self) -> None:
        """Turn back later from now on, and back up all points again."""
        self.tolerance, self.fine = 0.1 * self.tolerance, 0.1 * self.fine
        self.checked = [np.minimum(own, 0) for own in self.checked]

    def _prune(self) -> None:
        """Take out needless points of components that have many more than when last seen to."""
        for c, part in enumerate(self.problem.components):
            vectors, values = self.points[c].vectors, self.values[c]
            if len(vectors) > self.room[c]:
                kept = needed_points(vectors, values[part.entry_rows].T)
                self.points[c], self.values[c] = Cloud(vectors[kept]), values[:, kept]
                self.changed[c], self.checked[c] = self.changed[c][kept], self.checked[c][kept]
                self.called[c], self.tried[c] = self.called[c][:, kept], self.tried[c][kept]
                self.room[c] = _ROOM * len(kept) + _SIDE_BY_SIDE

    def bounds(self) -> tuple[float, float]:
        """Both bounds at the start."""
        c, prob, root = self.problem.start, self.problem.tables.start_prob, self.problem.root[None]
        entries = self.problem.components[c].entry_rows
        low = self.pieces[c].at(root)[0].max(axis=1)
        high = self.points[c].least(self.values[c][entries].T, root)[0]
        return float(prob @ low), float(prob @ high)

    def vectors(self) -> list[Floats]:
        """Exit values of the points, by component."""
        return [points.vectors for points in self.points]

    def upper(self) -> Upper:
        """The points as an upper bound."""
        contexts = Contexts(self.problem, list(self.points))
        return Upper.of(contexts, np.concatenate([w.ravel() for w in self.values]))

    def lower(self) -> Lower:
        """The pieces as a policy over them."""
        contexts = Contexts(self.problem, [Cloud(own.vectors) for own in self.pieces])
        reach = np.zeros((int(contexts.base[-1]), self.problem.tables.max_exits))
        rewards = np.zeros(len(reach))
        for c, own in enumerate(self.pieces):
            for i, both in enumerate(own.whole):
                contexts.view(rewards, c)[:, i] = both[:, 0]
                contexts.view(reach, c)[:, i, : both.shape[1] - 1] = both[:, 1:]
        return Lower(
            contexts,
            [own.action for own in self.pieces],
            np.concatenate([own.callee.ravel() for own in self.pieces]),
            reach,
            rewards,
            sound=True,
        )

    def _points_at(self, c: int, vectors: Floats) -> np.ndarray:
        """The points of a component at exit values, made where there are none."""
        part, points = self.problem.components[c], self.points[c]
        wanted = vectors - vectors.min(axis=1, keepdims=True)
        apart = points.spans(wanted)
        near: np.ndarray = apart.argmin(axis=1)
        close = _NEAR * (1.0 + wanted.max(axis=1))
        new = np.flatnonzero(apart[np.arange(len(near)), near] > close)
        if len(new):
            near[new] = len(points) + np.arange(len(new))
            values = points.least(self.values[c].T, wanted[new]).T
            values[part.exits] = wanted[new].T
            self.points[c] = Cloud(np.concatenate([points.vectors, wanted[new]]))
            self.values[c] = np.concatenate([self.values[c], values], axis=1)
            self.called[c] = np.concatenate([self.called[c], np.full_like(values, np.inf)], axis=1)
            self.changed[c] = np.append(self.changed[c], np.full(len(new), self.clock))
            self.checked[c] = np.append(self.checked[c], np.full(len(new), -1))
            self.tried[c] = np.append(self.tried[c], np.zeros(len(new), np.int64))
        return near

    def _next(self, level: Level) -> Level:
        """Points at the exit values of the calls of a level that promise most."""
        found = []
        for c, (own, mass) in level.items():
            self._back_up_above(c, own)
            found += self._promising(c, own, mass)
        found.sort(key=lambda call: -call[0])
        chosen: dict[int, list[tuple[Floats, int, float]]] = {}
        for score, callee, port, vector, visits in found[:_SIDE_BY_SIDE]:
            if score > max(self.tolerance, 0.01 * found[0][0]):
                chosen.setdefault(callee, []).append((vector, port, visits))
        after: Level = {}
        for c, calls in chosen.items():
            at = self._points_at(c, np.array([vector for vector, _, _ in calls]))
            own, place = np.unique(at, return_inverse=True)
            mass = np.zeros((self.problem.components[c].entries, len(own)))
            for (_, port, visits), x in zip(calls, place.tolist(), strict=True):
                mass[port, x] += visits
            after[c] = own, np.minimum(mass, 1.0)
        return after

    def _promising(
        self, c: int, own: np.ndarray, mass: Floats
    ) -> list[tuple[float, int, int, Floats, float]]:
        """Calls of some points with their gap, weighted: callee, entry, exit values and visits."""
        part, w = self.problem.components[c], self.values[c][:, own]
        piece, below = self._best_pieces(part, w)
        visits = self._visits(c, own, piece, mass)[part.calls]
        score = visits * np.maximum(w[part.calls] - below, 0.0)
        order = np.argsort(-score, axis=None, kind="stable")[:_SIDE_BY_SIDE]
        found = []
        for i, x in zip(*np.unravel_index(order, score.shape), strict=True):
            if score[i, x] > self.tolerance:
                vector = w[part.returns[i, part.inside[i]], x]
                call = int(part.callee[i]), int(part.port[i]), vector, float(visits[i, x])
                found.append((float(score[i, x]), *call))
        return found

    def _best_pieces(self, part: Component, w: Floats) -> tuple[np.ndarray, Floats]:
        """The best piece for each call where vertices are worth w, and what it is worth."""
        shape = (len(part.calls), w.shape[1])
        piece, worth = np.zeros(shape, np.int64), np.zeros(shape)
        for site in part.sites:
            vectors = _rows(w, site.returns)
            value = self.pieces[site.callee].at(vectors)
            piece[site.calls] = _by_call(value.argmax(axis=2), site.calls.shape)
            worth[site.calls] = _by_call(value.max(axis=2), site.calls.shape)
        return piece, worth

    def _visits(self, c: int, own: np.ndarray, piece: np.ndarray, mass: Floats) -> Floats:
        """Expected visits of vertices under actions that may be best, as far as bounds tell.

        Half of a run goes where it looks best from above, the other half evenly to all actions
        that look better from above than the best does from below.
        """
        part, w = self.problem.components[c], self.values[c][:, own]
        low = self.pieces[c].below(self.points[c].vectors[own])[part.states]
        earned, most = part.earned(w)
        best, count = part.first_best(earned, most), part.choices
        hopeful = (earned >= low.repeat(count, axis=0)).astype(float)
        even = np.add.reduceat(hopeful, part.begin, axis=0).repeat(count, axis=0)
        taken = 0.5 * hopeful / np.maximum(even, 1.0)
        taken[best, np.arange(len(own))] += 0.5
        state = part.states.repeat(count)
        share = self._shares(part, piece)
        back = [
            (part.calls[site.calls], site.returns, share[site.calls][..., : site.returns.shape[1]])
            for site in part.sites
        ]
        left = np.zeros((part.size, len(own)))
        left[part.entry_rows] = mass
        visits = left.copy()
        for _ in range(_STEPS):
            new = part.backwards @ (taken * left[state])
            for calls, returns, share in back:
                new[returns] = np.einsum("benk,ben->bkn", share, left[calls])
            left = new
            visits += left
            if left.sum() <= _LEFT:
                break
        return visits

    def _shares(self, part: Component, piece: np.ndarray) -> Floats:
        """Where calls return in given pieces: ``[calls, n, K]``."""
        share = np.zeros((*piece.shape, part.returns.shape[1]))
        for site in part.sites:
            reach = self.pieces[site.callee].reach
            entry = np.arange(len(reach))[:, None]
            share[site.calls, :, : reach.shape[2]] = reach[entry, piece[site.calls]]
        return share

    def _back_up_above(self, c: int, own: np.ndarray) -> None:
        """Lower the values of some points as far as the bounds of their calls allow.

        Those whose callees have not changed since stay as they are.
        """
        part = self.problem.components[c]
        latest = max((int(self.changed[s.callee].max()) for s in part.sites), default=0)
        own = own[self.checked[c][own] <= latest]
        if len(own) == 0:
            return
        w, checked = self.values[c][:, own], self.checked[c][own]
        before, last = w[part.entry_rows].copy(), self.called[c][:, own]
        self.clock += 1
        for _ in range(_ROUNDS):
            for _ in range(_SWEEPS):
                best = np.minimum(part.earned(w)[1], w[part.states])
                change = float((w[part.states] - best).max(initial=0.0))
                w[part.states] = best
                if change <= self.fine:
                    break
            falls = [self._call_above(part, site, w, last, checked) for site in part.sites]
            checked, last = np.full(len(own), self.clock), w.copy()
            if max(falls, default=0.0) <= self.fine:
                break
        self.values[c][:, own] = w
        self.checked[c][own], self.called[c][:, own] = self.clock, last
        self.changed[c][own[(w[part.entry_rows] < before).any(axis=0)]] = self.clock

    def _call_above(
        self, part: Component, site: Site, w: Floats, last: Floats, checked: np.ndarray
    ) -> float:
        """Lower the bounds of some boxes; by how much they fall.

        Where exit values are those of when they were last computed, only points that have changed
        since can lower them.
        """
        fallen = (w[site.returns] < last[site.returns]).any(axis=1).ravel()
        other, same = fallen.nonzero()[0], (~fallen).nonzero()[0]
        recent = (self.changed[site.callee] >= checked.min()).nonzero()[0]
        if len(other) == 0 and len(recent) == 0:
            return 0.0
        points, entries = self.points[site.callee], self.problem.components[site.callee].entry_rows
        u, rows = self.values[site.callee][entries].T, part.calls[site.calls]
        vectors, bound = _rows(w, site.returns), np.full((len(fallen), u.shape[1]), np.inf)
        if len(other):
            bound[other] = points.least(u, vectors[other])
        if len(recent) and len(same):
            bound[same] = Cloud(points.vectors[recent]).least(u[recent], vectors[same])
        new = np.minimum(_by_call(bound, site.calls.shape), w[rows])
        fall = float((w[rows] - new).max(initial=0.0))
        w[rows] = new
        return fall

    def _back_up_below(self, c: int, own: np.ndarray) -> None:
        """Add the pieces of the policies that look best at some points, if they gain something."""
        part, known = self.problem.components[c], self.pieces[c]
        pieces = sum(len(each.vectors) for each in self.pieces)
        own = own[self.tried[c][own] < pieces]
        if len(own) == 0:
            return
        self.tried[c][own] = pieces
        vectors = self.points[c].vectors[own]
        before = known.at(vectors).max(axis=2)
        low, callee = self._values_below(c, vectors)
        hope = (low[part.entry_rows].T - before).max(axis=1)
        own = np.flatnonzero(hope > self.fine)
        if len(own) == 0:
            return
        low, vectors, callee = low[:, own], vectors[own], callee[:, own]
        action = part.greedy(low)
        both, sound = self._solved(part, action, callee, low)
        terms = np.append(np.ones((len(own), 1)), vectors, axis=1)
        worth = np.einsum("enk,nk->ne", both[part.entry_rows], terms)
        gained = (worth - before[own]).max(axis=1)
        kept = np.flatnonzero(sound & (gained > self.fine))
        if len(kept):
            columns = vectors[kept], action[:, kept], callee[:, kept], both[:, kept]
            self.pieces[c] = known.joined(Pieces.of(part.entries, *columns))

    def _values_below(self, c: int, vectors: Floats) -> tuple[Floats, np.ndarray]:
        """Values with exits worth some vectors and calls worth their best piece, and that piece."""
        part, last = self.problem.components[c], np.zeros(0)
        returns = part.returns[part.inside]
        low = self.pieces[c].below(vectors)
        low[part.exits] = vectors.T
        for _ in range(_ROUNDS):
            for _ in range(_SWEEPS):
                best = np.maximum(part.earned(low)[1], low[part.states])
                change = float((best - low[part.states]).max(initial=0.0))
                low[part.states] = best
                if change <= self.fine:
                    break
            if last.size and not (low[returns] > last).any():
                break
            last = low[returns]
            callee, worth = self._best_pieces(part, low)
            risen = float((worth - low[part.calls]).max(initial=0.0))
            low[part.calls] = np.maximum(worth, low[part.calls])
            if risen <= self.fine:
                break
        return low, callee

    def _solved(
        self, part: Component, action: np.ndarray, callee: np.ndarray, low: Floats
    ) -> tuple[Floats, np.ndarray]:
        """R, and p behind it, of pieces with some choices; which are sound.

        They are a little below the solution. ``[vertices, n, 1 + K]``
        """
        n, exits = action.shape[1], part.exits.stop - part.exits.start
        share = self._shares(part, callee)
        paid = np.array(
            [
                self.pieces[d].rewards[port, own]
                for d, port, own in zip(part.callee, part.port, callee, strict=True)
            ]
        ).reshape(len(part.calls), n)
        rest = np.maximum(1.0 - share.sum(axis=2), 0.0)
        size = max(1.0, float(np.abs(low).max(initial=0.0)), self.problem.size)
        right = np.zeros((part.size, n, 1 + exits))
        right[part.states, :, 0] = part.gain[action] - _SLACK * size
        right[part.states, :, 1:] = right[part.calls, :, 1:] = -_SLACK
        own = np.arange(exits)
        right[part.exits.start + own, :, 1 + own] = 1.0
        block = block_of(part, n)
        block.update(np.arange(n), action, share)
        both = np.zeros((part.size, n, 1))
        for columns in (1, 1 + exits):
            lost = rest * _least(part, both[:, :, 0])
            right[part.calls, :, 0] = paid + lost - _SLACK * size
            both = block.solve(right[:, :, :columns])
        np.maximum(both[:, :, 1:], 0.0, out=both[:, :, 1:])
        if exits == 1:
            both[:, :, 1] = 1.0
        return both, _sound(part, action, both, share, paid + rest * _least(part, both[:, :, 0]))


def _least(part: Component, rewards: Floats) -> Floats:
    """The least R of the return ports of each call."""
    after = np.where(part.inside[:, :, None], rewards[part.returns], np.inf)
    least: Floats = after.min(axis=1, initial=np.inf)
    return least


def _sound(
    part: Component, action: np.ndarray, both: Floats, share: Floats, paid: Floats
) -> np.ndarray:
    """Which of some pieces are below what their own choices give, by more than rounding."""
    after = part.expected_after(action, both)
    after[:, :, 0] += part.gain[action]
    calls = np.einsum("cnk,cknj->cnj", share, both[part.returns])
    calls[:, :, 0] += paid
    rows = np.concatenate([part.states, part.calls])
    own = both[rows]
    room = np.concatenate([after, calls]) - own
    size = np.abs(both[:, :, 0]).max(axis=0, initial=max(1.0, float(np.abs(part.gain).max())))
    rounding = 2.3e-16 * (part.longest + 8)
    sound = (room[:, :, 0] > rounding * size).all(axis=0)
    if both.shape[2] > 2:
        sound &= ((room[:, :, 1:] > rounding) | (own[:, :, 1:] <= 0.0)).all(axis=(0, 2))
    sound &= (both[:, :, 1:].sum(axis=2) <= 1.0 + rounding).all(axis=0)
    return np.asarray(sound & np.isfinite(both[:, :, 0]).all(axis=0))


def _rows(w: Floats, returns: np.ndarray) -> Floats:
    """Exit values of boxes in each context: a row for each, context by context of each box."""
    vectors: Floats = w[returns].transpose(0, 2, 1).reshape(-1, returns.shape[1])
    return vectors


def _by_call(found: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """From rows of boxes and contexts, and columns of entries, to boxes, entries and contexts."""
    boxes, entries = shape
    return found.reshape(boxes, -1, entries).transpose(0, 2, 1)


def _pieces_of(lower: Lower, c: int) -> Pieces:
    """The pieces of a component."""
    ctx = lower.contexts
    vectors = ctx.points[c].vectors
    rewards, reach = ctx.view(lower.rewards, c), ctx.view(lower.reach, c)
    both = np.concatenate([rewards[:, :, None], reach[:, :, : vectors.shape[1]]], axis=2)
    callee = ctx.view_calls(lower.callee, c)
    return Pieces.of(ctx.parts[c].entries, vectors, lower.action[c], callee, both)


def needed_points(vectors: Floats, above: Floats) -> np.ndarray:
    """Which points are needed: `vectors` by point and exit, `above` by point and entry.

    A point (v_i, u_i) says no more than the others if u_j + max(v_i - v_j) <= u_i at every entry
    for some of them.

    Example:
        >>> vectors, above = np.array([[0.0, 1], [0, 1], [0, 0]]), np.array([[2.0], [1], [3]])
        >>> needed_points(vectors, above).tolist()
        [1]
    """
    alive = np.ones(len(vectors), bool)
    for i in range(len(vectors)):
        alive[i] = False
        rise = (vectors[i] - vectors[alive]).max(axis=1, initial=-np.inf)
        bound = (above[alive] + rise[:, None]).min(axis=0, initial=np.inf)
        alive[i] = bool((bound > above[i]).any())
    return np.flatnonzero(alive)
