"""Learning curves: what the tests of the greedy policy gave, as the run went on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.tables import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Score(NamedTuple):
    """One test of the greedy policy.

    Attributes:
        steps: Steps of training before it.
        mean: Mean return of its episodes.
        deviation: Standard deviation of their returns.
        length: Mean length of its episodes.
        cut: Share of its episodes that met the limit.
        episodes: Episodes of training so far.
        training_mean: Mean undiscounted return of the training episodes that ended since the last
            test.
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
        """Half the width of the 95 % interval around the mean, given the number of test episodes.

        Example:
            >>> round(Score(100, -5.0, 1.0, 7.0, 0.0, 20, -6.0, 3).margin(50), 6)
            0.28
        """
        return 1.96 * self.deviation / math.sqrt(episodes - 1) if episodes > 1 else math.inf


class Band(NamedTuple):
    """Curves of many runs as one: mean, 10th and 90th percentile at each step."""

    steps: Floats
    mean: Floats
    low: Floats
    high: Floats


def over_runs(runs: Sequence[Mapping[float, float]]) -> Band:
    """Mean and percentiles over runs, given by step, at the steps that all of them have.

    Example:
        >>> over_runs([{0: 0.0, 100: 1.0}, {0: 2.0, 100: 3.0, 200: 5.0}]).mean
        array([1., 2.])
    """
    shared = sorted(set.intersection(*(set(run) for run in runs))) if runs else []
    values = np.array([[run[step] for step in shared] for run in runs])
    if not shared:
        empty = np.empty(0)
        return Band(empty, empty, empty, empty)
    low, high = np.percentile(values, [10, 90], axis=0)
    return Band(np.array(shared), values.mean(axis=0), low, high)


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

    def plot(
        self,
        *others: Curve,
        optimum: float | None = None,
        label: str = "",
        axes: Axes | None = None,
    ) -> Axes:
        """Plot the mean return of the greedy policy by steps of training.

        Args:
            others: Curves of runs with other seeds. The line is then the mean over runs, and the
                shade goes from the 10th to the 90th percentile.
            optimum: Value to draw as a dotted line.
            label: What the legend calls the line.
            axes: Axes of matplotlib to draw in; new ones if not given.

        Example:
            >>> import recurl
            >>> settings = {"episode_limit": 200, "evaluate_every": 500}
            >>> runs = recurl.learn_many(recurl.zoo.cloud(), 3, 2000, **settings)
            >>> axes = runs[0].curve.plot(*(run.curve for run in runs[1:]), optimum=-5.3425)
            >>> axes.get_xlabel(), axes.get_ylabel()
            ('training steps', 'return of the greedy policy')
        """
        from recurl.model.plotting import BLUE, own_or_new

        runs = (self, *others)
        found = over_runs([dict(zip(c.steps.tolist(), c.mean.tolist(), strict=True)) for c in runs])
        if not len(found.steps):
            raise ValueError("the runs have no tests in common: set evaluate_every, and learn")
        new, axes = axes is None, own_or_new(axes)
        named = label or ("one run" if not others else f"mean of {len(runs)} runs")
        (line,) = axes.plot(found.steps, found.mean, color=BLUE if new else None, label=named)
        if others:
            shade = line.get_color()
            axes.fill_between(
                found.steps, found.low, found.high, color=shade, alpha=0.16, linewidth=0
            )
        if optimum is not None:
            axes.axhline(optimum, color="0.3", linestyle=":", label=f"optimum {optimum:.7g}")
        axes.set_xlabel("training steps")
        axes.set_ylabel("return of the greedy policy")
        axes.legend(frameon=False)
        return axes

    def __getattr__(self, name: str) -> Floats:
        if name not in Score._fields:
            raise AttributeError(f"a curve has {', '.join(Score._fields)}, not {name!r}")
        return self.array[:, Score._fields.index(name)]
