"""Shapes of rows: probabilities that many pairs share, whatever their outcomes are.

The noise of one place is often the noise of another: every move slips with the same probability,
every step breaks down with the same one. A shape is a vector of probabilities without the names of
the outcomes. Shapes are found in the counts and used where the counts agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recurl.model.tables import Floats

Index = np.ndarray

_WIDEST = 24
"""Most outcomes of a row that may have a shape."""
_MOST, _FAILURES = 12, 6
"""Most shapes, and attempts in a row that may fail."""
_LOOSE = (0.5, 2.0, 8.0)
"""Parameters of loose rows."""
_OUTLOOK = 4.0
"""Least samples of a row that suggests a shape."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Probabilities of places, in falling order, with the places that are equally likely.

    Attributes:
        chance: Probability of each place, 0 beyond the last. ``[widest]``
        group: Group of each place; places of one group have the same probability. ``[places]``
        ways: Logarithm of the ways to put m outcomes into the places, by m. ``[places + 1]``
    """

    chance: Floats
    group: Index
    ways: Floats

    @classmethod
    def of(cls, chance: Floats, group: Index) -> Shape:
        """A shape by its probabilities and groups."""
        size = np.bincount(group)
        left = size[group] - (np.arange(len(group)) - np.searchsorted(group, group))
        ways = np.concatenate([[0.0], np.cumsum(np.log(left))])
        padded = np.zeros(_WIDEST)
        padded[: len(group)] = chance
        return cls(padded, group, ways)

    def fitted(self, places: Floats, total: float) -> Shape:
        """The shape with the frequencies of counts in its places."""
        size = np.bincount(self.group)
        mass = np.bincount(self.group, places[: len(self.group)]) / max(total, 1e-300)
        chance = np.maximum(mass / size, 1e-12)[self.group]
        return Shape.of(chance / chance.sum(), self.group)


CERTAIN = Shape.of(np.ones(1), np.zeros(1, np.int64))
"""The shape of rows with one outcome."""


class SortedRows:
    """Counts of tried pairs, each row in falling order.

    Args:
        owner: Pair of each outcome.
        count: Count of each outcome; 0 for those that do not matter.

    Attributes:
        pair: The pairs that were tried.
        rows: Their counts in falling order; 0 in rows that are too wide. ``[tried, widest]``
        width: Number of outcomes of each.
        total: Sum of the counts of each.
        outcome: Outcomes in the order of rows, then places.
        count: Count of each of them.
        row: Row of each of them.
        place: Place of each of them in its row.
    """

    def __init__(self, owner: Index, count: Floats) -> None:
        order = np.lexsort((-count, owner))
        order = order[count[order] > 0]
        own = owner[order]
        self.pair, first, self.row, self.width = np.unique(
            own, return_index=True, return_inverse=True, return_counts=True
        )
        self.place = np.arange(len(own)) - first[self.row]
        self.outcome, self.count = order, count[order]
        self.total = np.bincount(self.row, self.count, len(self.pair))
        self.rows = np.zeros((len(self.pair), _WIDEST))
        narrow = (self.width <= _WIDEST)[self.row]
        self.rows[self.row[narrow], self.place[narrow]] = self.count[narrow]


class Shapes:
    """Shapes that rows share, and which rows have them.

    A row is of one of several kinds, with weights that are learned from all rows:

    - *free*: any number of outcomes, from a Dirichlet process;
    - *loose*: m outcomes, from a symmetric Dirichlet distribution with some parameter;
    - of one of the *shapes*, which are suggested by the rows with most samples that have none,
      and kept if they explain other rows better.

    Args:
        rows: The counts.
        prior: Weight of the unknown in a free row, in samples.

    Attributes:
        loose: Places and parameter of each loose kind.
        shapes: The shapes.
        weight: Weight of each kind: free, loose, shapes.
    """

    def __init__(self, rows: SortedRows, prior: float) -> None:
        self.rows, self.prior = rows, prior
        self._free = self._likelihood(prior)
        common = np.bincount(rows.width, minlength=2)[2 : _WIDEST + 1] >= 0.02 * len(rows.width)
        self.loose = [(int(m) + 2, a) for m in np.flatnonzero(common) for a in _LOOSE]
        self.shapes = [CERTAIN]
        ratios = [np.ones(len(rows.total)), *self._loose_ratios(), self._ratio(CERTAIN)]
        self._odds = np.column_stack(ratios)
        self.weight = np.full(len(ratios), 1 / len(ratios))
        self._improve(6)
        self._search()
        self._improve(10)

    def _likelihood(self, prior: float) -> Floats:
        """Logarithm for free rows."""
        from scipy.special import gammaln

        r = self.rows
        seen = np.bincount(r.row, gammaln(r.count), len(r.total))
        found: Floats = r.width * np.log(prior) + seen - gammaln(r.total + prior) + gammaln(prior)
        return found

    def _loose_ratios(self) -> list[Floats]:
        from scipy.special import gammaln

        r, found = self.rows, []
        places = {
            a: np.bincount(r.row, gammaln(r.count + a) - gammaln(a), len(r.total)) for a in _LOOSE
        }
        for m, a in self.loose:
            fits = r.width <= m
            ways = gammaln(m + 1) - gammaln(np.where(fits, m - r.width, 0) + 1)
            like = ways + gammaln(m * a) - gammaln(m * a + r.total) + places[a]
            found.append(self._compared(like, fits))
        return found

    def _ratio(self, shape: Shape) -> Floats:
        """Likelihood of each row with a shape, compared with that of a free row."""
        rows, logs = self.rows, np.log(np.where(shape.chance > 0, shape.chance, 1.0))
        fits = rows.width <= len(shape.group)
        ways = shape.ways[np.where(fits, rows.width, 0)]
        return self._compared(ways + rows.rows @ logs, fits)

    def _compared(self, likelihood: Floats, fits: Index) -> Floats:
        """The ratio to the likelihood of a free row, by logarithms; 0 where rows do not fit."""
        found: Floats = np.where(fits, np.exp(np.clip(likelihood - self._free, -600, 600)), 0.0)
        return found

    def share(self) -> Floats:
        """Probability of each kind, for each row."""
        mixed = self._odds * self.weight
        found: Floats = mixed / mixed.sum(axis=1, keepdims=True)
        return found

    def _improve(self, rounds: int) -> None:
        """Fit shapes and weights to the rows (expectation and maximisation)."""
        rows, first = self.rows, 1 + len(self.loose)
        for _ in range(rounds):
            share = self.share()
            weight = share.sum(axis=0) + 1.0 / share.shape[1]
            self.weight = weight / weight.sum()
            for k, shape in enumerate(self.shapes[1:], 1):
                own = share[:, first + k]
                self.shapes[k] = shape.fitted(own @ rows.rows, float(own @ rows.total))
                self._odds[:, first + k] = self._ratio(self.shapes[k])

    def _search(self) -> None:
        rows, failures = self.rows, 0
        least = 3.0 + np.log(len(rows.total) + 1.0)
        asked = (rows.width <= _WIDEST) & (rows.width > 1)
        while failures < _FAILURES and len(self.shapes) < _MOST:
            loose = self.share()[:, : 1 + len(self.loose)].sum(axis=1)
            free = np.where(asked, loose * rows.total, 0.0)
            if free.max(initial=0.0) < _OUTLOOK:
                return
            row = int(free.argmax())
            asked[row] = False
            failures = 0 if self._try(row, least) else failures + 1

    def _try(self, row: int, least: float) -> bool:
        """Take the shape of a row, if it explains others by more than some logarithm."""
        rows = self.rows
        shape = suggested(rows.rows[row, : rows.width[row]])
        before = self._odds @ self.weight
        weight = 0.1
        for _ in range(4):
            ratio = self._ratio(shape)
            own = weight * ratio / (weight * ratio + (1 - weight) * before)
            weight = float(np.clip(own.mean(), 1e-4, 0.999))
            shape = shape.fitted(own @ rows.rows, float(own @ rows.total))
        ratio = self._ratio(shape)
        gain = np.log((1 - weight) + weight * ratio / before)
        if gain.sum() - gain[row] < least:
            return False
        self.shapes.append(shape)
        self._odds = np.column_stack([self._odds, ratio])
        self.weight = np.append((1 - weight) * self.weight, weight)
        self._improve(2)
        return True


def suggested(counts: Floats) -> Shape:
    """The shape of a row in falling order; neighbours that may be equally likely are.

    Example:
        >>> suggested(np.array([99.0, 40.0, 31.0, 30.0])).group
        array([0, 1, 1, 1])
    """
    size, mass = np.ones(len(counts)), counts
    while len(mass) > 1:
        own = mass * np.log(mass / size)
        both = mass[:-1] + mass[1:]
        loss = own[:-1] + own[1:] - both * np.log(both / (size[:-1] + size[1:]))
        best = int(loss.argmin())
        if loss[best] > 0.5 * np.log(counts.sum()):
            break
        size, mass = (
            np.concatenate([part[:best], [part[best] + part[best + 1]], part[best + 2 :]])
            for part in (size, mass)
        )
    group = np.repeat(np.arange(len(size)), size.astype(np.int64))
    return Shape.of((mass / size)[group] / counts.sum(), group)
