"""Infinite optima: a policy that can go on and is paid for it, or policies that must and pay.

*Visits* f >= 0, 0 at exits and not 0 at the start, with ``f(q) <= sum p f(q')`` and
``f(call) <= f(en) + min f(ret)``, show that expected steps are infinite: those of a policy if this
holds for its actions, those of all policies if it holds for all actions. With a potential that
falls, or one that grows along a policy, totals are infinite too. The proof is in
docs/explanation/certificates.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.certificate import Certificate, Piece
from recurl.model.tables import CALL, EXIT, Floats, Ints, Mask, Tables, runs
from recurl.policy import RANDOM
from recurl.solving.budget import seconds_left
from recurl.solving.offsets import LARGEST_PROGRAM
from recurl.solving.outward import Indices
from recurl.solving.potential import falling, potential

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy
    from recurl.solving.question import Question

_CLOSE, _DENOMINATOR = 1e-9, 100_000


def must_go_on(model: RMDP, question: Question) -> Certificate | None:
    """The certificate that every policy takes infinitely many steps and pays for them, or None.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("pit").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("fall", reward=-1).to("pit", 0.5).to("out", 0.5)
        >>> model = builder.at("pit").action("wait", reward=-1).to("pit").build()
        >>> recurl.verify(model, must_go_on(model, recurl.Question())).upper
        -inf
    """
    t, seen = model.tables, model.reach.reachable
    falls = potential(model, question)
    if falls is None or t.n_vertices > LARGEST_PROGRAM:
        return None
    taken = np.flatnonzero(seen[t.action_vertex])
    visits = _visits(model, taken, np.arange(len(taken)), seen)
    if visits is None:
        return None
    return question.certificate(
        model,
        (None, None),
        infinite=_infinite(question, -1.0),
        potential=falls.values.tolist(),
        visits=visits.tolist(),
    )


def can_go_on(model: RMDP, question: Question, policy: Policy) -> Certificate | None:
    """The certificate that a policy takes infinitely many steps and is paid for them, or None.

    Where the policy tosses a coin, the action that leads best to where it goes on is taken.
    """
    t = model.tables
    if t.n_vertices > LARGEST_PROGRAM or policy.kind != "stackless":
        return None
    visits = _own_visits(model, _allowed(t, policy.actions))
    if visits is None:
        return None
    chosen = _best(t, _allowed(t, policy.actions), visits)
    actions = (t.action_start[:-1] + chosen)[t.states]
    visits = _own_visits(model, actions)
    if visits is None:
        return None
    taken = np.zeros(t.n_actions, np.bool_)
    taken[actions[visited(t, actions)[t.states]]] = True
    grows = falling(t, -question.transition_rewards(t), taken, level=True)
    if grows is None:
        return None
    pieces = [_piece(t, c, chosen, 0.0 - grows.values, visits) for c in range(t.n_components)]
    start = [t.start_component] * len(t.start_prob)
    return question.certificate(
        model,
        (None, None),
        infinite=_infinite(question, 1.0),
        pieces=pieces,
        start_pieces=start,
    )


def _own_visits(model: RMDP, actions: Ints) -> Floats | None:
    """Visits of a policy that takes these actions, each as often if there are several."""
    t = model.tables
    seen = visited(t, actions)
    used = actions[seen[t.action_vertex[actions]]]
    row = np.unique(t.action_vertex[used], return_inverse=True)[1]
    return _visits(model, used, row, seen)


def _infinite(question: Question, value: float) -> str:
    """The infinite total that a certificate claims, of the sign of a value that is maximised."""
    return "inf" if value * question.sign > 0 else "-inf"


def _piece(t: Tables, c: int, chosen: Ints, rewards: Floats, visits: Floats) -> Piece:
    """The piece of a component: one for every call of it."""
    own = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
    ports = np.flatnonzero(t.vertex_kind[own] == CALL) + own.start
    weights = None
    if t.n_exits[c] > 1:
        weights = [[0.0] * int(t.n_exits[c])] * (own.stop - own.start)
    return Piece(
        c,
        chosen[own].tolist(),
        t.box_component[t.vertex_box[ports]].tolist(),
        rewards[own].tolist(),
        weights,
        visits=visits[own].tolist(),
    )


def _allowed(t: Tables, actions: Ints) -> Ints:
    """Actions that a policy takes, all where it tosses a coin."""
    local = np.arange(t.n_actions) - t.action_start[:-1][t.action_vertex]
    chosen = actions[t.action_vertex]
    return np.flatnonzero((chosen == RANDOM) | (chosen == local)).astype(np.int32)


def _best(t: Tables, allowed: Ints, visits: Floats) -> Ints:
    """The allowed action of every vertex that keeps most visits, counted within the vertex."""
    value = np.full(t.n_actions, -np.inf)
    sums = np.add.reduceat(t.prob * visits[t.target], t.transition_start[:-1])
    value[allowed] = sums[allowed]
    return greedy(t, value)


def greedy(t: Tables, value: Floats) -> Ints:
    """The action of every vertex with the greatest value, counted within the vertex."""
    order = np.lexsort((-value, t.action_vertex))
    chosen = np.zeros(t.n_vertices, np.int32)
    first = t.action_start[:-1][t.states]
    chosen[t.states] = order[first] - first
    return chosen


def visited(t: Tables, actions: Indices, *, returns: bool = False) -> Mask:
    """Vertices that runs come to by some of the actions, and perhaps a few more.

    With ``returns``, calls are taken to return by all exits.
    """
    taken = np.zeros(t.n_actions, np.bool_)
    taken[actions] = True
    taken = np.repeat(taken, np.diff(t.transition_start)) & (t.prob > 0)
    owner = np.repeat(t.action_vertex, np.diff(t.transition_start))
    calls, _, exits, back = _calls(t)
    seen = np.zeros(t.n_vertices, np.bool_)
    new = np.zeros(t.n_vertices, np.bool_)
    new[t.starts] = True
    while (new & ~seen).any():
        seen |= new
        new[t.target[taken & seen[owner]]] = True
        new[t.entry_of_call(np.flatnonzero(seen & (t.vertex_kind == CALL)))] = True
        new[back[seen[calls] & (seen[exits] | returns)]] = True
    return seen


def _calls(t: Tables) -> tuple[Ints, Ints, Ints, Ints]:
    """Call port, entry, exit and return port of every way through a call."""
    ports = np.flatnonzero(t.vertex_kind == CALL).astype(np.int32)
    box = t.vertex_box[ports]
    callee = t.box_component[box]
    count = t.n_exits[callee]
    call = np.repeat(ports, count)
    exits = runs(t.component_start[callee] + t.n_entries[callee], count)
    return call, t.entry_of_call(call), exits, runs(t.box_return[box], count)


def _visits(model: RMDP, actions: Indices, row: Indices, seen: Mask) -> Floats | None:
    """Visits that do not fall, in exact numbers, or None if none were found.

    Args:
        model: The model.
        actions: Actions that count.
        row: Number of the row that each belongs to: rows are means of their actions.
        seen: Vertices that such runs come to.
    """
    program = _Program(model.tables, actions, row, seen)
    f = program.solve()
    if f is None:
        return None
    trap = program.trap(f >= 1 - _CLOSE)
    better = program.solve(f, trap)
    for found in (better, f):
        if found is not None:
            exact = np.where(trap, 1.0, np.ldexp(np.floor(np.ldexp(found, 40)), -40))
            if program.holds(model, exact):
                return exact
    whole = _whole(f)
    return whole if whole is not None and program.holds(model, whole) else None


def _whole(f: Floats) -> Floats | None:
    """Nearly a multiple of f in whole numbers, as critical policies leave no room for rounding."""
    near = [Fraction(x).limit_denominator(_DENOMINATOR) for x in f.tolist()]
    unit = math.lcm(*(x.denominator for x in near))
    return np.array([float(x * unit) for x in near]) if unit < 2**50 else None


class _Program:
    """The inequalities of visits."""

    def __init__(self, t: Tables, actions: Indices, row: Indices, seen: Mask) -> None:
        from scipy.sparse import csr_array

        self.t, self.actions, self.row, self.seen = t, actions, row, seen
        count = np.bincount(row)
        mean = csr_array((1 / count[row], (row, np.arange(len(row)))))
        every = csr_array((t.prob, t.target, t.transition_start), shape=(t.n_actions, t.n_vertices))
        self.matrix = mean @ every[actions]
        self.owner = np.zeros(len(count), np.int32)
        self.owner[row] = t.action_vertex[actions]
        call, entry, exits, back = _calls(t)
        returns = np.zeros(t.n_vertices, np.bool_)
        returns[call[seen[back]]] = True
        own = seen[call] & (seen[back] | ~returns[call])
        # A call that never returns has the visits of its entry: at an exit there are none.
        self.call, self.entry = call[own], entry[own]
        self.back = np.where(returns[call], back, exits)[own]

    def solve(self, known: Floats | None = None, trap: Mask | None = None) -> Floats | None:
        """The greatest visits of the start, at most 1.

        Given these, and the trap in which visits are 1: visits that have most room at all other
        vertices, where the start keeps half of its own, and vertices without any have none.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack, vstack

        t, n, room = self.t, self.t.n_vertices, known is not None
        most = np.where((t.vertex_kind == EXIT) | ~self.seen, 0.0, 1.0)
        least, fixed = np.zeros(n), np.zeros(n, np.bool_)
        if known is not None and trap is not None:
            most[known <= _CLOSE] = 0.0
            least[t.starts] = np.minimum(0.5 * known, most)[t.starts]
            least[trap], fixed = 1.0, trap | (most == 0.0)
        lines, rows = np.arange(len(self.call)), np.arange(len(self.owner))
        value = np.concatenate([np.ones(len(lines)), np.full(2 * len(lines), -1.0)])
        ends = np.concatenate([self.call, self.entry, self.back])
        calls = coo_array((value, (np.tile(lines, 3), ends)), shape=(len(lines), n))
        own = coo_array((np.ones(len(rows)), (rows, self.owner)), shape=(len(rows), n))
        wide = np.concatenate([~fixed[self.owner], ~fixed[self.call]]).astype(np.float64)[:, None]
        matrix = vstack([own - self.matrix, calls]).tocsr()
        goal = np.zeros(n + 1)
        goal[t.starts] = -(1e-6 if room else 1.0)
        goal[n] = -float(room)
        found = linprog(
            goal,
            A_ub=hstack([matrix, coo_array(wide * float(room))]).tocsr(),
            b_ub=np.zeros(len(wide)),
            bounds=[*zip(least, most, strict=True), (0.0, 1.0)],
            method="highs",
            options={"time_limit": seconds_left()},
        )
        if found.x is None or not found.x[t.starts].max() > _CLOSE:
            return None
        f: Floats = np.clip(found.x[:n], 0.0, 1.0)
        return f

    def trap(self, inside: Mask) -> Mask:
        """The greatest set of vertices inside that is never left: there, visits are 1."""
        while True:
            out = np.zeros(len(inside), np.bool_)
            left = self.matrix @ (~inside & self.seen).astype(np.float64)
            out[self.owner[left > 0]] = True
            out[self.call[~inside[self.entry] & ~inside[self.back]]] = True
            if not (inside & out).any():
                return inside
            inside = inside & ~out

    def holds(self, model: RMDP, f: Floats) -> bool:
        """Whether some action of each row keeps the visits, and calls do, in exact numbers."""
        t, exact = self.t, [Fraction(x) for x in f.tolist()]
        best: dict[int, Fraction] = {}
        for action, row in zip(self.actions.tolist(), self.row.tolist(), strict=True):
            moves = range(int(t.transition_start[action]), int(t.transition_start[action + 1]))
            after = sum((model.exact.prob(i) * exact[t.target[i]] for i in moves), Fraction(0))
            best[row] = max(after, best.get(row, after))
        states = all(exact[self.owner[row]] <= after for row, after in best.items())
        ends = zip(self.call.tolist(), self.entry.tolist(), self.back.tolist(), strict=True)
        return states and all(exact[c] <= exact[e] + exact[r] for c, e, r in ends)
