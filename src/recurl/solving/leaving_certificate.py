"""Certificates of probabilities to leave: bounds by vertex and exit, and progress.

The equations of `recurl.solving.chains` have no unknowns for call ports. Their bounds follow from
those of the entry and of the return ports, rounded outwards; inequalities are proved with enough
room for that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.certificate import Certificate, Values
from recurl.model.tables import CALL, EXIT
from recurl.solving.chain_equations import can_leave, polynomials, visited
from recurl.solving.chains import newton, progress_of
from recurl.solving.outward import float_above, float_below
from recurl.solving.rows import rows_of_model

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.question import Question

_DELTAS: Floats = np.ldexp(1.0, np.arange(-48, -12, 2))


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
    model: RMDP, question: Question, interval: tuple[float, float], proof: LeavingProof
) -> Certificate:
    """The certificate of an interval: exits are worth 1 for themselves, calls are products."""
    low, high, left = _with_ports(model, proof)
    kept = np.arange(low.shape[1]) < model.tables.n_exits[model.tables.vertex_component][:, None]
    return Certificate(
        model=model.fingerprint,
        objective=question.objective,
        rewards=question.rewards,
        exit_values=list(question.exit_values),
        lower=interval[0],
        upper=interval[1],
        points=[],
        pieces=[],
        steps=[],
        start_points=[],
        start_pieces=[],
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


def leaving_of_chain(model: RMDP, question: Question) -> Certificate | None:
    """The certificate of a model with one action everywhere, where runs need not end.

    Only the worth of exits counts, and is of one sign. None where floats prove nothing.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.gambler(p=0.6)
        >>> question = recurl.Question("max", "none", (1.0,))
        >>> verdict = recurl.verify(model, leaving_of_chain(model, question))
        >>> round(verdict.lower, 9), round(verdict.upper, 9)
        (0.666666667, 0.666666667)
    """
    worth = np.array(question.exit_values, np.float64)
    proof = None if (worth > 0).any() and (worth < 0).any() else _chain_proof(model)
    if proof is None:
        return None
    t = model.tables
    first = int(t.component_start[t.start_component])
    starts = [(model.exact.start(e), first + e) for e in range(len(t.start_prob))]
    low, high = sorted(
        sum((p * _worth(worth, bound[v]) for p, v in starts), Fraction(0))
        for bound in (proof.lower, proof.upper)
    )
    return leaving_certificate(model, question, (float_below(low), float_above(high)), proof)


def _worth(worth: Floats, chances: Floats) -> Fraction:
    """The worth of the exits of the start, each times the chance to leave there."""
    pairs = zip(worth.tolist(), chances.tolist(), strict=False)  # others have more exits
    return sum((Fraction(w) * Fraction(x) for w, x in pairs), Fraction(0))


def _chain_proof(model: RMDP) -> LeavingProof | None:
    rows = rows_of_model(model.tables)
    can = can_leave(rows)
    can &= visited(rows, can)[:, None]
    f = polynomials(rows, can)
    x, _ = newton(f, np.zeros(f.size, np.bool_))
    progress = progress_of(f, x)
    if progress is None:
        return None
    w, room = progress
    below, above = (np.maximum(x - d * w, 0.0) for d in _DELTAS), (x + d * w for d in _DELTAS)
    lower = next((y for y in below if (y <= f.below(y)).all()), None)
    upper = next((y for y in above if (y >= f.above(y)).all()), None)
    if lower is None or upper is None:
        return None
    tables = [np.zeros(can.shape) for _ in range(3)]
    for table, vector in zip(tables, (lower, upper, w), strict=True):
        table[can] = vector
    tables[2][~can] = room
    return LeavingProof(np.zeros(rows.size, np.int32), *tables)
