"""Models that leave nothing to decide: recursive Markov chains, evaluated and certified.

A certificate has one point and one piece per component. The expected total is affine in the exit
values, R(q) + P(q).v. With p <= P the probabilities of `certain_reach`, R with a little added is a
point at v = 0 from which the optimum rises by at most p.v + (1 - sum p) max v, and R with a little
taken off is a piece with weights p.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import CertificateError, NotProperError
from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import CALL
from recurl.policy import Policy
from recurl.solving.evaluate import evaluate, with_worth
from recurl.solving.expectations import expectations
from recurl.solving.infinite import can_go_on, must_go_on
from recurl.solving.leaving import leaving_of_chain, may_not_end
from recurl.solving.outward import float_above, float_below
from recurl.solving.properness import StepBounds, chain_bounds
from recurl.solving.reach import call_worth, reach_rows
from recurl.solving.rows import part_of, rows_of_model
from recurl.solving.solution import NEARLY_BALANCED, Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Tables
    from recurl.solving.question import Question

_UNIT, _LEAST = 1.2e-16, 1e-323
_NARROW = 1e-8
"""Width up to which an interval is that of its certificate."""


def solve_chain(model: RMDP, question: Question, epsilon: float, **options: Any) -> Solution:
    """The expected total of a model with one action everywhere; see `evaluate`.

    The interval is the one that its certificate proves, if there is one.

    Example:
        >>> import recurl
        >>> solution = recurl.solve(recurl.zoo.and_or())
        >>> round(solution.lower, 9), solution.method
        (0.58113883, 'evaluation')
    """
    began = time.perf_counter()
    found = evaluate(Policy.uniform(model), exit_values=question.exit_values or None)
    low, high = found.lower, found.upper
    reason = found.reason or "there is nothing to decide"
    if question.rewards != "model":
        worth, exits = np.array(found.exit_values), list(found.exit_intervals.values())
        steps = found.steps_interval if question.rewards == "steps" else (0.0, 0.0)
        low, high = with_worth(steps, worth, exits)
    answer = Solution(
        model,
        question,
        low,
        high,
        method="evaluation",
        reason=reason,
        policy=found.policy,
        _certify=partial(chain_certificate, model, question),
    )
    if low < high or math.isfinite(low):
        answer = answer.as_proved(_NARROW)
    if epsilon < answer.gap < math.inf:
        reason += f"; {NEARLY_BALANCED}"
    return replace(answer, reason=reason, seconds=time.perf_counter() - began)


def solve_chain_given_end(model: RMDP, question: Question) -> Solution:
    """The expected total reward of the runs that end, of a model with one action everywhere.

    Raises:
        NotProperError: No run ends, or no bounds are proved.
    """
    began = time.perf_counter()
    found = evaluate(Policy.uniform(model))
    low, high = found.given_end
    if math.isinf(low) and low != high:
        chance = found.termination
        why = "no run ends" if chance[1] <= 0 else "bounds of it cannot be proved in floats"
        raise NotProperError(f"{model.name}: the reward of the runs that end is not known: {why}")
    return Solution(
        model,
        question,
        low,
        high,
        method="evaluation",
        reason=f"there is nothing to decide; runs end with probability {found.termination[1]:.6g}",
        policy=found.policy,
        seconds=time.perf_counter() - began,
    )


def chain_certificate(model: RMDP, question: Question) -> Certificate:
    """The certificate of a model with one action everywhere.

    Raises:
        CertificateError: Expected steps are infinite somewhere, but the total is not, or too large
            for floats to prove.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.and_or()
        >>> verdict = recurl.verify(model, chain_certificate(model, recurl.Question()))
        >>> verdict.upper - verdict.lower < 1e-10, round(verdict.steps, 6)
        (True, 10.549704)
    """
    t, proved = model.tables, chain_bounds(model.tables)
    lost = not model.reach.reachable[t.states].all()
    if proved is None and lost and question.rewards != "none":
        t = part_of(t, model.reach.reachable).tables
        proved = chain_bounds(t)
    if proved is None or proved.reach is None:
        endless = can_go_on(model, question, Policy.uniform(model))
        if endless := endless or must_go_on(model, question):
            return endless
        found = _endless(model, question) or leaving_of_chain(model, question)
        if found is not None:
            return found
        raise CertificateError(f"{model.name}: the expected steps cannot be proved to be finite")
    gain = question.transition_rewards(t)
    reward = expectations(rows_of_model(t)._replace(reward=gain), everywhere=True).reward
    root = question.root_values(t)
    with np.errstate(over="ignore", invalid="ignore"):
        above = _bound(t, gain, np.where(t.states, reward, 0.0), proved, 1.0)
        below = _bound(t, gain, np.where(t.states, reward, 0.0), proved, -1.0)
    ends = (-np.inf, np.inf)
    if np.isfinite(above).all() and np.isfinite(below).all():
        ends = _start(model, root, below, proved, -1.0), _start(model, root, above, proved, 1.0)
    if not np.isfinite(ends).all():
        raise CertificateError(f"{model.name}: its totals are too large for floats")
    low, high = ends if question.sign > 0 else (-ends[1], -ends[0])
    start = [t.start_component] * len(t.start_prob)
    return question.certificate(
        model,
        (low, high),
        points=[Point(c, above[own].tolist(), _calls(t, own, mixed=True)) for c, own in _blocks(t)],
        pieces=[_piece(t, c, below[own], proved.reach[own]) for c, own in _blocks(t)],
        steps=proved.steps.tolist(),
        start_points=[[(c, 1.0)] for c in start],
        start_pieces=start,
        reach=reach_rows(t, proved.reach),
    )


def _endless(model: RMDP, question: Question) -> Certificate | None:
    """The certificate of an infinite total of either sign."""
    found = (may_not_end(model, question, total) for total in (math.inf, -math.inf))
    return next((each for each in found if each is not None), None)


def _blocks(t: Tables) -> list[tuple[int, slice]]:
    """Components and their vertices."""
    return [(c, slice(*map(int, t.component_start[c : c + 2]))) for c in range(t.n_components)]


def _calls(t: Tables, own: slice, *, mixed: bool) -> list[Any]:
    """For every call port of a component the point or piece of the callee."""
    ports = np.flatnonzero(t.vertex_kind[own] == CALL) + own.start
    callees: list[int] = t.box_component[t.vertex_box[ports]].tolist()
    return [[(c, 1.0)] for c in callees] if mixed else callees


def _piece(t: Tables, c: int, rewards: Floats, reach: Floats) -> Piece:
    own = slice(*map(int, t.component_start[c : c + 2]))
    weights = None if t.n_exits[c] == 1 else reach[:, : t.n_exits[c]].tolist()
    return Piece(c, [0] * len(rewards), _calls(t, own, mixed=False), rewards.tolist(), weights)


def _bound(t: Tables, gain: Floats, x: Floats, proved: StepBounds, sign: float) -> Floats:
    """Values that are on one side of their equations: x plus or minus a multiple of d.

    By d >= 1 + sum p d, and at calls d >= 1 + d(en) + rise(d(ret)), the multiple is what the values
    fall short by, rounding included. (Bounds are doubled to have slack at calls too.)
    """
    d = 2 * proved.steps + (t.vertex_kind == CALL)
    calls = t.vertex_kind == CALL
    worth, error = call_worth(t, x, proved.reach, np.maximum if sign > 0 else np.minimum)
    x = x.copy()
    x[calls] = worth
    short = float(_shortfall(t, gain, x, sign).max(initial=0.0))
    shift: Floats = sign * 2 * (short + float(error.max(initial=0.0))) * d
    return x + shift


def _shortfall(t: Tables, gain: Floats, x: Floats, sign: float) -> Floats:
    """By how much values may be on the wrong side of the equation of each action.

    As the probabilities of an action add up to 1, their rounding counts by what a transition
    changes. That of gains and values, also of values that are shifted later, counts by their size.
    """
    start, after = t.transition_start[:-1], gain + x[t.target]
    own = np.repeat(x[t.action_vertex], np.diff(t.transition_start))
    change = after - own
    rounded = np.abs(gain) + np.abs(after) + np.abs(own) + np.abs(x[t.target])
    terms = np.diff(t.transition_start) + 4
    short = np.maximum(sign * np.add.reduceat(t.prob * change, start), 0.0)
    short += terms * _UNIT * np.add.reduceat(t.prob * np.abs(change), start)
    short += _UNIT * np.add.reduceat(t.prob * rounded, start)
    result: Floats = short * (1 + terms * _UNIT) + terms * _LEAST
    return result


def _start(model: RMDP, root: Floats, x: Floats, proved: StepBounds, sign: float) -> float:
    """The bound at the start, rounded outwards."""
    assert proved.reach is not None
    t = model.tables
    first = int(t.component_start[t.start_component])
    worths, total = list(map(Fraction, root.tolist())), Fraction(0)
    worst = max(worths) if sign > 0 else min(worths)
    for entry in np.flatnonzero(t.start_prob > 0).tolist():
        p = [Fraction(each) for each in proved.reach[first + entry, : len(root)].tolist()]
        p = [Fraction(1)] if len(root) == 1 else p
        left = sum(each * worth for each, worth in zip(p, worths, strict=True))
        value = Fraction(float(x[first + entry])) + left + (1 - sum(p)) * worst
        total += model.exact.start(entry) * value
    return float_above(total) if sign > 0 else float_below(total)
