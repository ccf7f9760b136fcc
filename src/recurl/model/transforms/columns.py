"""Probabilities and rewards as columns that one calculation serves, exact or binary.

A model that was written in decimals or fractions has columns of `fractions.Fraction`, and so has
what is calculated from them; a model from float arrays has floats. NumPy adds and multiplies both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from recurl.model.names import Names
from recurl.model.numbers import ExactNumbers, exact, to_float
from recurl.model.rmdp import RMDP
from recurl.model.tables import Layout, Tables

if TYPE_CHECKING:
    from recurl.model.spec import Number


class ColumnType:
    """A way to make columns: of fractions, or of floats."""

    def __init__(self, binary: bool) -> None:
        self.binary = binary

    def number(self, number: Number) -> Any:
        """A number as it stands in such a column; a float is read as its shortest decimal."""
        return to_float(number) if self.binary else exact(number)

    def of(self, values: Sequence[Any]) -> np.ndarray:
        """A column of numbers."""
        column = np.empty(len(values), np.float64 if self.binary else object)
        column[:] = values
        return column

    def full(self, count: int, number: Number) -> np.ndarray:
        """A column that repeats a number."""
        return self.of([self.number(number)] * count)

    def start(self, model: RMDP) -> np.ndarray:
        """The start probabilities of a model."""
        if self.binary:
            return model.tables.start_prob
        return self.of([model.exact.start(j) for j in range(len(model.tables.start_prob))])


class Transitions(NamedTuple):
    """Transitions in any order: action, target, probability and reward of each."""

    action: np.ndarray
    target: np.ndarray
    prob: np.ndarray
    reward: np.ndarray

    @classmethod
    def of(cls, model: RMDP) -> Self:
        """The transitions of a model, their numbers as exact as it has them."""
        t, kept = model.tables, model.exact
        action = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
        if kept.binary:
            return cls(action, t.target, t.prob, t.reward)
        column, count = ColumnType(binary=False), range(t.n_transitions)
        prob = column.of([kept.prob(i) for i in count])
        return cls(action, t.target, prob, column.of([kept.reward(i) for i in count]))

    @property
    def column(self) -> ColumnType:
        """How columns like these are made."""
        return ColumnType(binary=self.prob.dtype != object)

    def join(self, *others: Transitions) -> Transitions:
        """These transitions and others, ordered by action; those of one action stay together."""
        joined = Transitions(*map(np.concatenate, zip(self, *others, strict=True)))
        order = np.argsort(joined.action, kind="stable")
        return Transitions(*(column[order] for column in joined))


@dataclass(frozen=True, slots=True)
class Words:
    """The readable parts of a model: names (see `Names`), features, labels."""

    components: Sequence[str]
    nodes: Sequence[str]
    boxes: Sequence[str]
    actions: Sequence[str]
    features: np.ndarray | None = None
    feature_names: Sequence[str] = ()
    labels: Mapping[int, str] | None = None


def model_of(
    name: str,
    layout: Layout,
    edges: Transitions,
    *,
    words: Words,
    action_start: np.ndarray,
    start_component: int,
    start: np.ndarray,
) -> RMDP:
    """A model from transitions ordered by action that are known to keep the rules."""
    transition_start = np.searchsorted(edges.action, np.arange(action_start[-1] + 1))
    tables = Tables.of(
        layout,
        action_start=action_start,
        transition_start=transition_start,
        target=edges.target,
        prob=edges.prob,
        reward=edges.reward,
        start_component=start_component,
        start_prob=start,
    )
    written = [None] * 3 if edges.column.binary else [a.tolist() for a in (start, *edges[2:])]
    floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
    return RMDP(
        name,
        tables,
        Names(words.components, words.nodes, words.boxes, words.actions, tables=tables),
        exact=ExactNumbers(*written, floats=floats),
        features=words.features,
        feature_names=words.feature_names,
        labels=words.labels,
    )
