"""Certificates of probabilities to leave: bounds by vertex and exit, and progress.

The equations of `recurl.solving.leaving` have no unknowns for call ports. Their bounds follow from
those of the entry and of the return ports, rounded outwards; inequalities are proved with enough
room for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.certificate import Certificate, Values
from recurl.model.tables import CALL, EXIT

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.question import Question


class LeavingProof(NamedTuple):
    """Vectors that prove bounds, by vertex and exit; those of call ports follow from the others.

    Attributes:
        actions: A policy, counted within vertices.
        lower: L <= f(L), with room for the rounding of products. ``[n, K]``
        upper: U >= f(U), likewise. ``[n, K]``
        progress: w > f'(L) w where L > 0; at exits less than what is missing. ``[n, K]``
    """

    actions: Ints
    lower: Floats
    upper: Floats
    progress: Floats


def leaving_certificate(
    model: RMDP,
    question: Question,
    interval: tuple[float, float] | tuple[None, None],
    proof: LeavingProof,
) -> Certificate:
    """The certificate of an interval: exits are worth 1 for themselves, calls are products."""
    low, high, left = _with_ports(model, proof)
    kept = np.arange(low.shape[1]) < model.tables.n_exits[model.tables.vertex_component][:, None]
    return question.certificate(
        model,
        interval,
        values=Values(
            [],
            low[kept].tolist(),
            high[kept].tolist(),
            proof.actions.tolist(),
            left[kept].tolist(),
        ),
    )


def _with_ports(model: RMDP, proof: LeavingProof) -> tuple[Floats, Floats, Floats]:
    """Bounds and progress of all vertices."""
    t = model.tables
    calls = np.flatnonzero(t.vertex_kind == CALL)
    entry, first = t.entry_of_call(calls), t.box_return[t.vertex_box[calls]]
    low, high, left = (np.array(x, np.float64) for x in proof[1:])
    exits = np.flatnonzero(t.vertex_kind == EXIT)
    for bound in (low, high):
        bound[exits] = 0.0
        bound[exits, t.vertex_port[exits]] = 1.0
    number = np.arange(low.shape[1])
    taken = number < t.n_exits[t.vertex_component[entry]][:, None]
    back = np.where(taken, first[:, None] + number, 0)
    least, most = ((x[entry] * taken)[:, :, None] for x in (low, high))
    inside, after = np.broadcast_to(least, low[back].shape), low[back]
    count = (inside > 0) & (after > 0)
    factors = np.concatenate([inside * count, after * count], axis=1)
    rest = np.concatenate(
        [left[back], np.broadcast_to(left[entry][:, :, None], after.shape)], axis=1
    )
    progress = _sums(factors, rest, 1.0)
    low[calls], high[calls] = _sums(least, low[back], -1.0), _sums(most, high[back], 1.0)
    left[calls] = progress
    return low, high, left


def _sums(a: Floats, b: Floats, side: float) -> Floats:
    """Sums of products over the second axis, rounded outwards; one product by 1 is exact."""
    terms = ((a > 0) & (b > 0)).sum(axis=1)
    whole = (((a == 1) & (b > 0)) | ((b == 1) & (a > 0))).any(axis=1)
    total = (a * b).sum(axis=1)
    rounded = total * (1 + side * (terms + 2) * 1.2e-16) + side * terms * 1e-323
    exact = (terms == 0) | ((terms == 1) & whole)
    found: Floats = np.where(exact, total, np.maximum(rounded, 0.0))
    return found
