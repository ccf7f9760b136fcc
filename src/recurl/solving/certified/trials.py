"""The search by trials: right where few of many possible exit values matter.

A trial goes from the start, with the actions that look best from above, into the calls where both
bounds are farthest apart, and puts points at their exit values; on the way out it backs up both
bounds. Many trials are made side by side, each bundle a call deeper than the last one. Values of
points only fall, and pieces refer to older pieces only: whatever is there is a bound at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import Floats
from recurl.solving.budget import check_time
from recurl.solving.certified.batch import Batch
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.lower import Lower
from recurl.solving.certified.pieces import Chosen, Pieces, shares
from recurl.solving.certified.points import Cloud
from recurl.solving.certified.upper import Upper

if TYPE_CHECKING:
    from recurl.solving.certified.batch import BoxGroup, Index, Own
    from recurl.solving.certified.problem import SearchProblem

_NEAR = 1e-13
_DEPTH = 64
_SIDE_BY_SIDE = 128
_WORTHWHILE = 0.01
"""Share of the greatest weighted gap of a level from which on a call is followed."""
_ROUNDS, _STEPS = 20, 200
_ROOM = 1.5
"""Times the points needed that a component may have before needless ones are taken out."""
_LEFT = 1e-3
"""Share of a run that may be lost."""
_KEPT = 64
"""Numbers of contexts whose equations are kept."""

Level = dict[int, tuple[np.ndarray, Floats]]
"""By component: points that trials have come to, and how often at each entry: ``[points, E]``."""


class Trials:
    """Trials from the start of a model; bounds only get better.

    Args:
        upper: First points.
        lower: First pieces; those of every component.
        tolerance: Gap, weighted by visits, below which a trial turns back.

    Attributes:
        points: Points of each component, vectors normalised to minimum 0.
        values: Values of the vertices of each component at them. ``[points, vertices]``
        pieces: Pieces of each component.
        depth: Contexts on the way from the start to the last one of the last trials, at most.
        clock: Number of backups so far.
        effort: What they took (see `Batch.settle`).
        changed: Clock when the entries of each point last fell.
        latest: The latest of these of each component.
        checked: Clock when the calls of each point were last bounded.
        called: Values of the vertices of each point then. ``[points, vertices]``
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
            self.values.append((raised - least).T)
        self.clock, self.effort, self.depth = 0, 0, 1
        self.tried = [np.zeros(len(points), np.int64) for points in self.points]
        self.changed = [np.zeros(len(points), np.int64) for points in self.points]
        self.latest = [0] * len(self.points)
        self.checked = [np.full(len(points), -1) for points in self.points]
        self.called = [np.full_like(values, np.inf) for values in self.values]
        self.room = [0.0] * len(self.points)
        self._prune()
        self.pieces = [Pieces.of_lower(lower, c) for c in range(len(self.points))]
        self._batches: dict[tuple[int, ...], Batch] = {}

    def run(self) -> None:
        """Many trials side by side."""
        c, prob = self.problem.start, self.problem.tables.start_prob
        level: Level = {c: (self._points_at(c, self.problem.root[None]), prob[None])}
        levels = [{c: own for c, (own, _) in level.items()}]
        self.depth = min(self.depth + 1, _DEPTH)
        while len(levels) < self.depth and (level := self._next(level)):
            levels.append({c: own for c, (own, _) in level.items()})
        for own in reversed(levels):
            check_time()
            self._back_up_above(own)
            self._back_up_below(own)
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
                kept = needed_points(vectors, values[:, part.entry_rows])
                self.points[c], self.values[c] = Cloud(vectors[kept]), values[kept]
                self.changed[c], self.checked[c] = self.changed[c][kept], self.checked[c][kept]
                self.called[c], self.tried[c] = self.called[c][kept], self.tried[c][kept]
                self.room[c] = _ROOM * len(kept) + 8

    def bounds(self) -> tuple[float, float]:
        """Both bounds at the start."""
        c, prob, root = self.problem.start, self.problem.tables.start_prob, self.problem.root[None]
        entries = self.problem.components[c].entry_rows
        low = self.pieces[c].at(root)[0].max(axis=1)
        high = self.points[c].least(self.values[c][:, entries], root)[0]
        return float(prob @ low), float(prob @ high)

    def vectors(self) -> list[Floats]:
        """Exit values of the points, by component."""
        return [points.vectors for points in self.points]

    def upper(self) -> Upper:
        """The points as an upper bound."""
        contexts = Contexts(self.problem, list(self.points))
        return Upper.of(contexts, np.concatenate([w.T.ravel() for w in self.values]))

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

    def _batch(self, own: Own) -> Batch:
        """The equations of some contexts."""
        counts = tuple(len(own.get(c, ())) for c in range(len(self.points)))
        found = self._batches.get(counts)
        if found is None:
            if len(self._batches) >= _KEPT:
                self._batches.clear()
            found = self._batches[counts] = Batch(self.problem, counts)
        return found

    def _points_at(self, c: int, vectors: Floats) -> Index:
        """The points of a component at exit values, made where there are none."""
        part, points = self.problem.components[c], self.points[c]
        wanted = vectors - vectors.min(axis=1, keepdims=True)
        apart = points.spans(wanted)
        near: Index = apart.argmin(axis=1)
        close = _NEAR * (1.0 + wanted.max(axis=1))
        far = np.flatnonzero(apart[np.arange(len(near)), near] > close)
        if len(far) == 0:
            return near
        new = wanted[far]
        if len(far) > 1:
            like = (Cloud(new).spans(new) <= close[far]).argmax(axis=1)
            firsts, place = _numbered(like, len(far))
            near[far], new = len(points) + place, new[firsts]
        else:
            near[far] = len(points)
        values = points.least(self.values[c], new)
        values[:, part.exits] = new
        self.points[c] = Cloud(np.concatenate([points.vectors, new]))
        self.values[c] = np.concatenate([self.values[c], values])
        self.called[c] = np.concatenate([self.called[c], np.full_like(values, np.inf)])
        self.changed[c] = np.append(self.changed[c], np.full(len(new), self.clock))
        self.latest[c] = self.clock
        self.checked[c] = np.append(self.checked[c], np.full(len(new), -1))
        self.tried[c] = np.append(self.tried[c], np.zeros(len(new), np.int64))
        return near

    def _next(self, level: Level) -> Level:
        """Points at the exit values of the calls of a level that promise most."""
        own = {c: points for c, (points, _) in level.items()}
        self._back_up_above(own)
        batch = self._batch(own)
        w = batch.joined([self.values[c][points] for c, points in own.items()])
        piece, below = self._best_pieces(batch, w)
        visits = self._visits(batch, level, w, piece)[batch.calls]
        score = (visits * np.maximum(w[batch.calls] - below, 0.0)).sum(axis=1)
        least = max(self.tolerance, _WORTHWHILE * float(score.max(initial=0.0)))
        chosen = np.argsort(-score, kind="stable")[:_SIDE_BY_SIDE]
        chosen = np.sort(chosen[score[chosen] > least])
        after: Level = {}
        for group in batch.groups:
            mine = chosen[(chosen >= group.boxes.start) & (chosen < group.boxes.stop)]
            if len(mine):
                at = self._points_at(group.callee, w[group.returns[mine - group.boxes.start]])
                points, place = _numbered(at, len(self.points[group.callee]))
                mass = np.zeros((len(points), group.calls.shape[1]))
                np.add.at(mass, place, visits[mine, : mass.shape[1]])
                after[group.callee] = points, np.minimum(mass, 1.0)
        return after

    def _best_pieces(self, batch: Batch, w: Floats) -> tuple[Index, Floats]:
        """The best piece for each call where slots are worth w, and what it is worth."""
        piece, worth = np.zeros(batch.calls.shape, np.int64), np.zeros(batch.calls.shape)
        for group in batch.groups:
            value = self.pieces[group.callee].at(w[group.returns])
            best = value.argmax(axis=2)
            piece[group.boxes, : best.shape[1]] = best
            worth[group.boxes, : best.shape[1]] = value.max(axis=2)
        return piece, worth

    def _visits(self, batch: Batch, level: Level, w: Floats, piece: Index) -> Floats:
        """Expected visits of slots under actions that may be best, as far as bounds tell.

        Half of a run goes where it looks best from above, the other half evenly to all actions
        that look better from above than the best does from below.
        """
        low = batch.joined(
            [self.pieces[c].below(self.points[c].vectors[own]) for c, (own, _) in level.items()]
        )
        earned, most = batch.earned(w)
        hopeful = (earned >= low[batch.acting]).astype(float)
        even = np.add.reduceat(hopeful, batch.begin).repeat(batch.choices)
        taken = 0.5 * hopeful / np.maximum(even, 1.0)
        taken[batch.first_best(earned, most)] += 0.5
        moves = batch.moves(taken, shares(self.pieces, batch, piece))
        left = np.zeros(batch.size + 1)
        left[batch.entries] = np.concatenate([mass.ravel() for _, mass in level.values()])
        visits = left.copy()
        for _ in range(_STEPS):
            left = moves @ left
            visits += left
            if left.sum() <= _LEFT:
                break
        return visits

    def _back_up_above(self, own: Own) -> None:
        """Lower the values of some points as far as the bounds of their calls allow.

        Those whose callees have not changed since stay as they are.
        """
        own = {c: due for c, mine in own.items() if len(due := mine[self._due(c, mine)])}
        if not own:
            return
        batch = self._batch(own)
        w = batch.joined([self.values[c][mine] for c, mine in own.items()])
        last = batch.joined([self.called[c][mine] for c, mine in own.items()])
        seen = np.concatenate([self.checked[c][mine] for c, mine in own.items()])
        self.clock += 1
        for _ in range(_ROUNDS):
            self.effort += batch.settle(w, np.minimum, self.fine)
            fall = self._lower_calls(batch, w, last, seen)
            seen, last = np.full_like(seen, self.clock), w.copy()
            if fall <= self.fine:
                break
        split = zip(own.items(), batch.split(w), batch.split(last), strict=True)
        for (c, mine), values, called in split:
            entries = self.problem.components[c].entry_rows
            fell = (values[:, entries] < self.values[c][mine, entries]).any(axis=1)
            if fell.any():
                self.changed[c][mine[fell]] = self.latest[c] = self.clock
            self.checked[c][mine] = self.clock
            self.values[c][mine], self.called[c][mine] = values, called

    def _due(self, c: int, own: Index) -> np.ndarray:
        """Whether some callee of the component has changed since some points were checked."""
        sites = self.problem.components[c].sites
        latest = max((self.latest[site.callee] for site in sites), default=0)
        due: np.ndarray = self.checked[c][own] <= latest
        return due

    def _lower_calls(self, batch: Batch, w: Floats, last: Floats, seen: Index) -> float:
        """Lower the bounds of calls; by how much they fall.

        Where exit values are those of when they were last computed, only points that have changed
        since can lower them.
        """
        fallen = (w[batch.returns] < last[batch.returns]).any(axis=1)
        since = np.where(fallen, 0, seen[batch.owner])
        fall = 0.0
        for group in batch.groups:
            if self.latest[group.callee] >= since[group.boxes].min():
                fall = max(fall, self._lower_group(group, w, fallen, since))
        return fall

    def _lower_group(self, group: BoxGroup, w: Floats, fallen: np.ndarray, since: Index) -> float:
        points, entries = self.points[group.callee], group.calls.shape[1]
        u, old = self.values[group.callee][:, :entries], w[group.calls]
        vectors, new = w[group.returns], old.copy()
        other, same = fallen[group.boxes].nonzero()[0], (~fallen[group.boxes]).nonzero()[0]
        if len(other):
            new[other] = np.minimum(points.least(u, vectors[other]), old[other])
        if len(same):
            recent = self.changed[group.callee] >= since[group.boxes][same].min()
            if recent.any():
                bound = Cloud(points.vectors[recent]).least(u[recent], vectors[same])
                new[same] = np.minimum(bound, old[same])
        w[group.calls] = new
        return float((old - new).max())

    def _back_up_below(self, own: Own) -> None:
        """Add the pieces of the policies that look best at some points, if they gain something."""
        pieces = sum(len(each.vectors) for each in self.pieces)
        own = {c: due for c, mine in own.items() if len(due := mine[self.tried[c][mine] < pieces])}
        if not own:
            return
        vectors, before, hopeful = {}, {}, []
        for c, mine in own.items():
            self.tried[c][mine] = pieces
            vectors[c] = self.points[c].vectors[mine]
            before[c] = self.pieces[c].at(vectors[c]).max(axis=2)
        batch = self._batch(own)
        low, piece = self._values_below(batch, vectors)
        entered = np.zeros(len(low), np.int64)
        entered[batch.calls] = piece
        kept: Own = {}
        for (c, part, _), values, calls in zip(
            batch.parts, batch.split(low), batch.split(entered[:-1]), strict=True
        ):
            hope = (values[:, part.entry_rows] - before[c]).max(axis=1) > self.fine
            if hope.any():
                kept[c] = np.flatnonzero(hope)
                hopeful.append((values[hope], calls[hope]))
        if kept:
            found = self._batch(kept)
            low = found.joined([values for values, _ in hopeful])
            piece = np.append(np.concatenate([calls.ravel() for _, calls in hopeful]), 0)
            vectors = {c: vectors[c][mine] for c, mine in kept.items()}
            before = {c: before[c][mine] for c, mine in kept.items()}
            self._add_pieces(found, vectors, before, low, piece)

    def _add_pieces(
        self,
        batch: Batch,
        vectors: dict[int, Floats],
        before: dict[int, Floats],
        low: Floats,
        piece: Index,
    ) -> None:
        """Add the pieces that are best for values of slots, and calls that enter some pieces."""
        action = batch.first_best(*batch.earned(low))
        size = max(1.0, float(np.abs(low).max(initial=0.0)), self.problem.size)
        both, sound = Chosen.of(self.pieces, batch, action, piece[batch.calls], size).solved()
        start = 0
        columns = batch.split(both), batch.split(piece[:-1]), batch.counted_within(action)
        for (c, part, n), own, calls, actions in zip(batch.parts, *columns, strict=True):
            exits = part.exits.stop - part.exits.start
            terms = np.append(np.ones((n, 1)), vectors[c], axis=1)
            own = own[:, :, : 1 + exits]
            worth = (own[:, part.entry_rows] @ terms[:, :, None])[:, :, 0]
            gained = (worth - before[c]).max(axis=1) > self.fine
            kept = np.flatnonzero(sound[start : start + n] & gained)
            start += n
            if len(kept):
                chosen = vectors[c][kept], actions[:, kept], calls[kept][:, part.calls].T, own[kept]
                self.pieces[c] = self.pieces[c].joined(Pieces.of(part.entries, *chosen))

    def _values_below(self, batch: Batch, vectors: dict[int, Floats]) -> tuple[Floats, Index]:
        """Values with exits worth some vectors and calls worth their best piece, and that piece."""
        low = batch.joined([self.pieces[c].below(own) for c, own in vectors.items()])
        low[batch.exits] = np.concatenate([own.ravel() for own in vectors.values()])
        last = None
        for _ in range(_ROUNDS):
            self.effort += batch.settle(low, np.maximum, self.fine)
            after = low[batch.returns]
            if last is not None and not (after > last).any():
                break
            last = after
            piece, worth = self._best_pieces(batch, low)
            risen = np.maximum(worth, low[batch.calls])
            change = float((risen - low[batch.calls]).max(initial=0.0))
            low[batch.calls] = risen
            low[-1] = 0.0
            if change <= self.fine:
                break
        return low, piece


def _numbered(places: Index, count: int) -> tuple[Index, Index]:
    """Some of a number of places, each once, and where each is among them."""
    taken = np.zeros(count, bool)
    taken[places] = True
    return np.flatnonzero(taken), np.cumsum(taken)[places] - 1


def needed_points(vectors: Floats, above: Floats) -> np.ndarray:
    """Which points are needed: `vectors` by point and exit, `above` by point and entry.

    A point (v_i, u_i) says no more than the others if u_j + max(v_i - v_j) <= u_i at every entry
    for some of them.

    Example:
        >>> vectors, above = np.array([[0.0, 1], [0, 1], [0, 0]]), np.array([[2.0], [1], [3]])
        >>> needed_points(vectors, above).tolist()
        [1]
    """
    rises = Cloud(vectors).rises(vectors)
    np.fill_diagonal(rises, np.inf)
    bound = np.stack([(rises + u).min(axis=1) for u in above.T], axis=1)
    alive = np.ones(len(vectors), bool)
    for i in np.flatnonzero((bound <= above).all(axis=1)).tolist():
        alive[i] = False
        alive[i] = (
            (above[alive] + rises[i, alive, None]).min(axis=0, initial=np.inf) > above[i]
        ).any()
    return np.flatnonzero(alive)
