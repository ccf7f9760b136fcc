"""Compiled loops over recursive Markov chains: what can be reached, and what is to be expected."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import EXITS, STEP
from recurl.solving.rows import Rows


@numba.njit(cache=True)
def can_leave(rows: Rows, order: np.ndarray) -> np.ndarray:
    """Which exits can be reached from which places, as a mask ``[n, K]``."""
    r = rows
    can = np.zeros((len(r.n_exits), r.n_exits.max()), np.bool_)
    changed = True
    while changed:
        changed = False
        for v in order:
            for i in range(
                r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
            ):
                at = r.landing[i]
                for k in range(r.n_exits[v]):
                    if can[v, k]:
                        continue
                    if r.move[i] == STEP:
                        can[v, k] = can[at, k]
                    elif r.move[i] == EXITS:
                        can[v, k] = at == k
                    else:
                        for j in range(r.n_returns[i]):
                            can[v, k] = can[v, k] or (can[at, j] and can[r.push[i] + j, k])
                    changed = changed or can[v, k]
    return can


@numba.njit(cache=True)
def visited(rows: Rows, can: np.ndarray) -> np.ndarray:
    """Mask of the places that a run from the start visits with positive probability."""
    r = rows
    seen = np.zeros(len(can), np.bool_)
    queue = np.empty(len(can), np.int32)
    size = done = 0
    for n in range(len(r.start)):
        if r.start_prob[n] > 0:
            seen[r.start[n]] = True
            queue[size] = r.start[n]
            size += 1
    while done < size:
        v = queue[done]
        done += 1
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            if r.move[i] == EXITS:
                continue
            for j in range(-1, r.n_returns[i]):
                at = r.landing[i] if j < 0 else r.push[i] + j
                if (j < 0 or can[r.landing[i], j]) and not seen[at]:
                    seen[at] = True
                    queue[size] = at
                    size += 1
    return seen


@numba.njit(cache=True)
def image(
    rows: Rows, x: np.ndarray, w: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F(x), the derivative F'(x) w and a bound on the rounding error of F(x), on all pairs."""
    r = rows
    value, slope, error = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for v in places:
        mass, terms = 0.0, 0
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            p = r.prob[i]
            mass += p
            terms += max(1, r.n_returns[i])
            at = r.landing[i]
            for k in range(r.n_exits[v]):
                if r.move[i] == STEP:
                    value[v, k] += p * x[at, k]
                    slope[v, k] += p * w[at, k]
                elif r.move[i] == EXITS:
                    value[v, k] += p * (at == k)
                else:
                    for j in range(r.n_returns[i]):
                        back = r.push[i] + j
                        value[v, k] += p * x[at, j] * x[back, k]
                        if x[at, j] > 0.0:
                            slope[v, k] += p * x[at, j] * w[back, k]
                        if x[back, k] > 0.0:
                            slope[v, k] += p * x[back, k] * w[at, j]
        for k in range(r.n_exits[v]):
            error[v, k] = (terms + 8) * 2.3e-16 * value[v, k] + abs(1.0 - mass)
    return value, slope, error


@numba.njit(cache=True)
def step_system(
    rows: Rows, leave: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR matrix of what is still to come: entry and returns of a call, by their probabilities."""
    r = rows
    size = len(r.prob) + r.n_returns.sum()
    start = np.zeros(len(r.n_exits) + 1, np.int32)
    column, weight = np.empty(size, np.int32), np.empty(size)
    inside = np.zeros(len(r.n_exits), np.bool_)
    inside[places] = True
    size = 0
    for v in range(len(r.n_exits)):
        if inside[v]:
            for i in range(
                r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
            ):
                if r.move[i] == EXITS:
                    continue
                column[size], weight[size] = r.landing[i], r.prob[i]
                size += 1
                for j in range(r.n_returns[i]):
                    if leave[r.landing[i], j] > 0.0:
                        column[size] = r.push[i] + j
                        weight[size] = r.prob[i] * leave[r.landing[i], j]
                        size += 1
        start[v + 1] = size
    return start, column[:size], weight[:size]


@numba.njit(cache=True)
def chain_margins(
    rows: Rows,
    leave: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    steps: np.ndarray,
    reward: np.ndarray,
    places: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """At each place, d - A d at least (for the greatest weights), and how far rewards are off.

    Rounding errors and the width of the leave probabilities are on the careful side of both.
    """
    r = rows
    margin, off = np.empty(len(places)), np.empty(len(places))
    for n in range(len(places)):
        v = places[n]
        to_come, expected, width, size, mass, largest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        terms = 8
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            p, at = r.prob[i], r.landing[i]
            mass += p
            terms += 1 + r.n_returns[i]
            later, total = 0.0, r.reward[i]
            absolute = abs(total)
            if r.move[i] != EXITS:
                later += steps[at]
                total += reward[at]
                absolute += abs(reward[at])
            for j in range(r.n_returns[i]):
                back = r.push[i] + j
                if upper[at, j] > 0.0:
                    later += upper[at, j] * steps[back]
                    total += leave[at, j] * reward[back]
                    absolute += abs(leave[at, j] * reward[back])
                    width += p * (upper[at, j] - lower[at, j]) * abs(reward[back])
            to_come += p * later
            expected += p * total
            size += p * absolute
            largest = max(largest, absolute, later)
        rounding = terms * 2.3e-16
        residue = abs(1.0 - mass) * largest
        margin[n] = steps[v] - to_come - rounding * (to_come + steps[v]) - residue
        off[n] = abs(reward[v] - expected) + width + rounding * (size + abs(reward[v])) + residue
    return margin, off
