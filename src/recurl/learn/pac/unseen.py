"""What was never observed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import EXIT

if TYPE_CHECKING:
    from recurl.learn.pac.access import View
    from recurl.model.rmdp import RMDP

_SHOWN = 3


def unseen(view: View) -> tuple[str, ...]:
    """Pairs without a sample, outcomes and exits that never came up, and what may be missing.

    Pairs with a single outcome need no sample to be known.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.access import ModelAccess
        >>> access = ModelAccess(recurl.zoo.gambler(p=0.001))
        >>> unseen(access.view())
        ('1 pair without a sample: W.in bet',)
        >>> access.draw(np.array([5, 0, 0]))
        >>> unseen(access.view())
        ('1 outcome: W.in bet to W.first.in',)
    """
    return tuple(_lines(view))


def _lines(view: View) -> Iterator[str]:
    t, model = view.model.tables, view.model
    total = np.add.reduceat(view.counts, t.transition_start[:-1])
    known = (view.support == 1) & (np.diff(t.transition_start) == 1)
    never = np.flatnonzero((total == 0) & ~known).tolist()
    yield from line("pair", " without a sample", [_pair(model, a) for a in never])
    pair = np.repeat(np.arange(t.n_actions), np.diff(t.transition_start))
    seen = (view.counts > 0) | known[pair]
    absent = np.flatnonzero(~seen & (total[pair] > 0)).tolist()
    names = [
        f"{_pair(model, int(pair[i]))} to {model.vertex_name(int(t.target[i]))}" for i in absent
    ]
    yield from line("outcome", "", names)
    sampled = seen | (total[pair] == 0)
    exits = np.setdiff1d(np.flatnonzero(t.vertex_kind == EXIT), t.target[sampled]).tolist()
    yield from line("exit", "", [model.vertex_name(v) for v in exits])


def line(what: str, more: str, names: Sequence[str]) -> Iterator[str]:
    """Things of a kind, counted, the first few by name; nothing if there are none."""
    if names:
        rest = f", ... and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        plural = "s" if len(names) > 1 else ""
        yield f"{len(names)} {what}{plural}{more}: {', '.join(names[:_SHOWN])}{rest}"


def _pair(model: RMDP, action: int) -> str:
    vertex = int(model.tables.action_vertex[action])
    return f"{model.vertex_name(vertex)} {model.action_name(action)}"
