"""Many numbers at once, as floats with bounds on their errors, and exactly where those do not do.

So every inequality is written once: floats prove nearly all of them, fractions decide the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from recurl.model.tables import Floats

Ints = np.ndarray
_U, _TINY = 2.0**-52, 1e-300


class Numbers:
    """Numbers, each at most ``error`` from ``near + low``; ``exact`` computes one, by its index.

    ``low`` is what additions lost. Rounding errs by at most 2**-53 times the result, or 2**-1075
    near 0; twice the former and more than the latter is counted, which covers the rounding of the
    bounds themselves. Floats that overflow prove nothing.
    """

    def __init__(
        self,
        near: Floats,
        error: Floats | float = 0.0,
        exact: Callable[[int], Fraction] | None = None,
        low: Floats | float = 0.0,
    ) -> None:
        self.near, self.error, self.low = near, error, low
        self.exact = exact or (lambda i: Fraction(float(near[i])))

    @classmethod
    def nearest(cls, near: Floats, exact: Callable[[int], Fraction]) -> Numbers:
        """Numbers that were rounded to floats."""
        return cls(near, _U * np.abs(near) + _TINY, exact)

    @property
    def _loose(self) -> Floats | float:
        """A bound on the distance from ``near``."""
        return self.error + 1.001 * np.abs(self.low)

    @property
    def _size(self) -> Floats:
        """A bound on the numbers, which is 0 only if they are."""
        return np.abs(self.near) + self._loose

    def __getitem__(self, at: Ints) -> Numbers:
        error, low = (x[at] if isinstance(x, np.ndarray) else x for x in (self.error, self.low))
        return Numbers(self.near[at], error, lambda i: self.exact(at[i]), low)

    def __neg__(self) -> Numbers:
        return Numbers(-self.near, self.error, lambda i: -self.exact(i), -self.low)

    def __sub__(self, other: Numbers) -> Numbers:
        return self + -other

    def __add__(self, other: Numbers) -> Numbers:
        near = self.near + other.near
        part = near - self.near
        lost = (self.near - (near - part)) + (other.near - part)  # exactly (Knuth's two-sum)
        error = 2.0 * _U * (np.abs(self.low) + np.abs(other.low) + np.abs(lost))
        error, low = self.error + other.error + error, self.low + other.low + lost
        return Numbers(near, error, lambda i: self.exact(i) + other.exact(i), low)

    def __mul__(self, other: Numbers) -> Numbers:
        near, size, factor = self.near * other.near, self._size, other._size
        error = size * other._loose + np.abs(other.near) * self._loose + _U * np.abs(near)
        error += _TINY * ((size != 0.0) & (factor != 0.0))
        return Numbers(near, error, lambda i: self.exact(i) * other.exact(i))

    def or_zero(self) -> Numbers:
        """The numbers, or 0 where they are below."""
        near = np.maximum(self.near, 0.0)
        return Numbers(near, self._loose, lambda i: max(self.exact(i), Fraction(0)))

    def sums(self, count: Ints) -> Numbers:
        """Sums of consecutive numbers, ``count`` of them each."""
        near, sizes = (_reduced(np.add, x, count) for x in (self.near, np.abs(self.near)))
        error = _reduced(np.add, self._loose, count) + _U * np.maximum(count - 1, 0) * sizes
        own = self._segments(count)
        return Numbers(near, error, lambda i: sum(own(i), Fraction(0)))

    def tops(self, count: Ints) -> Numbers:
        """The greatest of consecutive numbers, ``count`` of them each; 0 where there are none."""
        if (count == 1).all():
            return self
        near, error = (_reduced(np.maximum, x, count) for x in (self.near, self._loose))
        own = self._segments(count)
        return Numbers(near, error, lambda i: max(own(i), default=Fraction(0)))

    def _segments(self, count: Ints) -> Callable[[int], Iterator[Fraction]]:
        end = np.cumsum(count)
        return lambda i: map(self.exact, range(end[i] - count[i], end[i]))

    def failing(self, *, strict: bool = False) -> Iterator[int]:
        """Indices of numbers below 0; if strict, of those that are 0 as well."""
        near = self.near + self.low
        sure = near > self.error + _U * np.abs(near)
        if not strict:
            sure |= (near >= 0.0) & (self.error == 0.0)
        for i in np.flatnonzero(~sure).tolist():
            if (number := self.exact(i)) < 0 or (strict and number == 0):
                yield i


def _reduced(ufunc: np.ufunc, values: Floats | float, count: Ints) -> Floats:
    """Consecutive values reduced to one each; 0 where there are none."""
    found, full = np.zeros(len(count)), count > 0
    if full.any():
        every = np.broadcast_to(values, count.sum())
        found[full] = ufunc.reduceat(every, (np.cumsum(count) - count)[full])
    return found
