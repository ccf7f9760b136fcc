"""Truths about small models, by other means than the solvers: no code is shared with them.

Chains: Newton's method from 0 in decimals of 120 digits, so that rounding does not matter, and
elimination for totals. Models with choices: all stackless policies, and value iteration over
(stack, vertex) with stacks cut off, whose ends are bounds for probabilities and for gains.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import recurl
from recurl.model.tables import CALL, EXIT

INF = Decimal("Infinity")
_TINY = Decimal("1e-25")
Choice = dict[int, list[tuple[int, Fraction]]]
"""Actions by vertex, with their shares."""


_REWARDS = ("0", "0", "1", "-1", "1/3", "2.5", "-0.7")
COSTS = ("-1", "-2", "-1/3", "-5", "-0.7")


def random_spec(
    seed: int, *, exits: int = 3, actions: int = 1, rewards: Sequence[str] = _REWARDS
) -> recurl.RMDP:
    """A small model of any kind: dead ends, unreachable parts, circles and deep recursion too."""
    draw = random.Random(seed)
    count = draw.choice([1, 1, 2, 3])
    leave = [draw.randint(1, exits) for _ in range(count)]
    builder = recurl.Builder(f"random{seed}")
    for c in range(count):
        names = [f"x{k}" for k in range(leave[c])]
        builder.component(f"C{c}", entries="in", exits=names)
        boxes = {f"b{i}": draw.randrange(count) for i in range(draw.choice([0, 1, 1, 2]))}
        for box, callee in boxes.items():
            builder.box(box, f"C{callee}")
        nodes = [f"n{i}" for i in range(draw.choice([0, 1, 2]))]
        ports = [f"{box}.x{k}" for box, callee in boxes.items() for k in range(leave[callee])]
        for vertex in ["in", *nodes, *ports]:
            builder.at(vertex)
            for a in range(draw.randint(1, actions)):
                builder.action(f"a{a}", reward=draw.choice(rewards))
                _draw_moves(draw, builder, [*names, *names, *nodes, *boxes, *boxes])
    return builder.build("C0")


_SHARES = [
    "1/2 1/2",
    "1/3 2/3",
    "0.55 0.45",
    "0.4999 0.5001",
    "0.9 0.1",
    "1/2 1/4 1/4",
    "0.3 0.3 0.4",
]


def _draw_moves(draw: random.Random, builder: recurl.Builder, targets: list[str]) -> None:
    kinds = sorted(set(targets))
    shares = draw.choice([["1"], *(text.split() for text in _SHARES)])
    chosen = draw.sample(kinds, min(len(kinds), len(shares)))
    if len(chosen) < len(shares):
        shares, chosen = ["1"], [draw.choice(targets)]
    for target, share in zip(chosen, shares, strict=True):
        builder.to(target, share)


@dataclass(frozen=True)
class Truth:
    """What to expect of a chain from the start."""

    exits: list[Decimal]
    steps: Decimal
    gain: Decimal
    loss: Decimal

    @property
    def end(self) -> Decimal:
        with localcontext(Context(prec=120)):
            return sum(self.exits, Decimal(0))


class Chain:
    """A model under a fixed policy; vertices are the model's, ports included."""

    def __init__(self, model: recurl.RMDP, choice: Choice) -> None:
        t = model.tables
        self.model, self.tables = model, t
        self.edges: dict[int, list[tuple[Fraction, Fraction, int]]] = {}
        for v, actions in choice.items():
            self.edges[v] = [
                (share * model.exact.prob(i), model.exact.reward(i), int(t.target[i]))
                for a, share in actions
                for i in range(int(t.transition_start[a]), int(t.transition_start[a + 1]))
                if model.exact.prob(i) > 0
            ]
        self.exits = [int(x) for x in t.n_exits[t.vertex_component]]

    def call(self, v: int) -> tuple[int, int, int]:
        """Entry, first return port and exits of what a call port calls."""
        t = self.tables
        box = int(t.vertex_box[v])
        callee = int(t.box_component[box])
        entry = int(t.component_start[callee] + t.vertex_port[v])
        return entry, int(t.box_return[box]), int(t.n_exits[callee])

    def terms(self, v: int, k: int) -> Iterator[tuple[Decimal, list[tuple[int, int]]]]:
        """The monomials of P(v, k)."""
        kind = self.tables.vertex_kind[v]
        if kind == EXIT:
            if self.tables.vertex_port[v] == k:
                yield Decimal(1), []
        elif kind == CALL:
            entry, back, count = self.call(v)
            for j in range(count):
                yield Decimal(1), [(entry, j), (back + j, k)]
        else:
            for p, _, q in self.edges[v]:
                yield _decimal(p), [(q, k)]

    def possible(self) -> set[tuple[int, int]]:
        """Pairs (vertex, exit) with positive probability."""
        found: set[tuple[int, int]] = set()
        pairs = [(v, k) for v in range(len(self.exits)) for k in range(self.exits[v])]
        while True:
            more = {
                pair
                for pair in pairs
                if pair not in found
                and any(all(x in found for x in factors) for _, factors in self.terms(*pair))
            }
            if not more:
                return found
            found |= more

    def leave(self) -> dict[tuple[int, int], Decimal]:
        """Probabilities to leave, up to some 1e-50."""
        pairs = sorted(self.possible())
        number = {pair: n for n, pair in enumerate(pairs)}
        system = [
            [
                (p, [number[f] for f in factors])
                for p, factors in self.terms(*pair)
                if all(f in number for f in factors)
            ]
            for pair in pairs
        ]
        x = [Decimal(0)] * len(pairs)
        for _ in range(250):
            gap = [
                sum((p * _product(x, fs) for p, fs in row), -x[n]) for n, row in enumerate(system)
            ]
            if max(map(abs, gap), default=Decimal(0)) < Decimal("1e-100"):
                break
            matrix = [[Decimal(int(a == b)) for b in range(len(x))] for a in range(len(x))]
            for n, row in enumerate(system):
                for p, fs in row:
                    for i, f in enumerate(fs):
                        matrix[n][f] -= p * _product(x, fs[:i] + fs[i + 1 :])
            step = _solve(matrix, gap)
            assert step is not None
            x = [a + d for a, d in zip(x, step, strict=True)]
        return dict(zip(pairs, x, strict=True))

    def given_end(self) -> Decimal | None:
        """The reward of the runs that end; None if none does or if it is close to critical."""
        with localcontext(Context(prec=120)):
            leave = self.leave()
            pairs = sorted(leave)
            matrix = [[Decimal(int(a == b)) for b in pairs] for a in pairs]
            paid = [Decimal(0)] * len(pairs)
            for n, (v, k) in enumerate(pairs):
                for p, factors in self.terms(v, k):
                    for i, f in enumerate(factors):
                        if all(g in leave for g in factors):
                            others = [leave[g] for j, g in enumerate(factors) if j != i]
                            matrix[n][pairs.index(f)] -= p * math.prod(others)
                for p, r, q in self.edges.get(v, []):
                    paid[n] += _decimal(p * r) * leave.get((q, k), Decimal(0))
            solved = _solve(matrix, paid)
            slow = _solve(matrix, [Decimal(1)] * len(pairs))
            if solved is None or slow is None or not all(0 < x < 10**6 for x in slow):
                return None
            starts = {v: _decimal(p) for v, p in self.model.start_exact().items()}
            chance = sum(starts.get(v, 0) * leave[v, k] for v, k in pairs)
            total = sum(starts.get(v, 0) * x for (v, _), x in zip(pairs, solved, strict=True))
            return Decimal(total) / chance if chance else None

    def flow(self, leave: dict[tuple[int, int], Decimal]) -> dict[int, dict[int, Decimal]]:
        """What is expected to be visited next, once for every visit of a vertex."""
        flow: dict[int, dict[int, Decimal]] = {}
        for v in range(len(self.exits)):
            row: dict[int, Decimal] = {}
            if self.tables.vertex_kind[v] == CALL:
                entry, back, count = self.call(v)
                row[entry] = Decimal(1)
                for j in range(count):
                    if (entry, j) in leave:
                        row[back + j] = row.get(back + j, Decimal(0)) + leave[entry, j]
            for p, _, q in self.edges.get(v, []):
                row[q] = row.get(q, Decimal(0)) + _decimal(p)
            flow[v] = row
        return flow

    def truth(self) -> Truth:
        with localcontext(Context(prec=120)):
            leave = self.leave()
            flow = self.flow(leave)
            starts = self.model.start_exact()
            step = {v: Decimal(1) for v in self.edges}
            sides = []
            for sign in (1, -1):
                paid = {
                    v: sum((p * max(sign * r, Fraction(0)) for p, r, _ in row), Fraction(0))
                    for v, row in self.edges.items()
                }
                sides.append({v: _decimal(x) for v, x in paid.items() if x})
            exits = [
                sum(
                    (_decimal(p) * leave.get((v, k), Decimal(0)) for v, p in starts.items()),
                    Decimal(0),
                )
                for k in range(int(self.tables.n_exits[self.tables.start_component]))
            ]
            totals = [
                sum((_decimal(p) * _total(flow, b, v) for v, p in starts.items() if p), Decimal(0))
                for b in (step, *sides)
            ]
            return Truth(exits, *totals)


def _total(flow: dict[int, dict[int, Decimal]], b: dict[int, Decimal], start: int) -> Decimal:
    """The least solution of x = b + A x at the start."""
    useful = _closure({q: {v for v in flow if q in flow[v]} for q in flow}, set(b))
    seen = sorted(_closure(flow, {start}) & useful)
    if start not in seen:
        return Decimal(0)
    reach = {v: _closure(flow, {v}) for v in seen}
    for v in seen:
        part = [q for q in seen if q in reach[v] and v in reach[q]]
        if (len(part) > 1 or v in flow[v]) and not _shrinks(flow, part):
            return INF
    matrix = [[Decimal(int(a == c)) - flow[a].get(c, Decimal(0)) for c in seen] for a in seen]
    solved = _solve(matrix, [b.get(v, Decimal(0)) for v in seen])
    assert solved is not None
    return solved[seen.index(start)]


def _closure(
    graph: dict[int, dict[int, Decimal]] | dict[int, set[int]], start: set[int]
) -> set[int]:
    found, new = set(start), list(start)
    while new:
        for q in graph[new.pop()]:
            if q not in found:
                found.add(q)
                new.append(q)
    return found


def _shrinks(flow: dict[int, dict[int, Decimal]], part: list[int]) -> bool:
    """Whether the spectral radius of a strongly connected part is below 1 (it is at most 1)."""
    rows = [[Decimal(int(a == c)) - flow[a].get(c, Decimal(0)) for c in part] for a in part]
    for n in range(len(rows)):
        if rows[n][n] < _TINY:
            return False
        _eliminate(rows, n)
    return True


def _eliminate(rows: list[list[Decimal]], n: int) -> None:
    for k in range(n + 1, len(rows)):
        if rows[k][n]:
            factor = rows[k][n] / rows[n][n]
            rows[k] = [a - factor * b if b else a for a, b in zip(rows[k], rows[n], strict=True)]


def _solve(matrix: list[list[Decimal]], right: list[Decimal]) -> list[Decimal] | None:
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for n in range(len(rows)):
        if rows[n][n] == 0:
            return None
        _eliminate(rows, n)
    x = [Decimal(0)] * len(rows)
    for n in reversed(range(len(rows))):
        rest = sum((rows[n][c] * x[c] for c in range(n + 1, len(rows)) if rows[n][c]), Decimal(0))
        x[n] = (rows[n][-1] - rest) / rows[n][n]
    return x


def _product(x: list[Decimal], factors: list[int]) -> Decimal:
    result = Decimal(1)
    for f in factors:
        result *= x[f]
    return result


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def uniform(model: recurl.RMDP) -> Choice:
    """All actions, with equal shares."""
    t = model.tables
    choice: Choice = {}
    for v in range(t.n_vertices):
        actions = range(int(t.action_start[v]), int(t.action_start[v + 1]))
        if actions:
            choice[v] = [(a, Fraction(1, len(actions))) for a in actions]
    return choice


def stackless(model: recurl.RMDP, most: int) -> Iterator[Choice]:
    """All stackless policies, if there are not too many."""
    t = model.tables
    states = [v for v in range(t.n_vertices) if t.action_start[v + 1] > t.action_start[v]]
    ranges = [range(int(t.action_start[v]), int(t.action_start[v + 1])) for v in states]
    size = 1
    for each in ranges:
        size *= len(each)
    if size <= most:
        for actions in itertools.product(*ranges):
            yield {v: [(a, Fraction(1))] for v, a in zip(states, actions, strict=True)}


def truncated(
    model: recurl.RMDP, of: str, objective: str, *, height: int, sweeps: int
) -> tuple[float, float]:
    """Bounds of an optimum by value iteration over (stack, vertex), stacks cut off at a height.

    ``of`` is "exit:K" with a number, for both ends in [0, 1], or "gain" for rewards that are all
    nonnegative: sweeps from 0 give a lower end, and the upper one is infinite.
    """
    ends = []
    for deep in (0.0, 1.0):
        if deep and of == "gain":
            ends.append(float("inf"))
            continue
        ends.append(_iterate(model, of, objective, deep, height, sweeps))
    return ends[0] - 1e-9, ends[1] + 1e-9


def _iterate(
    model: recurl.RMDP, of: str, objective: str, deep: float, height: int, sweeps: int
) -> float:
    t, best = model.tables, max if objective == "max" else min
    starts = [((), int(v)) for v in t.starts]
    order = _unfold(Chain(model, uniform(model)), starts, height)
    number = {state: n for n, state in enumerate(order)}
    x = [deep] * len(order)
    rows: list[tuple[int, list[list[tuple[float, float, int]]]]] = []
    for n, (stack, v) in enumerate(order):
        if t.vertex_kind[v] == EXIT and not stack:
            x[n] = float(of == f"exit:{t.vertex_port[v]}")
        elif len(stack) <= height:
            rows.append((n, _ways(model, stack, v, number, paid=of == "gain")))
    for _ in range(sweeps):
        before = x.copy()
        for n, ways in rows:
            x[n] = best(sum(p * (r + x[q]) for p, r, q in way) for way in ways)
        if x == before:
            break
    return float(sum(t.start_prob[t.start_prob > 0] * [x[number[s]] for s in starts]))


def _ways(
    model: recurl.RMDP,
    stack: tuple[int, ...],
    v: int,
    number: dict[tuple[tuple[int, ...], int], int],
    *,
    paid: bool,
) -> list[list[tuple[float, float, int]]]:
    """Probability, reward and number of what may come next, by actions."""
    t = model.tables
    if t.vertex_kind[v] == EXIT:
        back = int(t.box_return[stack[-1]] + t.vertex_port[v])
        return [[(1.0, 0.0, number[stack[:-1], back])]]
    if t.vertex_kind[v] == CALL:
        box = int(t.vertex_box[v])
        entry = int(t.component_start[t.box_component[box]] + t.vertex_port[v])
        return [[(1.0, 0.0, number[(*stack, box), entry])]]
    return [
        [
            (float(t.prob[i]), float(paid * t.reward[i]), number[stack, int(t.target[i])])
            for i in range(int(t.transition_start[a]), int(t.transition_start[a + 1]))
            if model.exact.prob(i) > 0
        ]
        for a in range(int(t.action_start[v]), int(t.action_start[v + 1]))
    ]


def _unfold(
    chain: Chain, starts: list[tuple[tuple[int, ...], int]], height: int
) -> list[tuple[tuple[int, ...], int]]:
    """States that can be visited, the last ones first."""
    t, seen, new = chain.tables, dict.fromkeys(starts), list(starts)
    while new:
        stack, v = new.pop(0)
        after: list[tuple[tuple[int, ...], int]] = []
        if len(stack) <= height:
            if t.vertex_kind[v] == CALL:
                after = [((*stack, int(t.vertex_box[v])), chain.call(v)[0])]
            elif t.vertex_kind[v] == EXIT and stack:
                port = int(t.vertex_port[v])
                after = [(stack[:-1], int(t.box_return[stack[-1]]) + port)]
            elif t.vertex_kind[v] != EXIT:
                after = [(stack, q) for _, _, q in chain.edges[v]]
        for state in after:
            if state not in seen:
                seen[state] = None
                new.append(state)
    return list(seen)[::-1]
