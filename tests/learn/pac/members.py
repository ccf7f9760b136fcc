"""Models drawn from confidence sets."""

from __future__ import annotations

import numpy as np

from recurl.learn.pac.confidence import Sets
from recurl.model.rmdp import RMDP
from recurl.model.tables import Floats


def member(sets: Sets, model: RMDP, random: np.random.Generator) -> Floats:
    """Some distributions of the sets: from a corner, or part of the way to one."""
    prob = sets.centre.copy()
    begin = model.tables.transition_start
    for a in range(model.tables.n_actions):
        at = slice(begin[a], begin[a + 1])
        order = random.permutation(at.stop - at.start)
        if sets.radius[a] >= 2:
            p = sets.low[at].copy()
            for k in order:
                p[k] += min(1 - p.sum(), sets.high[at][k] - p[k])
        else:
            p = sets.centre[at].copy()
            more = min(sets.radius[a] / 2, 1 - p[order[0]])
            p[order[0]] += more
            for k in order[:0:-1]:
                less = min(more, p[k])
                p[k] -= less
                more -= less
        share = random.choice([1.0, random.random()])
        prob[at] = share * p + (1 - share) * sets.centre[at]
    return prob


def known(model: RMDP) -> Sets:
    """The sets of probabilities that are known exactly."""
    p, pairs = model.tables.prob, model.tables.n_actions
    return Sets(p, p, p, np.full(pairs, 2.0), np.zeros(pairs))
