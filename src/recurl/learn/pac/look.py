"""What is known of an environment at a time: a model with sets, bounds, and what they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.pac.access import even_probabilities, with_probabilities
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.chart import chart
from recurl.learn.pac.intervals import confidence_sets
from recurl.learn.pac.robust import RobustBounds, Starts
from recurl.learn.pac.unseen import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recurl.learn.pac.atlas import Atlas
    from recurl.learn.pac.one_exit import Task
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints


class Sight:
    """The model that was discovered, with the sets that the data allow.

    Args:
        atlas: What was seen.
        task: What is asked for; with `reward_bound` and `support`.
    """

    def __init__(self, atlas: Atlas, task: Task) -> None:
        assert task.reward_bound is not None
        assert task.support is not None
        self.atlas, self.task = atlas, task
        starts = task.support if task.starts is None else task.starts
        self.chart = chart(atlas, task.support, starts)
        self.sets = sets_of(self.chart.view, task.intervals, task.delta)
        self.starts = self._starts(starts)

    def _starts(self, most: int) -> Starts:
        found = self.chart
        sets = confidence_sets(
            self.task.intervals,
            found.start_counts,
            np.array([0, len(found.start)], np.int32),
            failure=np.array([self.task.delta * found.start_failure]),
            support=np.array([max(most, len(found.start))], np.int32),
        )
        return Starts(found.start, sets)

    @property
    def model(self) -> RMDP:
        """What was discovered; its probabilities mean nothing."""
        return self.chart.view.model

    def learned(self) -> RMDP:
        """What was observed, as a model."""
        counts, model = self.chart.view.counts, self.model
        t = model.tables
        total = np.add.reduceat(counts, t.transition_start[:-1])
        total = np.repeat(total, np.diff(t.transition_start))
        even = even_probabilities(model)
        return with_probabilities(model, np.where(total > 0, counts / np.maximum(total, 1), even))

    def best_pairs(self) -> dict[int, int]:
        """The pair that looks best at each state; none is known here."""
        return {}

    def pairs_chosen(self, vertices: Ints, choice: Ints) -> dict[int, int]:
        """The pair of the atlas, by state, of actions counted within vertices."""
        pairs = self.chart.pair[self.model.tables.action_start[vertices] + choice].tolist()
        return {self.atlas.pairs[pair].state: pair for pair in pairs if pair >= 0}

    def unseen(self) -> tuple[str, ...]:
        """What was never observed, and how likely it may still be."""
        return (*self._never(), *self._missing())

    def _never(self) -> Iterator[str]:
        pairs = [p for p in self.atlas.pairs if not p.total]
        shown = [f"action {p.action} at {self._seen(p.state)}" for p in pairs]
        yield from line("pair", " without a sample", shown)
        states = [s for s, own in enumerate(self.atlas.pairs_of) if not own]
        yield from line("state", " at which no run has stood", [self._seen(s) for s in states])
        taken, known = self.atlas.exits_taken()
        left = sum(known) - sum(map(len, taken))
        if left:
            yield f"{left} of {sum(known)} exits taken"

    def _seen(self, state: int) -> str:
        return f"{self.atlas.observations[state]!r}"

    def _missing(self) -> Iterator[str]:
        missing = self.sets.missing
        worst = int(np.argmax(missing))
        if missing[worst] > 0:
            state = self.model.label(int(self.model.tables.action_vertex[worst]))
            yield (
                f"outcomes of {int((missing > 0).sum())} pairs that may exist, each with a "
                f"probability of at most {missing[worst]:.3g} (at the state observed as {state})"
            )
        start = float(self.starts.sets.missing[0])
        if start > 0:
            yield f"starts that may exist, with a probability of at most {start:.3g}"

    def warnings(self) -> tuple[str, ...]:
        """Where what was seen contradicts what was given."""
        return tuple(self._contradictions())

    def _contradictions(self) -> Iterator[str]:
        task, pairs = self.task, self.atlas.pairs
        most = max((len(pair.outcomes) for pair in pairs), default=0)
        if most > (task.support or most):
            yield f"a pair has shown {most} outcomes, more than the support of {task.support}"
        if len(self.chart.start) > (task.starts or task.support or 1):
            yield f"runs have begun at {len(self.chart.start)} states, more than given"
        paid = max((abs(r) for pair in pairs for r in pair.rewards), default=0.0)
        if paid > float(task.reward_bound or 0.0):
            yield f"a step paid {paid:g} in absolute value, beyond the bound {task.reward_bound:g}"


class Look(Sight):
    """Robust bounds of a 1-exit environment in view of all that was seen.

    Args:
        atlas: What was seen.
        task: What is asked for; with `steps`, `reward_bound` and `support`.
    """

    def __init__(self, atlas: Atlas, task: Task) -> None:
        super().__init__(atlas, task)
        reward = float(task.reward_bound or 0.0)
        self.bounds = RobustBounds(self.model, task.steps, (-reward, reward), starts=self.starts)

    def tighten(self) -> None:
        """Bring the bounds to where the sets allow."""
        self.bounds.tighten(self.sets, tolerance=1e-3 * self.task.epsilon)

    def choice(self, sign: float) -> Ints:
        """Actions, counted within each vertex, that attain a bound."""
        t = self.model.tables
        local = self.bounds.choice(self.sets, sign) - t.action_start[:-1]
        return np.where(t.states, local, 0).astype(np.int32)

    def scores(self) -> tuple[Floats, float]:
        """How much of the gap is due to each pair of the atlas, and to the start."""
        found = np.zeros(len(self.atlas.pairs))
        own = self.chart.pair >= 0
        np.add.at(found, self.chart.pair[own], self.bounds.scores(self.sets)[own])
        return found, self._start_score()

    def _start_score(self) -> float:
        """What is not known of the start: the greatest value less the expected one, both ways."""
        above, below, own = self.bounds.above, self.bounds.below, self.starts
        reach = self.bounds.rewards[1] * float(self.task.steps or 0.0)
        high = own.expectation(above, reach, 1.0) - float(own.sets.centre @ above[own.vertices])
        low = float(own.sets.centre @ below[own.vertices]) - own.expectation(below, -reach, -1.0)
        return high + low

    def best_pairs(self) -> dict[int, int]:
        """The pair of each state that looks best by the upper bound."""
        states = np.flatnonzero(self.model.tables.states).astype(np.int32)
        return self.pairs_chosen(states, self.choice(1.0)[states])
