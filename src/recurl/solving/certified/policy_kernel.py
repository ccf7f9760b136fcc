"""Compiled evaluation of a policy whose contexts are the points: its pieces and its visits.

In context x the policy takes ``action`` and calls into context ``callee``. As a function of the
exit values v, what it earns from vertex q is at least R(q) + p(q).v + (1 - sum p(q)) min v, with p
the probabilities to reach each exit. A small ``slack`` taken off every equation makes the computed
numbers satisfy the inequalities of a certificate in spite of rounding.
"""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALL, EXIT, Tables
from recurl.solving.certified.kernel import NOISE, best_action
from recurl.solving.certified.points import CLOUD, Points

_SWEEPS = 10_000


@numba.njit(cache=True, nogil=True, inline="always")
def _called(t: Tables, pts: Points, callee: np.ndarray, slot: int, q: int) -> int:
    """Entry number at which the call at a slot continues."""
    return pts.entry[callee[slot]] + t.vertex_port[q]


@numba.njit(cache=True, nogil=True)
def reach_step(
    t: Tables,
    pts: Points,
    order: np.ndarray,
    action: np.ndarray,
    callee: np.ndarray,
    entries: np.ndarray,
    p: np.ndarray,
    slack: float,
    tol: float,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Find p of some contexts, calls reaching exits as ``entries`` says; entries go to ``out``."""
    for x in range(begin, end):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        if t.n_exits[c] == 1:
            p[shift + t.component_start[c] : shift + t.component_start[c + 1], 0] = 1.0
        else:
            for k in range(t.n_exits[c]):
                own = shift + t.component_start[c] + t.n_entries[c]
                p[own + k, k] = 1.0
                _reach_exit(t, pts, order, action, callee, entries, p, slack, tol, x, k)
        for entry in range(t.n_entries[c]):
            for k in range(p.shape[1]):
                out[pts.entry[x] + entry, k] = p[pts.slot[x] + entry, k]


@numba.njit(cache=True, nogil=True)
def _reach_exit(
    t: Tables,
    pts: Points,
    order: np.ndarray,
    action: np.ndarray,
    callee: np.ndarray,
    entries: np.ndarray,
    p: np.ndarray,
    slack: float,
    tol: float,
    x: int,
    k: int,
) -> None:
    c = pts.component[x]
    shift = pts.slot[x] - t.component_start[c]
    for _ in range(_SWEEPS):
        change = 0.0
        for place in range(t.component_start[c], t.component_start[c + 1]):
            q = order[place]
            if t.vertex_kind[q] == EXIT:
                continue
            total = -slack
            if t.vertex_kind[q] == CALL:
                called = _called(t, pts, callee, shift + q, q)
                ret = shift + t.box_return[t.vertex_box[q]]
                for j in range(t.n_exits[t.box_component[t.vertex_box[q]]]):
                    total += entries[called, j] * p[ret + j, k]
            else:
                a = t.action_start[q] + action[shift + q]
                for i in range(t.transition_start[a], t.transition_start[a + 1]):
                    total += t.prob[i] * p[shift + t.target[i], k]
            total = min(max(total, 0.0), 1.0)
            change = max(change, abs(total - p[shift + q, k]))
            p[shift + q, k] = total
        if change <= tol:
            break


@numba.njit(cache=True, nogil=True, inline="always")
def _reward_of_call(
    t: Tables,
    pts: Points,
    callee: np.ndarray,
    reach: np.ndarray,
    entries: np.ndarray,
    r: np.ndarray,
    shift: int,
    q: int,
) -> float:
    """R_c + sum p_c R_ret + (1 - sum p_c) min R_ret."""
    called = _called(t, pts, callee, shift + q, q)
    ret = shift + t.box_return[t.vertex_box[q]]
    total, rest, least = entries[called], 1.0, np.inf
    for j in range(t.n_exits[t.box_component[t.vertex_box[q]]]):
        total += reach[called, j] * r[ret + j]
        rest -= reach[called, j]
        least = min(least, r[ret + j])
    return total + max(rest, 0.0) * least


@numba.njit(cache=True, nogil=True)
def reward_step(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    order: np.ndarray,
    action: np.ndarray,
    callee: np.ndarray,
    reach: np.ndarray,
    entries: np.ndarray,
    r: np.ndarray,
    slack: float,
    tol: float,
    out: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Find R of some contexts, calls earning what ``entries`` says; entries go to ``out``."""
    for x in range(begin, end):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for _ in range(_SWEEPS):
            change = 0.0
            for place in range(t.component_start[c], t.component_start[c + 1]):
                q = order[place]
                if t.vertex_kind[q] == EXIT:
                    continue
                if t.vertex_kind[q] == CALL:
                    total = _reward_of_call(t, pts, callee, reach, entries, r, shift, q) - slack
                else:
                    a = t.action_start[q] + action[shift + q]
                    total = gain[a] - slack
                    for i in range(t.transition_start[a], t.transition_start[a + 1]):
                        total += t.prob[i] * r[shift + t.target[i]]
                change = max(change, abs(total - r[shift + q]) - NOISE * abs(total))
                r[shift + q] = total
            if change <= tol:
                break
        for entry in range(t.n_entries[c]):
            out[pts.entry[x] + entry] = r[pts.slot[x] + entry]


@numba.njit(cache=True, nogil=True)
def lower_excess(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    action: np.ndarray,
    callee: np.ndarray,
    p: np.ndarray,
    r: np.ndarray,
    reach: np.ndarray,
    rewards: np.ndarray,
) -> tuple[float, float]:
    """The most by which R, and p, exceed what their own choices give; negative is sound."""
    worst_r = worst_p = -np.inf
    after = np.empty(p.shape[1])
    for x in range(len(pts.component)):
        c = pts.component[x]
        exits = t.n_exits[c]
        shift = pts.slot[x] - t.component_start[c]
        for q in range(t.component_start[c], t.component_start[c + 1]):
            if t.vertex_kind[q] == EXIT:
                continue
            after[:] = 0.0
            if t.vertex_kind[q] == CALL:
                called = _called(t, pts, callee, shift + q, q)
                total = _reward_of_call(t, pts, callee, reach, rewards, r, shift, q)
                ret = shift + t.box_return[t.vertex_box[q]]
                for j in range(t.n_exits[t.box_component[t.vertex_box[q]]]):
                    for k in range(exits):
                        after[k] += reach[called, j] * p[ret + j, k]
            else:
                a = t.action_start[q] + action[shift + q]
                total = gain[a]
                for i in range(t.transition_start[a], t.transition_start[a + 1]):
                    total += t.prob[i] * r[shift + t.target[i]]
                    for k in range(exits):
                        after[k] += t.prob[i] * p[shift + t.target[i], k]
            worst_r = max(worst_r, r[shift + q] - total)
            for k in range(exits if exits > 1 else 0):
                if p[shift + q, k] > 0.0:
                    worst_p = max(worst_p, p[shift + q, k] - after[k])
    return worst_r, worst_p


@numba.njit(cache=True, nogil=True)
def lower_values(t: Tables, pts: Points, p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """What the policy earns in each slot with the exits worth the context's vector."""
    value = np.empty(len(r))
    for x in range(len(pts.component)):
        c = pts.component[x]
        exits = t.n_exits[c]
        least = pts.vector[x, :exits].min()
        for slot in range(pts.slot[x], pts.slot[x + 1]):
            total, rest = r[slot], 1.0
            for k in range(exits):
                total += p[slot, k] * pts.vector[x, k]
                rest -= p[slot, k]
            value[slot] = total + rest * least
    return value


@numba.njit(cache=True, nogil=True)
def _piece_at(
    reach: np.ndarray, rewards: np.ndarray, entry: int, v: np.ndarray, exits: int
) -> float:
    """R + p.v + (1 - sum p) min v of an entry at exit values v."""
    total, rest, least = rewards[entry], 1.0, np.inf
    for k in range(exits):
        total += reach[entry, k] * v[k]
        rest -= reach[entry, k]
        least = min(least, v[k])
    return total + rest * least


@numba.njit(cache=True, nogil=True)
def improve(
    t: Tables,
    pts: Points,
    gain: np.ndarray,
    nodes: np.ndarray,
    value: np.ndarray,
    reach: np.ndarray,
    rewards: np.ndarray,
    action: np.ndarray,
    callee: np.ndarray,
    margin: float,
) -> int:
    """Switch to better callees and actions where they gain more than ``margin``; counts them."""
    switched = 0
    v = np.empty(pts.vector.shape[1])
    for x in range(len(pts.component)):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for q in range(t.component_start[c], t.component_start[c + 1]):
            slot = shift + q
            if t.vertex_kind[q] == EXIT:
                continue
            if t.vertex_kind[q] == CALL:
                best = _best_callee(
                    t,
                    pts,
                    nodes[pts.call[x] + q - pts.call_vertex[c]],
                    value,
                    reach,
                    rewards,
                    callee,
                    slot,
                    q,
                    v,
                    margin,
                )
            else:
                best, gained = best_action(t, gain, value, shift, q)
                if gained <= value[slot] + margin:
                    best = action[slot]
            if t.vertex_kind[q] == CALL:
                switched += best != callee[slot]
                callee[slot] = best
            else:
                switched += best != action[slot]
                action[slot] = best
    return switched


@numba.njit(cache=True, nogil=True)
def _best_callee(
    t: Tables,
    pts: Points,
    nodes: np.ndarray,
    value: np.ndarray,
    reach: np.ndarray,
    rewards: np.ndarray,
    callee: np.ndarray,
    slot: int,
    q: int,
    v: np.ndarray,
    margin: float,
) -> int:
    box = t.vertex_box[q]
    c, port = t.box_component[box], t.vertex_port[q]
    exits = t.n_exits[c]
    for k in range(exits):
        v[k] = value[slot - q + t.box_return[box] + k]
    best = callee[slot]
    most = _piece_at(reach, rewards, pts.entry[best] + port, v, exits) + margin
    count = pts.first[c + 1] - pts.first[c] if pts.mode[c] == CLOUD else len(nodes)
    for j in range(count):
        x = pts.first[c] + j if pts.mode[c] == CLOUD else nodes[j]
        if x >= 0:
            found = _piece_at(reach, rewards, pts.entry[x] + port, v, exits)
            if found > most:
                best, most = x, found
    return best


@numba.njit(cache=True, nogil=True)
def through_calls(
    t: Tables,
    pts: Points,
    called: np.ndarray,
    entries: np.ndarray,
    p: np.ndarray,
    out: np.ndarray,
) -> None:
    """sum_j entries[called, j] p(ret_j) at each call: how p moves there if entries move so."""
    for x in range(len(pts.component)):
        c = pts.component[x]
        shift = pts.slot[x] - t.component_start[c]
        for i in range(pts.call[x], pts.call[x + 1]):
            box = t.vertex_box[pts.call_vertex[c] + i - pts.call[x]]
            out[i] = 0.0
            for j in range(t.n_exits[t.box_component[box]]):
                for k in range(t.n_exits[c]):
                    out[i, k] += entries[called[i], j] * p[shift + t.box_return[box] + j, k]
