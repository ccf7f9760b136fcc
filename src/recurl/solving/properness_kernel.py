"""Compiled search for step bounds: the least x with x(q) = 1 + max_a sum p x(q').

A transition that calls is worth ``x(entry) + max_k (x(return k) - e(exit k))``, one that leaves
``e(exit)``, where e are given *offsets* of the exits (all 0 for 1-exit models).
"""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALLS, EXITS, STEP
from recurl.solving.linear_kernel import HUGE, solve_monotone
from recurl.solving.rows import Rows

FINITE, INFINITE, INHERITED, OPEN = 0, 1, 2, 3
"""A block has a finite solution; none of its own; none as it refers to such a block; who knows."""


@numba.njit(cache=True)
def place_graph(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """CSR graph of which places the equation of each place speaks of."""
    r = rows
    n = len(r.n_exits)
    start = np.zeros(n + 1, np.int32)
    target = np.empty(len(r.prob) + r.n_returns.sum(), np.int32)
    size = 0
    for v in range(n):
        for i in range(
            r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
        ):
            if r.move[i] != EXITS:
                target[size] = r.landing[i]
                size += 1
            for k in range(r.n_returns[i]):
                target[size] = r.push[i] + k
                size += 1
        start[v + 1] = size
    return start, target[:size]


@numba.njit(cache=True)
def stay_forever(rows: Rows, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places from which some policy surely never ends, and its actions there.

    The greatest set in which every place has an action that leads into the set only; a call does if
    its entry is in the set, or else every return place.
    """
    r = rows
    stays = np.empty(len(r.n_exits), np.bool_)
    for v in range(len(stays)):
        stays[v] = r.action_start[v] < r.action_start[v + 1]
    action = np.full(len(stays), -1, np.int32)
    changed = True
    while changed:
        changed = False
        for v in order:
            if not stays[v]:
                continue
            action[v] = _staying_action(r, stays, v)
            if action[v] < 0:
                stays[v] = False
                changed = True
    return stays, action


@numba.njit(cache=True)
def _staying_action(r: Rows, stays: np.ndarray, v: int) -> int:
    for a in range(r.action_start[v], r.action_start[v + 1]):
        inside = True
        for i in range(r.transition_start[a], r.transition_start[a + 1]):
            if r.move[i] == EXITS:
                inside = False
            elif not stays[r.landing[i]]:
                returns = r.n_returns[i] > 0
                for k in range(r.n_returns[i]):
                    returns = returns and stays[r.push[i] + k]
                inside = inside and returns
        if inside:
            return int(a - r.action_start[v])
    return -1


@numba.njit(cache=True)
def backup(
    rows: Rows,
    x: np.ndarray,
    e: np.ndarray,
    block: np.ndarray,
    action: np.ndarray,
    value: np.ndarray,
    in_place: bool,
) -> None:
    """Best action (first of equals) and value 1 + max_a sum p x(q') of each place of a block.

    In place, x takes each value at once. All in one loop, as passing rows to another function would
    cost more than the work that it does.
    """
    r = rows
    for n in range(len(block)):
        v = block[n]
        best, most = -1, -np.inf
        for a in range(r.action_start[v], r.action_start[v + 1]):
            total = 1.0
            for i in range(r.transition_start[a], r.transition_start[a + 1]):
                if r.move[i] == STEP:
                    total += r.prob[i] * x[r.landing[i]]
                elif r.move[i] == EXITS:
                    total += r.prob[i] * e[r.exits[i]]
                else:
                    back = -np.inf
                    for k in range(r.n_returns[i]):
                        back = max(back, x[r.push[i] + k] - e[r.exits[i] + k])
                    total += r.prob[i] * (x[r.landing[i]] + back)
            if total > most:
                best, most = a, total
        action[n], value[n] = best, most
        if in_place:
            x[v] = most


@numba.njit(cache=True)
def relax(rows: Rows, x: np.ndarray, e: np.ndarray, block: np.ndarray, sweeps: int) -> float:
    """Gauss-Seidel sweeps from below over a block; the least growth of an increase in the last two.

    With z the increase by one sweep and z' that by the next, z' <= G z for the sweep G of the
    actions that are best now. Hence z' >= z everywhere shows that G has no radius below 1.
    """
    action, value = np.empty(len(block), np.int32), np.empty(len(block))
    before, now = np.zeros(len(block)), np.zeros(len(block))
    for _ in range(sweeps):
        before, now = now, before
        for n in range(len(block)):
            now[n] = x[block[n]]
        backup(rows, x, e, block, action, value, True)
        for n in range(len(block)):
            now[n] = value[n] - now[n]
    growth = np.inf
    for n in range(len(block)):
        if before[n] > 0:
            growth = min(growth, now[n] / before[n])
    return growth


@numba.njit(cache=True)
def margins(rows: Rows, x: np.ndarray, block: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """Scales between which the solution of a block lies, all offsets 0.

    With A the part of the equations inside the block and b the rest, let c be the least and C the
    greatest value over places of min_a (x - A_a x) / b_a. If c > 0 then x / c >= A (x / c) + b for
    all actions, so that x / c is an upper bound; x / C is a lower bound likewise.
    """
    r = rows
    low, high = np.inf, -np.inf
    for v in block:
        least = np.inf
        for a in range(r.action_start[v], r.action_start[v + 1]):
            inside, outside = 0.0, 1.0
            for i in range(r.transition_start[a], r.transition_start[a + 1]):
                p = r.prob[i]
                own, other = _split_worth(r, x, label, i, label[v])
                inside += p * own
                outside += p * other
            least = min(least, (x[v] - inside) / outside)
        low, high = min(low, least), max(high, least)
    return low, high


@numba.njit(cache=True)
def _split_worth(
    r: Rows, x: np.ndarray, label: np.ndarray, i: int, own: int
) -> tuple[float, float]:
    """What a transition leads to inside and outside of a block, at most."""
    if r.move[i] == EXITS:
        return 0.0, 0.0
    at = r.landing[i]
    inside, outside = (x[at], 0.0) if label[at] == own else (0.0, x[at])
    returns_in = returns_out = 0.0
    for k in range(r.n_returns[i]):
        at = r.push[i] + k
        if label[at] == own:
            returns_in = max(returns_in, x[at])
        else:
            returns_out = max(returns_out, x[at])
    return inside + returns_in, outside + returns_out


@numba.njit(cache=True)
def block_system(
    rows: Rows,
    x: np.ndarray,
    e: np.ndarray,
    block: np.ndarray,
    local: np.ndarray,
    choice: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Entries (row, column, value) of A, and b, in the equations x = A x + b of chosen actions.

    Places outside of the block (``local`` is -1 there) count by their values x. Of the returns of a
    call the one that is worth most by x is taken.
    """
    r = rows
    count = 0
    for v in block:
        a = choice[v]
        count += 2 * (r.transition_start[a + 1] - r.transition_start[a])
    row, column = np.empty(count, np.int32), np.empty(count, np.int32)
    value, b = np.empty(count), np.ones(len(block))
    size = 0
    for n in range(len(block)):
        a = choice[block[n]]
        for i in range(r.transition_start[a], r.transition_start[a + 1]):
            if r.move[i] == EXITS:
                b[n] += r.prob[i] * e[r.exits[i]]
                continue
            second = -1
            if r.move[i] == CALLS:
                k = _best_return(r, x, e, i)
                second = r.push[i] + k
                b[n] -= r.prob[i] * e[r.exits[i] + k]
            for at in (np.int64(r.landing[i]), np.int64(second)):
                if at < 0:
                    continue
                if local[at] < 0:
                    b[n] += r.prob[i] * x[at]
                else:
                    row[size], column[size], value[size] = n, local[at], r.prob[i]
                    size += 1
    return row[:size], column[:size], value[:size], b


@numba.njit(cache=True)
def _best_return(r: Rows, x: np.ndarray, e: np.ndarray, i: int) -> int:
    best = 0
    for k in range(1, r.n_returns[i]):
        if x[r.push[i] + k] - e[r.exits[i] + k] > x[r.push[i] + best] - e[r.exits[i] + best]:
            best = k
    return best


@numba.njit(cache=True)
def improve(
    rows: Rows, x: np.ndarray, e: np.ndarray, block: np.ndarray, choice: np.ndarray, least: float
) -> bool:
    """Take better actions in a block, by the values x; whether any gains more than ``least`` of x.

    A place without a choice takes its best action in any case.
    """
    action, value = np.empty(len(block), np.int32), np.empty(len(block))
    backup(rows, x, e, block, action, value, False)
    changed = False
    for n in range(len(block)):
        v = block[n]
        gains = value[n] > x[v] * (1 + least)
        changed = changed or gains
        if gains or choice[v] < 0:
            choice[v] = action[n]
    return changed


@numba.njit(cache=True)
def iterate_policies(
    rows: Rows,
    x: np.ndarray,
    e: np.ndarray,
    block: np.ndarray,
    local: np.ndarray,
    choice: np.ndarray,
) -> int:
    """Policy iteration on a small block, with dense elimination."""
    for v in block:
        choice[v] = -1
    improve(rows, x, e, block, choice, 0.0)
    for _ in range(100 + len(block)):
        row, column, value, b = block_system(rows, x, e, block, local, choice)
        matrix = np.zeros((len(block), len(block)))
        for n in range(len(row)):
            matrix[row[n], column[n]] += value[n]
        solution = b.reshape((-1, 1))
        if not solve_monotone(matrix, solution):
            return INFINITE
        for n in range(len(block)):
            if solution[n, 0] > HUGE:
                return INFINITE
            x[block[n]] = solution[n, 0]
        if not improve(rows, x, e, block, choice, 1e-12):
            return FINITE
    return OPEN


@numba.njit(cache=True)
def solve_blocks(
    rows: Rows,
    x: np.ndarray,
    e: np.ndarray,
    order: np.ndarray,
    block_start: np.ndarray,
    first: int,
    local: np.ndarray,
    choice: np.ndarray,
    status: np.ndarray,
    largest: int,
) -> int:
    """Solve blocks from ``first`` on, up to the first one that is larger than ``largest``.

    A place that depends on an infinite one is infinite. Returns the number of the block that is
    left to somebody else, or the number of blocks.
    """
    for b in range(first, len(block_start) - 1):
        block = order[block_start[b] : block_start[b + 1]]
        if rows.action_start[block[0]] == rows.action_start[block[0] + 1]:
            continue
        action, value = np.empty(len(block), np.int32), np.empty(len(block))
        backup(rows, x, e, block, action, value, False)
        for n in range(len(block)):
            if max(value[n], x[block[n]]) == np.inf:
                status[b] = INHERITED
        if status[b] == INHERITED:
            _fill(x, block, np.inf)
            continue
        if len(block) == 1 and not _self_reference(rows, block[0]):
            x[block[0]], choice[block[0]] = value[0], action[0]
            continue
        if len(block) > largest:
            return b
        for n in range(len(block)):
            local[block[n]] = n
        status[b] = iterate_policies(rows, x, e, block, local, choice)
        _fill(local, block, -1)
        if status[b] != FINITE:
            _fill(x, block, np.inf)
    return len(block_start) - 1


@numba.njit(cache=True)
def _fill(array: np.ndarray, block: np.ndarray, value: float) -> None:
    for v in block:
        array[v] = value


@numba.njit(cache=True)
def _self_reference(r: Rows, v: int) -> bool:
    for i in range(
        r.transition_start[r.action_start[v]], r.transition_start[r.action_start[v + 1]]
    ):
        if r.move[i] != EXITS and r.landing[i] == v:
            return True
        if r.push[i] >= 0 and r.push[i] <= v < r.push[i] + r.n_returns[i]:
            return True
    return False


@numba.njit(cache=True)
def smallest_slack(rows: Rows, x: np.ndarray, e: np.ndarray, reach: np.ndarray) -> float:
    """Least of x(q) - (1 + sum p x(q')) over all actions of finite places, less rounding errors.

    A call is worth ``x(entry) + reach.t + (1 - sum reach) max t``, ``t = x(returns) - e(exits)``.
    What is computed here differs from the exact sum by rounding, and by the residue of rows that
    do not sum to 1 in floats: both are bounded and taken off.
    """
    r = rows
    least = np.inf
    for v in range(len(r.n_exits)):
        if x[v] == np.inf:
            continue
        for a in range(r.action_start[v], r.action_start[v + 1]):
            total, mass, size, largest = 1.0, 0.0, 1.0, 0.0
            count = r.transition_start[a + 1] - r.transition_start[a]
            for i in range(r.transition_start[a], r.transition_start[a + 1]):
                value = e[r.exits[i]] if r.move[i] == EXITS else x[r.landing[i]]
                if r.move[i] == CALLS:
                    back, others = -np.inf, 1.0
                    for k in range(r.n_returns[i]):
                        change = x[r.push[i] + k] - e[r.exits[i] + k]
                        back = max(back, change)
                        value += reach[r.landing[i], k] * change
                        others -= reach[r.landing[i], k]
                    count += r.n_returns[i]
                    value += max(others, 0.0) * back
                    size += r.prob[i] * abs(back)
                total += r.prob[i] * value
                mass += r.prob[i]
                size += r.prob[i] * abs(value)
                largest = max(largest, abs(value))
            error = (count + 8) * 2.3e-16 * (size + x[v]) + abs(1.0 - mass) * largest
            least = min(least, x[v] - total - error)
    return least
