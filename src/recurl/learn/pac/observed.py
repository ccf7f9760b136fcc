"""The observations of a learner: counts of outcomes, as a model, and what is missing from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.numbers import ExactNumbers
from recurl.model.rmdp import RMDP
from recurl.model.tables import EXIT

if TYPE_CHECKING:
    from recurl.learn.pac.plan import Longs
    from recurl.model.tables import Floats, Ints

_SHOWN = 3


class StartCounts(NamedTuple):
    """The starts of runs that were observed, where the start distribution is not known.

    Attributes:
        vertices: The starts.
        counts: How often a run started at each.
        failure: Probability, as a part of delta, with which the present level may mislead.
        most: Most starts that may exist.
        share: Share of delta that belongs to the starts.
    """

    vertices: Ints
    counts: Longs
    failure: float
    most: int
    share: float


class Observed(NamedTuple):
    """The observations of a learner at one time.

    Attributes:
        model: Vertices, actions and outcomes; its probabilities mean nothing.
        counts: How often each outcome was seen, up to the level of its pair. ``[T]``
        level: Level that each pair has reached. ``[A]``
        support: Most outcomes of each pair. ``[A]``
        share: Share of delta that belongs to each pair. ``[A]``
        pair: Number of the pair behind each action of the model, negative where there is none;
            None if it is the number of the action. ``[A]``
        starts: The observed starts; None if the start distribution is known.
    """

    model: RMDP
    counts: Longs
    level: Ints
    support: Ints
    share: Floats
    pair: Ints | None = None
    starts: StartCounts | None = None

    @property
    def failure(self) -> Floats:
        """Probability, as a part of delta, with which each pair's present level may mislead."""
        level = np.maximum(self.level, 1)
        return self.share / (level * (level + 1.0))

    @property
    def totals(self) -> Longs:
        """Samples of each pair."""
        total: Longs = np.add.reduceat(self.counts, self.model.tables.transition_start[:-1])
        return total

    def learned(self) -> RMDP:
        """The model with observed frequencies; pairs without a sample have even probabilities."""
        total = np.repeat(self.totals, np.diff(self.model.tables.transition_start))
        frequency = self.counts / np.maximum(total, 1)
        even = even_probabilities(self.model)
        return with_probabilities(self.model, np.where(total > 0, frequency, even))


def with_probabilities(
    model: RMDP,
    prob: Floats,
    reward: Floats | None = None,
    *,
    labels: Mapping[int, str] | None = None,
    start: Floats | None = None,
) -> RMDP:
    """The same model with other probabilities, and perhaps other rewards, labels and starts."""
    t = model.tables
    tables = t._replace(
        prob=prob,
        reward=t.reward if reward is None else reward,
        start_prob=t.start_prob if start is None else start,
    )
    floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
    exact = ExactNumbers(None, None, None, floats=floats)
    described = model.labels if labels is None else labels
    return RMDP(model.name, tables, model.names, exact=exact, labels=described)


def even_probabilities(model: RMDP) -> Floats:
    """Probabilities without information: all outcomes of a pair alike."""
    sizes = np.diff(model.tables.transition_start)
    even: Floats = np.repeat(1 / sizes, sizes)
    return even


def from_vertex(model: RMDP, vertex: int) -> RMDP:
    """The model whose runs start at one entry of the start component."""
    t = model.tables
    start: Floats = np.zeros(len(t.start_prob))
    start[vertex - t.component_start[t.start_component]] = 1.0
    return with_probabilities(model, t.prob, start=start)


def unobserved(observed: Observed) -> tuple[str, ...]:
    """Pairs without a sample, and outcomes and exits that were never observed, in words.

    Pairs with a single outcome need no sample to be known.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.model_access import ModelAccess
        >>> access = ModelAccess(recurl.zoo.gambler(p=0.001))
        >>> unobserved(access.observed())
        ('1 pair without a sample: W.in bet',)
        >>> access.draw(np.array([5, 0, 0]))
        >>> unobserved(access.observed())
        ('1 outcome: W.in bet to W.first.in',)
    """
    return tuple(_unobserved(observed))


def _unobserved(observed: Observed) -> Iterator[str]:
    t, model, total = observed.model.tables, observed.model, observed.totals
    known = (observed.support == 1) & (np.diff(t.transition_start) == 1)
    never = np.flatnonzero((total == 0) & ~known).tolist()
    yield from counted("pair", " without a sample", [_pair(model, a) for a in never])
    pair = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    seen = (observed.counts > 0) | known[pair]
    absent = np.flatnonzero(~seen & (total[pair] > 0)).tolist()
    names = [
        f"{_pair(model, int(pair[i]))} to {model.vertex_name(int(t.target[i]))}" for i in absent
    ]
    yield from counted("outcome", "", names)
    sampled = seen | (total[pair] == 0)
    exits = np.setdiff1d(np.flatnonzero(t.vertex_kind == EXIT), t.target[sampled]).tolist()
    yield from counted("exit", "", [model.vertex_name(v) for v in exits])


def counted(kind: str, more: str, names: Sequence[str]) -> Iterator[str]:
    """Things of a kind, counted, the first few by name; nothing if there are none."""
    if names:
        rest = f", ... and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        plural = "s" if len(names) > 1 else ""
        yield f"{len(names)} {kind}{plural}{more}: {', '.join(names[:_SHOWN])}{rest}"


def _pair(model: RMDP, action: int) -> str:
    vertex = int(model.tables.action_vertex[action])
    return f"{model.vertex_name(vertex)} {model.action_name(action)}"
