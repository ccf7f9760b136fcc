"""Totals of one sign where policies need not end: bounds for models of any kind.

The probability to leave by an exit, the probability to end, and totals of rewards that are not
negative (or not positive) have products at calls, and a policy that is good for one of them may be
bad for another. One end of the interval is what a policy attains, the other one what none exceeds:
see `recurl.solving.leaving_search`. Without choices both ends are the same. A policy takes one
action per vertex, or, where that leaves a gap, one per vertex and goal: see `recurl.solving.goals`.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from recurl.model.tables import CALLS
from recurl.policy import Policy
from recurl.solving.goals import LARGEST, with_goals
from recurl.solving.infinite import visited
from recurl.solving.leaving_certificate import (
    LeavingProof,
    leaving_certificate,
    leaving_interval,
)
from recurl.solving.leaving_search import LeavingSearch
from recurl.solving.losses import bounded_losses
from recurl.solving.relaxed import referred_to
from recurl.solving.rows import rows_of_model
from recurl.solving.solution import Solution

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.question import Question

_MOST = 20_000_000
"""Numbers of calls beyond which their equations do not fit into memory."""
_NARROW = 1e-9
"""Width from which on policies with goals are looked at."""


def solve_leaving(model: RMDP, question: Question) -> Solution | None:
    """The optimal total of rewards and of the worth of exits, all of one sign.

    Returns:
        The solution, whose interval may be wide where there are choices; None if signs differ, or
        if the model is too large.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.6)
        >>> found = solve_leaving(model, recurl.Question("max", "none", (1.0,)))
        >>> round(found.lower, 9), round(found.upper, 9)
        (0.666666667, 0.666666667)
    """
    began = time.perf_counter()
    sign = _sign(model, question)
    if sign == 0 or _size(model) > _MOST:
        return None
    worth = np.abs(question.root_values(model.tables))
    gain = np.abs(question.transition_rewards(model.tables))
    search = LeavingSearch.of(model, worth, None if question.rewards == "none" else gain)
    chain = bool((np.diff(model.tables.action_start) <= 1).all())  # the greatest is the least
    greatest = chain or (question.objective == "max") == (sign > 0)
    proof = search.proof(greatest=greatest)
    low, high = leaving_interval(model, worth, proof)
    policy, certify = Policy.stackless(model, proof.actions), partial(leaving_certificate, model)
    few = model.tables.n_vertices * proof.lower.shape[1] <= LARGEST
    few &= model.tables.n_boxes > 0  # goals are those of calls
    if high - low > _NARROW and few and not chain:
        found = with_goals(model, question, worth, greatest=greatest)
        ends = leaving_interval(found.model, worth, found.proof)
        if low < ends[0] or ends[1] < high:
            (low, high), proof = ends, found.proof
            policy = found.copies.policy(model, found.model, proof.actions)
            certify = partial(certify, copies=found.copies, copied=found.model)
    ends = (low, high) if sign > 0 else (0.0 - high, 0.0 - low)
    several = "a policy attains one end; for the other, every exit has the best actions for itself"
    return Solution(
        model,
        question,
        *ends,
        method="products of exit probabilities",
        reason=several,
        policy=policy,
        seconds=time.perf_counter() - began,
        _certify=partial(certify, question, ends, proof),
    )


def _size(model: RMDP) -> int:
    """Numbers that the calls of all columns have."""
    t = model.tables
    return int(np.count_nonzero(t.move == CALLS)) * t.max_exits * (t.max_exits + 2)


def _sign(model: RMDP, question: Question) -> int:
    """1 if nothing that is paid to runs is negative, -1 if nothing is positive, else 0."""
    paid = np.append(_paid(model, question), question.sign * question.root_values(model.tables))
    return 1 if (paid >= 0).all() else -1 if (paid <= 0).all() else 0


def _paid(model: RMDP, question: Question) -> Floats:
    """Rewards of the transitions that equations refer to."""
    rows = rows_of_model(model.tables)
    met = referred_to(rows)[rows.row_place] & (rows.prob > 0)
    return question.sign * question.transition_rewards(model.tables)[met]


def leaving_of_chain(model: RMDP, question: Question) -> Certificate | None:
    """The certificate of a model with one action everywhere, where runs need not end."""
    found = solve_leaving(model, question)
    return None if found is None or math.isinf(found.gap) else found.certificate


def may_not_end(
    model: RMDP, question: Question, total: float, actions: Ints | None = None
) -> Certificate | None:
    """The certificate of an infinite total: runs may not end, and gain more than they lose.

    Args:
        model: The model.
        question: What is asked.
        total: ``inf`` or ``-inf``.
        actions: A policy that may attain it, counted within vertices; found if there is none.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.6)
        >>> found = may_not_end(model, recurl.Question("min", "steps"), float("inf"))
        >>> recurl.verify(model, found).lower
        inf
    """
    t = model.tables
    if question.rewards == "none" or _size(model) > _MOST:
        return None
    worth = np.ones(t.n_exits[t.start_component])
    every = (question.objective == "max") != (total > 0)
    search = LeavingSearch.of(model, worth, None)
    proof = search.proof(greatest=every, actions=None if every else actions)
    if leaving_interval(model, worth, proof)[1] >= 1 - 1e-12:
        return None
    taken, own = np.ones(t.n_actions, np.bool_), t.action_start[:-1] + proof.actions
    if not every:
        taken = np.arange(t.n_actions) == own[t.action_vertex]
    taken &= visited(t, np.flatnonzero(taken), returns=True)[t.action_vertex]
    rewards = np.sign(total) * question.sign * question.transition_rewards(t)
    losses = bounded_losses(t, rewards, taken, proof.upper)
    if losses is None:
        return None
    zero = np.zeros((t.n_vertices, proof.upper.shape[1] + 1))
    upper = np.column_stack([proof.upper, losses])
    found = leaving_certificate(
        model, question, (None, None), LeavingProof(proof.actions, zero, upper, zero)
    )
    return structs.replace(found, infinite="inf" if total > 0 else "-inf")
