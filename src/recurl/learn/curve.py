"""Learning curves: what the tests of the greedy policy gave, as the run went on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from recurl.model.tables import Floats


class Score(NamedTuple):
    """One test of the greedy policy.

    Attributes:
        steps: Steps of training before it.
        mean: Mean return of its episodes.
        deviation: Standard deviation of their returns.
        length: Mean length of its episodes.
        cut: Share of its episodes that met the limit.
        episodes: Episodes of training so far.
        training_mean: Mean return of the training episodes that ended since the last test.
        contexts: Contexts in the table.
    """

    steps: float
    mean: float
    deviation: float
    length: float
    cut: float
    episodes: float
    training_mean: float
    contexts: float

    def margin(self, episodes: int) -> float:
        """Half the width of the 95 % interval around the mean, from so many test episodes.

        Example:
            >>> Score(100, -5.0, 1.0, 7.0, 0.0, 20, -6.0, 3).margin(50)
            0.28
        """
        return 1.96 * self.deviation / math.sqrt(episodes - 1) if episodes > 1 else math.inf


class Curve:
    """The tests of a run, in order; each column of `Score` is an array.

    Example:
        >>> curve = Curve()
        >>> curve.add(Score(100, -5.0, 1.0, 7.0, 0.0, 20, -6.0, 3))
        >>> len(curve), curve.steps, curve.last.mean
        (1, array([100.]), -5.0)
    """

    def __init__(self, rows: Floats | None = None) -> None:
        self._rows: list[Score] = [] if rows is None else [Score(*map(float, row)) for row in rows]

    def add(self, test: Score) -> None:
        """Append a test."""
        self._rows.append(test)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Score]:
        return iter(self._rows)

    @property
    def last(self) -> Score:
        """The latest test."""
        return self._rows[-1]

    @property
    def array(self) -> Floats:
        """All of it, a row per test and a column per number."""
        return np.array(self._rows, np.float64).reshape(-1, len(Score._fields))

    def __getattr__(self, name: str) -> Floats:
        if name not in Score._fields:
            raise AttributeError(f"a curve has {', '.join(Score._fields)}, not {name!r}")
        return self.array[:, Score._fields.index(name)]
