"""The checker of bounds by state: totals that are nonnegative, whether runs end or not.

In the sense of the greatest total: U >= f(U) for all actions and U >= 0 imply that no policy has
more than U, with f(U) = r + sum p U'. L <= f(L) for the chosen actions implies that they reach L,
if errors of L get smaller along a direction g. For the least total, chosen and all actions change
places. Nothing is shared with the solvers; all arithmetic is exact. The proofs are in
docs/explanation/certificates.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from recurl.errors import CertificateError
from recurl.model.certificate import LARGEST_SCALE
from recurl.model.tables import CALL, EXIT
from recurl.verification.verdict import Verdict

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate, Values
    from recurl.model.rmdp import RMDP


class _Row(NamedTuple):
    """The successors of a state by an action: whole numbers, to be divided by ``scale``."""

    scale: int
    reward: int
    edges: list[tuple[int, int]]  # (probability, state)


class _Call(NamedTuple):
    """The states that a call is worth a mix of.

    Attributes:
        leave: The entry with every exit of the callee.
        after: The return ports, with the column of the call.
        ends: The entry, to leave at all.
        total: The entry, for rewards within the callee, if they count.
    """

    leave: list[int]
    after: list[int]
    ends: int
    total: list[int]

    def states(self) -> list[int]:
        """All of them."""
        return [*self.leave, *self.after, self.ends, *self.total]


class ValueChecker:
    """One certificate with bounds by state under check.

    Args:
        model: The model.
        given: The certificate; its ``values`` are not None.
    """

    def __init__(self, model: RMDP, given: Certificate) -> None:
        assert given.values is not None
        self.model, self.tables, self.given = model, model.tables, given
        self.values: Values = given.values
        self.checked = 0

    def verdict(self) -> Verdict:
        """Check everything.

        Raises:
            CertificateError: Names what does not hold, or is malformed.
        """
        self._check_form()
        self._check_values()
        given, t = self.given, self.tables
        ends, theorem = (given.lower, given.upper), "values"
        if given.infinite is not None:
            ends, theorem = (float(given.infinite),) * 2, "may not end"
        elif self.ends:
            theorem = "stacks"
        first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
        worth = {self.model.local_name(first + k): x for k, x in enumerate(self.root) if x}
        return Verdict(
            *ends, math.inf, self.checked, given.objective, given.rewards, worth, (theorem,)
        )

    def _check_values(self) -> None:
        """All inequalities, where runs can come to."""
        self.sign = 1
        states = self._reached()
        self.sign = self._sign(states)
        self.greatest = (self.given.objective == "max") == (self.sign > 0)
        if self.given.infinite is not None:
            self.greatest = not self.greatest  # an upper bound of the probability to end
        v = self.values
        places = (x.as_integer_ratio()[1] for x in (*v.lower, *v.upper, *v.progress))
        self.unit = max(places, default=1)
        self.low, self.high, self.left = (
            [int(Fraction(x) * self.unit) for x in each] for each in (v.lower, v.upper, v.progress)
        )
        least = min((self.left if self.ends else self.left + self.low + self.high), default=0)
        self._require(least >= 0, "numbers that may not be negative")
        for state in filter(self._is_last, states):
            self.left[state] = 0  # its bounds have no errors
        inner = [s for s in states if self._counts(s) and not self._is_last(s)]
        self._require(all(self.left[s] > 0 for s in inner), "progress")
        errors = (Fraction(self.low[s], self.left[s]) for s in inner)
        self.most = max(errors, default=Fraction(1))  # C of the proofs
        for state in states:
            name = self.model.vertex_name(self.vertex[state])
            check = self._check_call if self._multiplies(state) else self._check_rows
            check(state, name)
        self._check_claims()

    def _check_form(self) -> None:
        t, v, given = self.tables, self.values, self.given
        _well_formed(given.model == self.model.fingerprint, f"it is not for {self.model.name}")
        _well_formed(abs(given.scale) <= LARGEST_SCALE, f"a unit of 2**{given.scale}")
        self.scale = Fraction(2) ** given.scale
        known = given.objective in ("max", "min") and given.rewards in ("model", "steps", "none")
        _well_formed(known, f"unknown question {given.objective!r} of {given.rewards!r}")
        claims = given.infinite in ("inf", "-inf") and not v.contexts and given.rewards != "none"
        _well_formed(given.infinite is None or claims, "an infinite total, and no contexts")
        exits = int(t.n_exits[t.start_component])
        self.root = list(given.exit_values) or [0.0] * exits
        _well_formed(len(self.root) == exits, "as many exit values as exits")
        self.totals = not v.contexts and given.rewards != "none" and given.infinite is None
        self._number_states(self._components())
        lists = (v.lower, v.upper, v.progress)
        _well_formed(all(len(each) == len(self.vertex) for each in lists), "a number per state")
        ends = (x for x in (given.lower, given.upper) if x is not None)
        finite = all(map(math.isfinite, (*v.lower, *v.upper, *v.progress, *self.root, *ends)))
        _well_formed(finite, "finite numbers")
        _well_formed(len(v.actions) == len(self.place_vertex), "an action per vertex")
        count = [len(self._actions(vertex)) for vertex in self.place_vertex]
        inside = (0 <= a < max(n, 1) for a, n in zip(v.actions, count, strict=True))
        _well_formed(all(inside), "actions that exist")

    def _components(self) -> list[int]:
        """The component of every context, each of which is called by an earlier one."""
        t, contexts = self.tables, self.values.contexts
        self.children: dict[tuple[int, int], int] = {}
        if not contexts:
            return self._copies()
        _well_formed(tuple(contexts[0]) == (t.start_component, -1, -1), "the first context")
        for i, (component, parent, box) in enumerate(contexts[1:], 1):
            _well_formed(0 <= parent < i and 0 <= box < t.n_boxes, f"context {i}")
            own = (int(t.box_owner[box]), int(t.box_component[box]))
            _well_formed(own == (contexts[parent][0], component), f"context {i}")
            _well_formed((parent, box) not in self.children, f"context {i}")
            self.children[parent, box] = i
        return [component for component, _, _ in contexts]

    def _copies(self) -> list[int]:
        """The component of every copy, each box of which calls a copy of its callee."""
        t, boxes = self.tables, list(enumerate(self.tables.box_owner.tolist()))
        own = [[b for b, owner in boxes if owner == c] for c in range(t.n_components)]
        plain = [(c, t.box_component[own[c]].tolist()) for c in range(t.n_components)]
        copies = self.values.copies or plain
        self.begin = 0 if self.values.copies else int(t.start_component)
        known = all(0 <= c < t.n_components for c, _ in copies)
        _well_formed(known and copies[self.begin][0] == t.start_component, "copies of components")
        for i, (c, called) in enumerate(copies):
            _well_formed(len(called) == len(own[c]), f"callees of copy {i}")
            for b, j in zip(own[c], called, strict=True):
                fits = 0 <= j < len(copies) and copies[j][0] == t.box_component[b]
                _well_formed(fits, f"callees of copy {i}")
                self.children[i, b] = j
        return [c for c, _ in copies]

    def _number_states(self, components: list[int]) -> None:
        """Number the vertices of all contexts; without contexts, with every column.

        The columns are the exits, to leave at all if there are several, and the total of rewards.
        """
        start = self.tables.component_start
        self.first: list[int] = []
        self.vertex: list[int] = []
        self.place: list[int] = []  # the number of a state's vertex, among those of all contexts
        self.place_vertex: list[int] = []
        self.context: list[int] = []
        self.width: list[int] = []
        for i, c in enumerate(components):
            exits = int(self.tables.n_exits[c])
            width = 1 if self.values.contexts else exits + (exits > 1) + self.totals
            self.first.append(len(self.vertex) - int(start[c]) * width)
            own = range(int(start[c]), int(start[c + 1]))
            self.place += [
                len(self.place_vertex) + k for k in range(len(own)) for _ in range(width)
            ]
            self.place_vertex += own
            self.vertex += [vertex for vertex in own for _ in range(width)]
            self.context += [i] * (len(own) * width)
            self.width.append(width)

    def _state(self, context: int, vertex: int, column: int = 0) -> int:
        """Number of a vertex in a context; without contexts, with a column."""
        return self.first[context] + vertex * self.width[context] + column

    def _column(self, state: int) -> int:
        """The column of a state; 0 with contexts."""
        context = self.context[state]
        return (state - self.first[context]) % self.width[context]

    def _pays(self, state: int) -> bool:
        """Whether a state adds up rewards."""
        last = self._column(state) == self.width[self.context[state]] - 1
        return bool(self.values.contexts) or (self.totals and last)

    def _sign(self, states: set[int]) -> int:
        """1 if nothing that runs can meet is negative, -1 if nothing is positive.

        If both occur, every policy must end. For an infinite total, every step must pay something
        of its sign.
        """
        self.ends = False
        paid = [Fraction(x) for x in self.root] if self.given.infinite is None else []
        if self.given.rewards == "steps":
            paid.append(Fraction(1))
        elif self.given.rewards == "model":
            t, exact = self.tables, self.model.exact
            for action in (a for v in {self.vertex[s] for s in states} for a in self._actions(v)):
                edges = range(int(t.transition_start[action]), int(t.transition_start[action + 1]))
                paid += [exact.reward(i) for i in edges if exact.prob(i)]
        if self.given.infinite is not None:
            sign = 1 if self.given.infinite == "inf" else -1
            _well_formed(min((sign * x for x in paid), default=1) > 0, "steps that all pay")
            return sign
        if max(paid) <= 0:
            return -1 if min(paid) < 0 else 1
        self.ends = min(paid) < 0
        _well_formed(not self.ends or bool(self.values.contexts), "totals of one sign")
        return 1

    def _require(self, holds: bool, what: str) -> None:
        self.checked += 1
        if not holds:
            raise CertificateError(f"not proved: the values at {what} do not hold")

    def _actions(self, vertex: int) -> range:
        start = self.tables.action_start
        return range(int(start[vertex]), int(start[vertex + 1]))

    def _multiplies(self, state: int) -> bool:
        """Whether a state is a call port that is worth a product."""
        return not self.values.contexts and self.tables.vertex_kind[self.vertex[state]] == CALL

    def _entry(self, call: int) -> int:
        """The entry that a call port calls."""
        t = self.tables
        component = t.box_component[t.vertex_box[call]]
        return int(t.component_start[component] + t.vertex_port[call])

    def _call(self, state: int) -> _Call:
        """The states that a call is worth a mix of."""
        t, call = self.tables, self.vertex[state]
        box, own, column = int(t.vertex_box[call]), self.context[state], self._column(state)
        callee, entry, back = self.children[own, box], self._entry(call), int(t.box_return[box])
        exits = int(t.n_exits[t.box_component[box]])
        leave = [self._state(callee, entry, j) for j in range(exits)]
        return _Call(
            leave,
            [self._state(own, back + j, column) for j in range(exits)],
            self._state(callee, entry, exits) if exits > 1 else leave[0],
            [self._state(callee, entry, self.width[callee] - 1)] if self._pays(state) else [],
        )

    def _rows(self, state: int, *, every: bool) -> Iterator[_Row]:
        """The successors of a state, by all actions or by the chosen one."""
        t, vertex, context = self.tables, self.vertex[state], self.context[state]
        if t.vertex_kind[vertex] == CALL:
            box = int(t.vertex_box[vertex])
            _well_formed((context, box) in self.children, f"a context for box {box} of {context}")
            inside = self._state(self.children[context, box], self._entry(vertex))
            yield _Row(1, 0, [(1, inside)])
        elif t.vertex_kind[vertex] == EXIT:
            yield self._after_exit(state, vertex, context)
        else:
            actions, chosen = self._actions(vertex), self.values.actions[self.place[state]]
            for action in actions if every else [actions[chosen]]:
                yield self._after_action(action, state)

    def _after_exit(self, state: int, vertex: int, context: int) -> _Row:
        """The return port, or the worth of an exit of the start; 1 for the exit of the state."""
        port = int(self.tables.vertex_port[vertex])
        if context and self.values.contexts:
            _, parent, box = self.values.contexts[context]
            back = self._state(parent, int(self.tables.box_return[box]) + port)
            return _Row(1, 0, [(1, back)])
        column = self._column(state)
        exits = int(self.tables.n_exits[self.tables.vertex_component[vertex]])
        worth = Fraction(int(column == port or (column == exits and exits > 1)))
        if self.values.contexts:
            worth = self.sign * Fraction(self.root[port]) / self.scale
        return _Row(worth.denominator, worth.numerator, [])

    def _after_action(self, action: int, state: int) -> _Row:
        t, exact = self.tables, self.model.exact
        own, column, pays = self.context[state], self._column(state), self._pays(state)
        edges = range(int(t.transition_start[action]), int(t.transition_start[action + 1]))
        probs = [exact.prob(i) for i in edges]
        reward = Fraction(int(self.given.rewards == "steps" and pays))
        if self.given.rewards == "model" and pays:
            reward = sum((p * exact.reward(i) for p, i in zip(probs, edges, strict=True)), reward)
        reward /= self.scale
        scale = math.lcm(reward.denominator, *(p.denominator for p in probs))
        pairs = zip((int(p * scale) for p in probs), edges, strict=True)
        after = [(p, self._state(own, int(t.target[i]), column)) for p, i in pairs if p]
        return _Row(scale, int(self.sign * reward * scale), after)

    def _starts(self) -> Iterator[tuple[Fraction, _Call]]:
        """States in which runs begin, weighted, as if they were called."""
        t, contexts = self.tables, self.values.contexts
        own = 0 if contexts else self.begin
        first, exits = int(t.component_start[t.start_component]), len(self.root)
        for e in range(len(t.start_prob)):
            columns = [self._state(own, first + e, k) for k in range(self.width[own])]
            ends = columns[exits if exits > 1 and not contexts else 0]
            leave = [] if contexts else columns[:exits]
            total = columns[-1:] if contexts or self.totals else []
            if share := self.model.exact.start(e):
                yield share, _Call(leave, [], ends, total)

    def _reached(self) -> set[int]:
        """States that a run of some policy can come to."""
        found = {state for _, call in self._starts() for state in call.states()}
        new = list(found)
        while new:
            state = new.pop()
            if self._multiplies(state):
                after = set(self._call(state).states())
            else:
                after = {q for row in self._rows(state, every=True) for _, q in row.edges}
            new += after - found
            found |= after
        return found

    def _bounded(self, state: int) -> bool:
        """Whether an upper bound has to be proved."""
        claimed = self.given.infinite or (self.given.lower, self.given.upper)[self.sign > 0]
        return claimed is not None and (self._pays(state) or self.high[state] < self.unit)

    def _check_rows(self, state: int, name: str) -> None:
        """U >= f(U), and where L > 0 that errors contract, for f(U) = r + sum p U'."""
        for row in self._rows(state, every=self.greatest) if self._bounded(state) else ():
            after = row.reward * self.unit + sum(p * self.high[q] for p, q in row.edges)
            self._require(row.scale * self.high[state] >= after, name)
        for row in self._rows(state, every=not self.greatest) if self._counts(state) else ():
            room = row.reward * self.unit + sum(p * self.low[q] for p, q in row.edges)
            room -= row.scale * self.low[state]
            falls = self.ends or self._contracts(room, self._rise(state, row))
            self._require(room >= 0 and (falls or self._is_last(state)), name)
        for row in self._rows(state, every=True) if self.ends else ():
            self._require(self._is_last(state) or self._rise(state, row) < 0, name)

    def _counts(self, state: int) -> bool:
        """Whether a lower bound has to be proved."""
        return self.ends or self.low[state] > 0

    def _rise(self, state: int, row: _Row) -> int:
        """How much g rises on average."""
        left = sum(p * self.left[q] for p, q in row.edges if self._counts(q))
        return left - row.scale * self.left[state]

    def _is_last(self, state: int) -> bool:
        """Whether runs end in a state: an exit from which nothing is returned to."""
        last = not self.values.contexts or self.context[state] == 0
        return last and bool(self.tables.vertex_kind[self.vertex[state]] == EXIT)

    def _contracts(self, room: int | Fraction, rise: int) -> bool:
        """L <= f(L), and errors that are at most C g get smaller: C (f'(g) - g) < f(L) - L."""
        return room >= 0 and self.most * rise < room

    def _check_call(self, state: int, name: str) -> None:
        """The same for a call that is worth a mix of what comes after it."""
        call = self._call(state)
        if self._bounded(state):
            most = self._most(call, [self.high[q] for q in call.after])
            self._require(self.unit * self.high[state] >= most, name)
        if self.low[state]:
            levels = {0, min(self.low[q] for q in call.after)}
            self._require(any(self._falls(state, call, m) for m in levels), name)

    def _most(self, call: _Call, after: Sequence[int | Fraction]) -> Fraction:
        """The probability to leave is filled up by exits, the one of greatest worth first."""
        left, total = self.high[call.ends], Fraction(0)
        total += sum(self.unit * self.high[q] for q in call.total)
        leave = (self.high[q] for q in call.leave)
        for worth, share in sorted(zip(after, leave, strict=True), reverse=True):
            total, left = total + worth * min(share, left), left - min(share, left)
        return total

    def _least(self, call: _Call, after: Sequence[int | Fraction], m: int | Fraction) -> Fraction:
        """sum_j L(en, j) (after_j - m) + L(en leaves) m, for m that is at most all after_j."""
        leave = (self.low[q] for q in call.leave)
        total = sum(a * (b - m) for a, b in zip(leave, after, strict=True))
        inside = sum(self.unit * self.low[q] for q in call.total)
        return Fraction(total + inside + self.low[call.ends] * m)

    def _falls(self, state: int, call: _Call, m: int) -> bool:
        """Whether L and g hold at a call for a level m."""
        low, after = self.low, [self.low[q] for q in call.after]
        left = [self.left[q] * (low[q] > 0) for q in call.leave]
        back = [self.left[q] * (low[q] > 0) for q in call.after]
        ends, rest = self.left[call.ends], low[call.ends] - sum(low[q] for q in call.leave)
        change = sum(g * (b - m) for g, b in zip(left, after, strict=True)) + ends * m
        change += sum(low[q] * g for q, g in zip(call.leave, back, strict=True))
        change += max(rest, 0) * max(back) if m else 0
        change += sum(self.unit * self.left[q] for q in call.total if low[q])
        fits = m == 0 or ends >= sum(left)
        room = self._least(call, after, m) - self.unit * low[state]
        return fits and self._contracts(room, change - self.unit * self.left[state])

    def _check_claims(self) -> None:
        """The ends that are claimed of the start."""
        ones = [Fraction(1)] * len(self.root)
        worth = [abs(Fraction(x)) / self.scale for x in self.root]
        worth = ones if self.given.infinite is not None else worth
        low = high = Fraction(0)
        for share, call in self._starts():
            after = worth if call.leave else []
            high += share * self._most(call, [self.unit * x for x in after]) / self.unit**2
            levels = {Fraction(0), min(after, default=Fraction(0)) * self.unit}
            least = (self._least(call, [self.unit * x for x in after], m) for m in levels)
            low += share * max(least) / self.unit**2
        if self.given.infinite is not None:
            self._require(high < 1, "the start: that runs may not end")
            return
        low, high = low * self.scale, high * self.scale
        if self.sign < 0:
            low, high = -high, -low
        if self.given.lower is not None:
            self._require(low >= Fraction(self.given.lower), "the start: the lower claim")
        if self.given.upper is not None:
            self._require(high <= Fraction(self.given.upper), "the start: the upper claim")


def _well_formed(fits: bool, what: str) -> None:
    if not fits:
        raise CertificateError(f"malformed certificate: {what}")
