"""The frequencies that a plan takes for true: the counts, corrected by what other rows show."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recurl.learn.model_based.counts import END, EXIT, LEAVE, OutcomeCounts
from recurl.learn.model_based.shapes import Shape, Shapes, SortedRows
from recurl.model.tables import Floats

Index = np.ndarray

SELDOM = 20.0
"""Visits of a state per try of an action, by which actions count as seldom tried."""


@dataclass(slots=True)
class Estimate:
    """Corrections of counts. Outcomes and pairs that are newer have none.

    Attributes:
        weight: Factor of the count and the rewards of each outcome.
        hope: Weight of the unknown in each pair, in samples.
        more: By pair, an outcome of another pair that this one is expected to have, too, and how
            often it would have been observed.
    """

    weight: list[float] = field(default_factory=list)
    hope: list[float] = field(default_factory=list)
    more: dict[int, tuple[int, float]] = field(default_factory=dict)


def estimate(
    counts: OutcomeCounts, prior: float, random: np.random.Generator | None = None
) -> Estimate:
    """Estimate frequencies from all counts.

    Args:
        counts: The counts.
        prior: Weight of the unknown in a row of which nothing else is known, in samples.
        random: Draws a possible model; without it, the mean of the possible ones is taken, and
            nothing is unknown.
    """
    return _Estimator(counts, prior, random).estimate()


def named(owner: Index, kind: Index, count: Floats, pairs: int) -> Floats:
    """Counts of outcomes, ends of whole runs by exit.

    Such an end does not name its exit: it is shared among the exits that its pair has shown.
    """
    found = count.copy()
    exits = (kind == EXIT) | (kind == END)
    nameless = np.bincount(owner, count * (kind == LEAVE), pairs)
    shown = np.bincount(owner, count * exits, pairs)
    both = (nameless > 0) & (shown > 0)
    scale = np.where(both, 1.0 + nameless / np.where(both, shown, 1.0), 1.0)
    found[exits] *= scale[owner[exits]]
    found[(kind == LEAVE) & both[owner]] = 0.0
    return found


class _Estimator:
    """Chances of the outcomes of each row, summed over the kinds that it may have.

    Attributes:
        share: Probability of each kind, by row; if a model is drawn, 1 for the one drawn.
        chance: Chance of each outcome, in the order of the sorted rows.
        unseen: Chance of outcomes that were not seen, by row.
        more: Chance of the one that is expected, by row.
        like: That outcome in another row.
    """

    def __init__(
        self, counts: OutcomeCounts, prior: float, random: np.random.Generator | None
    ) -> None:
        self.counts, self.prior, self.random = counts, prior, random
        self.owner, self.kind = (np.array(c, np.int64) for c in (counts.owner, counts.kind))
        self.pairs = len(counts.tried)
        self.count = named(self.owner, self.kind, np.array(counts.count, np.float64), self.pairs)
        self.rows = SortedRows(self.owner, self.count)
        self.shapes = Shapes(self.rows, prior)
        self.share = self.shapes.share() if random is None else self._drawn_kinds(random)
        self.chance = np.zeros(len(self.rows.count))
        self.unseen, self.more = np.zeros((2, len(self.rows.total)))
        self.like = np.zeros(len(self.rows.total), np.int64)

    def estimate(self) -> Estimate:
        """The estimate."""
        r = self.rows
        self._add_loose()
        for k, shape in enumerate(self.shapes.shapes, 1 + len(self.shapes.loose)):
            self._add_shape(shape, k)
        known = np.bincount(r.row, self.chance, len(r.total))
        scale = r.total / np.maximum(known, 1e-300)
        weight = np.ones(len(self.owner))
        weight[r.outcome] = self.chance * scale[r.row] / r.count
        self._weigh_nameless(weight)
        pairs, some = r.pair.tolist(), np.flatnonzero(self.more).tolist()
        more = {pairs[i]: (int(self.like[i]), float(self.more[i] * scale[i])) for i in some}
        return Estimate(weight.tolist(), self._hope((known + self.more) * scale), more)

    def _drawn_kinds(self, random: np.random.Generator) -> Floats:
        share = self.shapes.share()
        draws = random.random(len(share))[:, None]
        kind = (share.cumsum(axis=1) < draws).sum(axis=1).clip(max=share.shape[1] - 1)
        found: Floats = (kind[:, None] == np.arange(share.shape[1])).astype(np.float64)
        return found

    def _hope(self, samples: Floats) -> list[float]:
        """Weights of the unknown, in samples."""
        if self.random is None:
            return [0.0] * self.pairs
        prior = self.prior * self._doubt
        share = np.maximum(self.unseen - self.more, prior / (self.rows.total + prior))
        hope = np.full(self.pairs, self.prior)
        hope[self.rows.pair] = share / np.maximum(1 - share, 1e-3) * samples
        return hope.tolist()

    def _add_loose(self) -> None:
        """Rows without a shape: as counted, or drawn from what the counts leave possible."""
        r, part = self.rows, self.rows.count
        if self.random is not None:
            part = self.random.standard_gamma(part / self._doubt[r.row])
        total = np.maximum(np.bincount(r.row, part, len(r.total)), 1e-300)
        own = self.share[:, : 1 + len(self.shapes.loose)].sum(axis=1)
        self.chance += (own / total)[r.row] * part

    @cached_property
    def _doubt(self) -> Floats:
        """By row, how much less its counts are worth because it is seldom tried.

        An action that was unlucky in its first tries would never be tried again if doubt did not
        grow while its state is visited: it is log(v / (20 n)) after v visits and n tries, and at
        least 1.
        """
        state, tried = np.array(self.counts.pair_state), np.array(self.counts.tried, np.float64)
        visits, pair = np.bincount(state, tried), self.rows.pair
        seldom = visits[state[pair]] / (SELDOM * np.maximum(tried[pair], 1.0))
        doubt: Floats = np.log(np.maximum(seldom, np.e))
        return doubt

    def _add_shape(self, shape: Shape, k: int) -> None:
        r, own, m = self.rows, self.share[:, k], len(shape.group)
        if not own.any():
            return
        table = _placed(shape.chance[:m], r.rows[:, :m]) * own[:, None]
        fits = r.place < m
        self.chance[fits] += table[r.row[fits], r.place[fits]]
        unseen = np.where(np.arange(m) < r.width[:, None], 0.0, shape.chance[:m]).sum(axis=1)
        self.unseen += own * unseen
        self._expect(k, m, own * unseen)

    def _expect(self, k: int, m: int, unseen: Floats) -> None:
        """Rows that lack the last of m outcomes have the one that others of the component have."""
        r, part = self.rows, self._component
        has = (r.width == m) & (self.shapes.share()[:, k] > 0.5)
        last = np.flatnonzero((r.place == m - 1) & has[r.row])
        if m < 2 or not len(last):
            return
        keys = part[r.row[last]] * len(self._key) + self._key[r.outcome[last]]
        found, first, often = np.unique(keys, return_index=True, return_counts=True)
        where, key = np.divmod(found, len(self._key))
        total = np.bincount(where, often, part.max() + 1)
        order = np.argsort(often, kind="stable")
        usual = np.full(len(total), -1)
        usual[where[order]] = order
        lacks = (unseen > 0) & (r.width == m - 1) & (usual[part] >= 0) & (self.more == 0)
        lacks &= ~np.isin(np.arange(len(lacks)) * len(self._key) + key[usual[part]], self._shown)
        which = usual[part[lacks]]
        self.more[lacks] = unseen[lacks] * often[which] / (total[part[lacks]] + 1.0)
        self.like[lacks] = r.outcome[last[first[which]]]

    @cached_property
    def _component(self) -> Index:
        """Component of each row."""
        find, states = self.counts.component, self.counts.pair_state
        roots = [find(states[pair]) for pair in self.rows.pair.tolist()]
        return np.unique(roots, return_inverse=True)[1]

    @cached_property
    def _key(self) -> Index:
        """A number for what each outcome leads to."""
        counts = self.counts
        columns = np.column_stack([self.kind, counts.target, counts.box])
        return np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)

    @cached_property
    def _shown(self) -> Index:
        """Rows with what they lead to, as numbers."""
        found: Index = self.rows.row * len(self._key) + self._key[self.rows.outcome]
        return found

    def _weigh_nameless(self, weight: Floats) -> None:
        """Ends without a name have the mean factor of the exits that they are shared among."""
        leaves = (self.kind == LEAVE) & (self.count == 0)
        exits = np.where((self.kind == EXIT) | (self.kind == END), self.count, 0.0)
        whole = np.bincount(self.owner, weight * exits, self.pairs)
        mean = whole / np.maximum(np.bincount(self.owner, exits, self.pairs), 1e-300)
        weight[leaves] = mean[self.owner[leaves]]


def _placed(chance: Floats, counts: Floats) -> Floats:
    """Chances of the places of rows; neighbours whose counts are close may be exchanged.

    Example:
        >>> _placed(np.array([0.75, 0.25]), np.array([[2.0, 1.0]])).tolist()
        [[0.625, 0.375]]
    """
    found = np.where(counts > 0, chance, 0.0)
    for j in np.flatnonzero(chance[:-1] > chance[1:]).tolist():
        apart = (counts[:, j] - counts[:, j + 1]) * np.log(chance[j] / chance[j + 1])
        wrong = np.where(counts[:, j + 1] > 0, 1 / (1 + np.exp(np.minimum(apart, 50.0))), 0.0)
        moved = wrong * (found[:, j] - found[:, j + 1])
        found[:, j] -= moved
        found[:, j + 1] += moved
    return found
