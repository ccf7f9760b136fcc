"""Flat models to compare: the same numbers and names, whatever else a model carries."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.strategies import models

from recurl.model.rmdp import RMDP
from recurl.model.transforms.unravelling import unravel


def content(model: RMDP) -> tuple[object, ...]:
    """Arrays, names and exact numbers, without features and labels."""
    t, names, exact = model.tables, model.names, model.exact
    numbers = [(exact.prob(i), exact.reward(i)) for i in range(t.n_transitions)]
    arrays = [t.target.tolist(), t.action_start.tolist(), t.transition_start.tolist()]
    words = [list(names.components), list(names.nodes), list(names.actions)]
    return (model.name, arrays, words, numbers, t.n_exits.tolist(), exact.binary)


def flat_models() -> st.SearchStrategy[RMDP]:
    """Models of one component without boxes, exact or binary, cut at a depth of one call."""
    return models().map(lambda model: unravel(model, 1))


def single_start(model: RMDP) -> bool:
    """Whether a model starts at one entry."""
    return len(model.tables.starts) == 1
