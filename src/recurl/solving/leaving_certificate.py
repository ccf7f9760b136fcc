"""Certificates of totals of one sign where runs need not end: bounds by vertex, and progress.

The equations of `recurl.solving.relaxed` have no unknowns for call ports. Their bounds follow from
those of the entry and of the return ports, rounded outwards; inequalities are proved with enough
room for that.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.certificate import Values
from recurl.model.tables import CALL, EXIT
from recurl.solving.mixes import CallMixes
from recurl.solving.outward import float_above, float_below

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints, Mask, Tables
    from recurl.solving.goals import GoalCopies
    from recurl.solving.question import Question


class LeavingProof(NamedTuple):
    """Vectors that prove bounds, by vertex and column; those of call ports follow from the others.

    The columns are the exits, to leave at all, and the total of rewards; the last two only where
    there are several exits, and rewards.

    Attributes:
        actions: A policy, counted within vertices.
        lower: L <= f(L), with room for the rounding of products. ``[n, K]``
        upper: U >= f(U), likewise; infinite if there is no bound. ``[n, K]``
        progress: w > f'(L) w where L > 0, see the proofs. ``[n, K]``
    """

    actions: Ints
    lower: Floats
    upper: Floats
    progress: Floats


def leaving_interval(model: RMDP, worth: Floats, proof: LeavingProof) -> tuple[float, float]:
    """The bounds at the start, for exits that are worth nonnegative numbers, rounded outwards."""
    t, low, high = model.tables, Fraction(0), Fraction(0)
    first, exits = int(t.component_start[t.start_component]), len(worth)
    paid = proof.lower.shape[1] > int(t.n_exits.max()) + 1
    after = list(map(Fraction, worth.tolist()))
    if np.isinf(proof.upper).any():
        high = Fraction(-1)
    for e in range(len(t.start_prob)):
        share = model.exact.start(e)
        for side, bound in ((-1, proof.lower), (1, proof.upper)):
            if not share or (side > 0 and high < 0):
                continue
            own = list(map(Fraction, bound[first + e].tolist()))
            ends = own[int(t.n_exits.max())] if exits > 1 else own[0]
            total = _mixed(own[:exits], after, ends, side) + (own[-1] if paid else 0)
            low, high = (low + share * total, high) if side < 0 else (low, high + share * total)
    return float_below(low), math.inf if high < 0 else float_above(high)


def _mixed(leave: list[Fraction], after: list[Fraction], ends: Fraction, side: int) -> Fraction:
    """The worth of exits, bounded from above (side 1) or from below (-1), exactly."""
    if side < 0:
        level = min(after) if ends > sum(leave) else Fraction(0)
        worth = sum(a * (b - level) for a, b in zip(leave, after, strict=True))
        return worth + ends * level
    total = Fraction(0)
    for b, a in sorted(zip(after, leave, strict=True), reverse=True):
        total += b * min(a, ends)
        ends -= min(a, ends)
    return total


def leaving_certificate(
    model: RMDP,
    question: Question,
    interval: tuple[float, float] | tuple[None, None],
    proof: LeavingProof,
    copies: GoalCopies | None = None,
    copied: RMDP | None = None,
) -> Certificate:
    """The certificate of an interval: exits are worth 1 for themselves, calls are mixes.

    Args:
        model: The model.
        question: What is asked of it.
        interval: What is claimed.
        proof: Bounds of the model, or of a model of copies of its components.
        copies: The copies, if there are some.
        copied: The model of copies.
    """
    t = (copied or model).tables
    rewards = question.rewards != "none"
    low, high, left = _with_ports(t, proof, rewards=rewards)
    kept = _kept(t, low.shape[1], rewards=rewards)
    known = [None if x is None or math.isinf(x) else x for x in interval]
    return question.certificate(
        model,
        (known[0], known[1]),
        values=Values(
            [],
            low[kept].tolist(),
            high[kept].tolist(),
            proof.actions.tolist(),
            left[kept].tolist(),
            copies=[] if copies is None else list(zip(*copies, strict=True)),
        ),
    )


def _kept(t: Tables, width: int, *, rewards: bool) -> Mask:
    """The numbers that a certificate has: exits, to leave by several at all, totals."""
    exits, most = t.n_exits[t.vertex_component], int(t.n_exits.max())
    kept = np.zeros((t.n_vertices, width), np.bool_)
    kept[:, :most] = np.arange(most) < exits[:, None]
    if width > most:
        kept[:, most] = exits > 1
    if rewards:
        kept[:, -1] = True
    return kept


def _with_ports(t: Tables, proof: LeavingProof, *, rewards: bool) -> tuple[Floats, Floats, Floats]:
    """Bounds and progress of all vertices."""
    low, high, left = (np.array(x, np.float64) for x in proof[1:])
    high = high if np.isfinite(high).all() else np.zeros_like(high)
    most, width = int(t.n_exits.max()), low.shape[1]
    exits = np.flatnonzero(t.vertex_kind == EXIT)
    for bound in (low, high):
        bound[exits] = 0.0
        bound[exits, t.vertex_port[exits]] = 1.0
        bound[exits, most : most + 1] = 1.0
        if rewards:
            bound[exits, -1] = 0.0
    calls = np.flatnonzero(t.vertex_kind == CALL)
    entry, first = t.entry_of_call(calls), t.box_return[t.vertex_box[calls]]
    count = t.n_exits[t.vertex_component[entry]]
    real = np.arange(most) < count[:, None]
    back = np.where(real, first[:, None] + np.arange(most), t.n_vertices)
    ends = np.where(count > 1, min(most, width - 1), 0)

    def known(table: Floats) -> tuple[Floats, Floats, Floats]:
        """Numbers of calls, by column."""
        after = np.append(table, np.zeros((1, width)), axis=0)[back].swapaxes(1, 2)
        inside = np.where(real, table[entry, :most], 0.0).repeat(width, axis=0)
        return inside, after.reshape(-1, most), table[entry, ends].repeat(width)

    above, below = (
        CallMixes.above(*known(high)),
        CallMixes.below(*known(low), real.repeat(width, axis=0)),
    )
    table = left * (low > 0)
    progress = below.slope(*known(table)).reshape(-1, width)
    bounds = [below.outward(-1.0), above.outward(1.0)]
    low[calls], high[calls] = (x.reshape(-1, width) for x in bounds)
    left[calls] = progress
    if rewards:
        low[calls, -1] = _sum(low[calls, -1], low[entry, -1], 0.0)
        high[calls, -1] = _sum(high[calls, -1], high[entry, -1], np.inf)
        left[calls, -1] += table[entry, -1]
    left[calls] = left[calls] * (1 + (2 * most + 9) * 2.3e-16) + 1e-300
    return low, high, left


def _sum(a: Floats, b: Floats, side: float) -> Floats:
    """Sums of two numbers, rounded to a side where both are not 0."""
    total = a + b
    return np.where((a == 0) | (b == 0), total, np.nextafter(total, side))
