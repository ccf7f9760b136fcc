"""Bounds that hold: vectors that satisfy the inequalities of an upper or a lower bound.

On a proper model U >= F(U) implies U >= x, and L <= F(L) implies L <= x. If d >= 1 + P d for the
weights P of every action, then x~ + t d is such a U as soon as t is at least the greatest excess
F(x~) - x~, and x~ - t d such an L, for any x~ at all, however it was found. Both are checked in
floats with the rounding errors of every row counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import CALL
from recurl.solving.blocks import HUGE, Iterate, policy_iteration
from recurl.solving.equations import UNIT, Equations

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.one_exit_system import System
    from recurl.solving.question import Question

_ROUGH = 0.01
_TRIES = 30
_UNIFORM = 1e-4
_ABOVE = 1.0 + 1e-9
_LEVELS = 8
"""Most rounds in which one number of steps for each block is looked for."""


class Bounds(NamedTuple):
    """Values of rows between which the optimum lies, and actions that attain the lower ones."""

    lower: Floats
    upper: Floats
    choice: Ints


def step_bounds(system: System) -> Floats | None:
    """Some d with d >= 1 + P d for all actions, rounding counted; None if none was found.

    It exists exactly if every policy is proper, and bounds the expected steps to leave. Where every
    action stops with a probability of at least s, 1/s will do. Where every action leaves its
    block so, or stops, and few blocks refer to each other in a row, there is one number for each.
    Else the greatest expected steps are computed to a percent and enlarged by as much.
    """
    eq = system.equations
    left = 1.0 - eq.greatest_sum()
    if left >= _UNIFORM:
        return np.full(system.n_rows, _ABOVE / left)
    ones = np.ones_like(system.gain)
    if (steps := _by_block(system)) is not None and holds_above(eq, ones, ones, steps):
        return steps
    it = Iterate.first(eq, ones)
    if policy_iteration(it, _ROUGH) is not None or not 0 <= it.x.min() <= it.x.max() < HUGE:
        return None
    steps = it.x / (1 - 2 * _ROUGH)
    return steps if holds_above(eq, ones, ones, steps) else None


def _by_block(system: System) -> Floats | None:
    """Step bounds that are alike in all rows of a block; None where that takes long or too many.

    They are the least d(block) >= 1 + inner(a) d(block) + (the rest of P_a d) for all its actions.
    """
    eq, matrix = system.equations, system.equations.matrix
    sizes = np.diff(eq.block_start)
    block = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    action = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    inside = block[matrix.indices] == eq.owners(block)[action]
    left = 1.0 - np.bincount(action, matrix.data * inside, len(system.gain))
    weight, other = np.where(inside, 0.0, matrix.data), block[matrix.indices]
    first, steps = eq.action_start[eq.block_start[:-1]], np.zeros(len(sizes))
    for _ in range(_LEVELS if left.min(initial=1.0) >= _UNIFORM else 0):
        before = steps
        after = (1.0 + np.bincount(action, weight * before[other], len(left))) / left
        steps = _ABOVE * np.maximum.reduceat(after, first)
        if not steps.max() <= 2.0 / _UNIFORM:
            break
        if (steps == before).all():
            return steps[block]
    return None


def holds_above(eq: Equations, gain: Floats, size: Floats, x: Floats) -> bool:
    """Whether x >= the value of every action, rounding counted: then x is an upper bound."""
    value = gain + eq.matrix @ x + _doubt(eq, size, x)
    return bool((value <= eq.owners(x)).all())


def holds_below(eq: Equations, gain: Floats, size: Floats, x: Floats, choice: Ints) -> bool:
    """Whether x <= the value of the chosen actions, rounding counted: then x is a lower bound."""
    value = (gain + (eq.matrix @ x))[choice] - _doubt(eq, size, x)[choice]
    return bool((value >= x).all())


def _doubt(eq: Equations, size: Floats, x: Floats) -> Floats:
    """By how much the value of each action in floats may be wrong."""
    return (2.0 * eq.reach(np.abs(x)) + size) * eq.error


def _slopes(system: System, x: Floats, steps: Floats, choice: Ints) -> tuple[float, float]:
    """Least t for which x + t d, and least t for which x - t d, should be a bound; inf if none.

    In each row it is (excess of an action over x) / (slack of d), both with rounding counted. For
    the lower bound, only the chosen actions matter.
    """
    eq = system.equations
    slack = eq.owners(steps) - eq.matrix @ steps - 2.0 * eq.reach(steps) * eq.error
    if not (slack > 0.0).all():
        return math.inf, math.inf
    excess = system.gain + eq.matrix @ x - eq.owners(x)
    doubt = _doubt(eq, system.size, x)
    up = (excess + doubt) / slack
    down = (doubt[choice] - excess[choice]) / slack[choice]
    return float(up.max()), float(down.max())


def _shortfalls(system: System, x: Floats, sign: float) -> Floats:
    """By how much x must at least be raised (sign 1) or lowered (-1) in view of each action alone.

    Rounding is counted four times: what is made of these numbers is rounded as well.
    """
    eq, own = system.equations, system.equations.owners(x)
    value = system.gain + eq.matrix @ x - own
    short: Floats = sign * value + 4.0 * _doubt(eq, system.size, x) + 4.0 * UNIT * np.abs(own)
    return short


def enclose(system: System, it: Iterate, steps: Floats) -> Bounds:
    """The tightest bounds of the form x~ - t d and x~ + t d that hold."""
    eq, gain, size = system.equations, system.gain, system.size
    choice = it.choice.copy()

    def above(x: Floats) -> bool:
        return holds_above(eq, gain, size, x)

    def below(x: Floats) -> bool:
        return holds_below(eq, gain, size, x, choice)

    up, down = _slopes(system, it.x, steps, choice)
    lower = _shift(it.x, down, -steps, below)
    return Bounds(lower, _shift(it.x, up, steps, above), choice)


def enclose_tightly(system: System, it: Iterate, steps: Floats) -> Bounds:
    """Bounds x~ + e with the least e, row by row, for which they hold.

    For the upper one e(q) = max_a shortfall(a) + P_a e, the equations of another optimum; where
    good policies end sooner than bad ones, that is far below a multiple of the greatest steps. For
    the lower one, only the chosen actions matter.
    """
    eq, gain, size, x = system.equations, system.gain, system.size, it.x
    choice = it.choice.copy()
    up = _least(system, _shortfalls(system, x, 1.0), choice, steps)
    chosen = np.full_like(gain, -HUGE)
    chosen[choice] = _shortfalls(system, x, -1.0)[choice]
    lower, upper = x - _least(system, chosen, choice, steps), x + up
    if not holds_above(eq, gain, size, upper):
        upper = math.inf * steps
    if not holds_below(eq, gain, size, lower, choice):
        lower = -math.inf * steps
    return Bounds(lower, upper, choice)


def _least(system: System, shortfall: Floats, choice: Ints, steps: Floats) -> Floats:
    """The least e >= shortfall + P e, nearly."""
    it = Iterate.first(system.equations, shortfall, steps)
    it.choice[:] = choice
    policy_iteration(it, 0.1 * float(np.abs(shortfall[choice]).min()))
    return it.x


def _shift(x: Floats, slope: float, steps: Floats, holds: Callable[[Floats], bool]) -> Floats:
    """X + slope steps, with a little more slope until it holds, since the sum is rounded too."""
    extra = 8 * UNIT * float(np.abs(x).max())
    slope += extra
    for _ in range(_TRIES):
        shifted = x + slope * steps
        if holds(shifted):
            return shifted
        slope += extra
        extra *= 2
    return math.inf * steps


def one_exit_certificate(
    model: RMDP,
    question: Question,
    interval: tuple[float, float],
    *,
    lower: Floats,
    upper: Floats,
    actions: Ints,
    steps: Floats | None = None,
    potential: Floats | None = None,
    own_steps: Floats | None = None,
) -> Certificate:
    """Write down bounds of a 1-exit model that hold with rounding counted.

    Args:
        model: The model.
        question: What was asked of it.
        interval: What is claimed of the start, lower and upper end.
        lower: L(q) by vertex with L <= F(L) for the given actions, negated as the question says.
        upper: U(q) by vertex with U >= F(U), negated as the question says.
        actions: Action of each vertex, counted within the vertex.
        steps: d(q) by vertex, with d(q) >= 1 + sum p d(q') for all actions.
        potential: h(q) by vertex, in place of the steps (see `recurl.solving.potential`).
        own_steps: d(q) by vertex, with d(q) >= 1 + sum p d(q') for the given actions.
    """
    t = model.tables
    points, pieces = [], []
    own = np.zeros(0) if own_steps is None else own_steps
    for c in range(t.n_components):
        block = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
        ports = np.flatnonzero(t.vertex_kind[block] == CALL) + block.start
        callees = t.box_component[t.vertex_box[ports]].tolist()
        points.append(Point(c, upper[block].tolist(), [[(b, 1.0)] for b in callees]))
        taken = own[block].tolist() or None
        piece = Piece(c, actions[block].tolist(), callees, lower[block].tolist(), steps=taken)
        pieces.append(piece)
    return question.certificate(
        model,
        interval,
        points=points,
        pieces=pieces,
        steps=[] if steps is None else steps.tolist(),
        potential=None if potential is None else potential.tolist(),
        start_points=[[(t.start_component, 1.0)]] * len(t.start_prob),
        start_pieces=[t.start_component] * len(t.start_prob),
    )
