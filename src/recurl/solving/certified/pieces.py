"""Pieces that trials find: policies of components, one after the other.

A piece calls older pieces only, so that whatever is there is a bound from below at any time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.linear.systems import chosen_lines, factors
from recurl.model.tables import Floats

if TYPE_CHECKING:
    from recurl.solving.certified.batch import Batch, BoxGroup, Index
    from recurl.solving.certified.lower import Lower

_SLACK = 1e-13
_LEAK = 1e-6
"""Share of probabilities that is lost where they have no inverse as they are."""


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
        """Pieces with given R, and p behind it: ``[pieces, vertices, 1 + K]``."""
        first = both[:, :entries].swapaxes(0, 1)
        rewards, reach = first[:, :, 0].copy(), first[:, :, 1:].copy()
        return cls(vectors, action, callee, rewards, reach, [own.copy() for own in both])

    @classmethod
    def of_lower(cls, lower: Lower, c: int) -> Pieces:
        """The pieces of a component that a policy has."""
        ctx = lower.contexts
        vectors = ctx.points[c].vectors
        rewards, reach = ctx.view(lower.rewards, c), ctx.view(lower.reach, c)
        both = np.concatenate([rewards[:, :, None], reach[:, :, : vectors.shape[1]]], axis=2)
        callee = ctx.view_calls(lower.callee, c)
        return cls.of(ctx.parts[c].entries, vectors, lower.action[c], callee, both.swapaxes(0, 1))

    @cached_property
    def from_entries(self) -> tuple[Floats, Floats]:
        """Sums of p and R over the entries: ``[pieces, K]`` and ``[pieces]``."""
        return self.reach.sum(axis=0), self.rewards.sum(axis=0)

    @cached_property
    def _flat_reach(self) -> Floats:
        return self.reach.reshape(-1, self.reach.shape[2]).T

    def at(self, vectors: Floats) -> Floats:
        """Values of all pieces at exit values, from the entries: ``[n, entries, pieces]``."""
        least = vectors.min(axis=1)
        along = vectors - least[:, None]
        worth: Floats = (along @ self._flat_reach).reshape(len(vectors), *self.rewards.shape)
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
        found: Floats = worth + least[:, None]
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


@dataclass(frozen=True, eq=False)
class Chosen:
    """The choices of a policy in all contexts of a batch.

    Attributes:
        batch: The contexts.
        action: Action of each state.
        share: Where calls return. ``[boxes, E, K]``
        paid: What calls earn inside. ``[boxes, E]``
        size: How large rewards and values are.
    """

    batch: Batch
    action: Index
    share: Floats
    paid: Floats
    size: float

    @classmethod
    def of(
        cls, pieces: list[Pieces], batch: Batch, action: Index, piece: Index, size: float
    ) -> Chosen:
        """Given the piece that each call enters: ``[boxes, E]``."""
        paid = np.zeros(piece.shape)
        for group in batch.groups:
            own, entry = piece_of(group, piece)
            paid[group.boxes, : len(entry)] = pieces[group.callee].rewards[entry, own]
        return cls(batch, action, shares(pieces, batch, piece), paid, size)

    def solved(self) -> tuple[Floats, np.ndarray]:
        """R, and p behind it, of the pieces with these choices; which contexts are sound.

        They are a little below the solution. ``[slots, 1 + K]``
        """
        both = self._by_moves() if math.isfinite(self._depth) else self._by_elimination()
        np.maximum(both[:, 1:], 0.0, out=both[:, 1:])
        for (_, part, _), own in zip(self.batch.parts, self.batch.split(both), strict=True):
            if part.exits.stop - part.exits.start == 1:
                own[:, :, 1] = 1.0
        return both, self._sound(both)

    @property
    def _depth(self) -> float:
        return max(part.whole_depth for _, part, _ in self.batch.parts)

    @cached_property
    def _lines(self) -> Any:
        """Probabilities from states to slots."""
        return chosen_lines(self.batch.matrix, self.action)

    @cached_property
    def _lost(self) -> Floats:
        """Probability that a call does not return."""
        lost: Floats = np.maximum(1.0 - self.share.sum(axis=2), 0.0)
        return lost

    def _earned_by_calls(self, rewards: Floats) -> Floats:
        """Rewards of calls inside, and the least afterwards where they do not return."""
        batch = self.batch
        after = np.where(batch.inside, rewards[batch.returns], np.inf).min(axis=1, initial=np.inf)
        found: Floats = self.paid + self._lost * after[:, None]
        return found

    @property
    def _exits(self) -> Floats:
        """Nothing is earned at exits, and they reach themselves: ``[slots, 1 + K]``."""
        batch = self.batch
        both = np.zeros((batch.size + 1, 1 + batch.returns.shape[1]))
        place = [np.tile(np.arange(p.exits.stop - p.exits.start), n) for _, p, n in batch.parts]
        both[batch.exits, 1 + np.concatenate(place)] = 1.0
        return both

    def _applied(self, both: Floats, out: Floats) -> Floats:
        """R and p after one move with these choices."""
        batch = self.batch
        after = self._lines @ both
        after[:, 0] += batch.gain[self.action]
        calls = self.share @ both[batch.returns]
        calls[:, :, 0] += self._earned_by_calls(both[:, 0])
        out[batch.states], out[batch.calls] = after, calls
        return out

    @property
    def _slack(self) -> Floats:
        """How much R and p stay below: ``[1 + K]``."""
        slack = np.full(1 + self.batch.returns.shape[1], _SLACK)
        slack[0] *= self.size
        return slack

    def _by_moves(self) -> Floats:
        """By as many moves as there can be in a row."""
        batch, both = self.batch, self._exits
        inner = np.concatenate([batch.states, batch.calls.ravel()])
        for _ in range(int(self._depth)):
            self._applied(both, both)
            both[inner] -= self._slack
            both[-1] = 0.0
        return both

    def _by_elimination(self) -> Floats:
        """By factors of the equations."""
        from scipy.sparse import csr_array

        batch, n = self.batch, self.batch.size + 1
        state = np.repeat(batch.states, np.diff(self._lines.indptr))
        call, back = (
            np.broadcast_to(a, self.share.shape)
            for a in (batch.calls[:, :, None], batch.returns[:, None, :])
        )
        used = self.share > 0.0
        ends = np.append(state, call[used]), np.append(self._lines.indices, back[used])
        matrix = csr_array((np.append(self._lines.data, self.share[used]), ends), shape=(n, n))
        made: Any = factors(matrix, leak=_LEAK)
        right = self._exits
        right[batch.states] -= self._slack
        right[batch.states, 0] += batch.gain[self.action]
        right[batch.calls, 1:] = -_SLACK
        both = np.zeros_like(right)
        for columns in (1, right.shape[1]):
            right[batch.calls, 0] = self._earned_by_calls(both[:, 0]) - self._slack[0]
            right[-1] = 0.0
            both[:, :columns] = made.solve(right[:, :columns])
        return both

    def _sound(self, both: Floats) -> np.ndarray:
        """Which contexts are below what their own choices give, by more than rounding."""
        batch = self.batch
        room = self._applied(both, both.copy()) - both
        first = np.maximum.reduceat(np.abs(both[:-1, 0]), batch.first)
        size = np.maximum(first, max(1.0, float(np.abs(batch.gain).max())))
        rounding = 2.3e-16 * (max(part.longest for _, part, _ in batch.parts) + 8)
        below = room[:-1, 1:] > rounding
        several = [p.exits.stop - p.exits.start > 1 for _, p, n in batch.parts for _ in range(n)]
        below[:, 0] |= ~np.repeat(several, batch.sizes)
        good = (below | (both[:-1, 1:] <= 0.0)).all(axis=1)
        good &= room[:-1, 0] > rounding * np.repeat(size, batch.sizes)
        good[batch.exits] = True
        good &= np.isfinite(both[:-1, 0]) & (both[:-1, 1:].sum(axis=1) <= 1.0 + rounding)
        sound: np.ndarray = np.logical_and.reduceat(good, batch.first)
        return sound


def piece_of(group: BoxGroup, piece: Index) -> tuple[Index, Index]:
    """The pieces that the calls of a group enter, and the entries: ``[n, E]`` and ``[E]``."""
    entries = group.calls.shape[1]
    return piece[group.boxes, :entries], np.arange(entries)


def shares(pieces: list[Pieces], batch: Batch, piece: Index) -> Floats:
    """Where the calls of all boxes return if they enter some pieces: ``[boxes, E, K]``."""
    share = np.zeros((*piece.shape, batch.returns.shape[1]))
    for group in batch.groups:
        own, entry = piece_of(group, piece)
        exits = group.returns.shape[1]
        share[group.boxes, : len(entry), :exits] = pieces[group.callee].reach[entry, own]
    return share
