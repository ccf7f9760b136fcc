"""The independent checker of certificates: exact arithmetic, nothing from the solvers.

Every number of a certificate is a binary float, so a whole number of units 2**-K for one K; the
model's own numbers are fractions. Inequalities are checked in whole numbers, after scaling, unless
rounded arithmetic proves them with room to spare (see `recurl.verification.rounded`).
With F the operator of the optimality equations, U >= F(U) and L <= F(L) imply that the optimum
lies between L and U *on a proper model*, and the step bounds d prove that the model is proper. For
other models see `recurl.verification.theorems`. Inequalities are needed only where runs can come
to. The proofs are in docs/explanation/certificates.md.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from recurl.errors import CertificateError
from recurl.model.certificate import check_form, numbers
from recurl.model.tables import CALL, EXIT
from recurl.verification.rounded import Rounded, binary_places
from recurl.verification.verdict import Verdict

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate, Piece, Point
    from recurl.model.rmdp import RMDP


Place = tuple[int | None, int]
"""A vertex; under the policy of the pieces, with the piece that it is visited in."""


@dataclass(frozen=True, slots=True)
class _Row:
    """An action in whole numbers: all fractions times their common denominator ``scale``."""

    scale: int
    reward: int
    edges: tuple[tuple[int, int], ...]  # (probability, vertex)


class Checker:
    """One certificate under check; vertices are the model's, numbers whole.

    Attributes:
        above: The end that points prove: for the least total everything is negated.
        below: The end that pieces prove.
        grows: Whether pieces must grow with every step.
        stops_at_0: Whether what is still to come is worth at least 0.
    """

    def __init__(self, model: RMDP, certificate: Certificate) -> None:
        self.model, self.tables, self.given = model, model.tables, certificate
        self.sign = 1 if certificate.objective == "max" else -1
        self.above, self.below = (certificate.upper, certificate.lower)[:: self.sign]
        self.checked, self.grows, self.stops_at_0 = 0, False, False
        self.reach: list[list[Fraction]] = []
        self.rows: dict[int, _Row] = {}

    def verdict(self) -> Verdict:
        """Check everything; CertificateError names what does not hold."""
        check_form(self.model, self.given)
        self.unit = 1 << binary_places(numbers(self.given))
        rounded = Rounded(self.model, self.given, self.sign)
        self.proved_steps: Sequence[bool] = rounded.steps().tolist() if self.given.steps else []
        theorems = self._check_premises()
        self.proved_points = rounded.points(self.given.points)
        self.proved_pieces = rounded.pieces(self.given.pieces)
        if self.stops_at_0 or self.given.scale:
            self.proved_points = [proved & False for proved in self.proved_points]
            self.proved_pieces = [proved & False for proved in self.proved_pieces]
        for i, point in enumerate(self.given.points):
            self._check_point(i, point)
        for i, piece in enumerate(self.given.pieces):
            self._check_piece(i, piece)
        root = [self._in_units(x) for x in self._root()]
        if (end := self.above) is not None:
            self._require(self._start_above(root) <= self._in_units(end), "the upper claim")
        if (end := self.below) is not None:
            self._require(self._start_below(root) >= self._in_units(end), "the lower claim")
        ends = (self.given.lower, self.given.upper)
        if self.given.infinite:
            ends = (float(self.given.infinite),) * 2
        return Verdict(
            *ends,
            self._start_steps(),
            self.checked + rounded.proved,
            self.given.objective,
            self.given.rewards,
            self._worth_by_name(),
            tuple(dict.fromkeys(theorems)),
        )

    def _check_premises(self) -> list[str]:
        """Why bounds of single steps are bounds of totals: every policy ends."""
        self._check_reach()
        self._check_steps()
        return ["steps"]

    @property
    def _visited(self) -> Container[Place]:
        """Where runs can come to, under all policies (no piece) and under that of the pieces."""
        raise NotImplementedError

    def _worth_by_name(self) -> dict[str, float]:
        """Exits of the start component that are worth something."""
        t, c = self.tables, self.tables.start_component
        first = int(t.component_start[c] + t.n_entries[c])
        return {self.model.local_name(first + k): x for k, x in enumerate(self._root()) if x}

    def _root(self) -> Sequence[float]:
        exits = int(self.tables.n_exits[self.tables.start_component])
        return self.given.exit_values or [0.0] * exits

    # Exact numbers

    def _whole(self, number: float) -> int:
        numerator, denominator = float(number).as_integer_ratio()
        return numerator * (self.unit // denominator)

    def _in_units(self, number: float | Fraction) -> Fraction:
        """A number of the model in units of the certificate, negated for the least total."""
        return self.sign * Fraction(number) / Fraction(2) ** self.given.scale

    def _row(self, action: int) -> _Row:
        if action not in self.rows:
            self.rows[action] = self._make_row(action)
        return self.rows[action]

    def _make_row(self, action: int) -> _Row:
        t, exact = self.tables, self.model.exact
        edges = range(int(t.transition_start[action]), int(t.transition_start[action + 1]))
        probs = [exact.prob(i) for i in edges]
        reward = Fraction(0)
        if self.given.rewards == "model":
            reward = sum((p * exact.reward(i) for p, i in zip(probs, edges, strict=True)), reward)
        elif self.given.rewards == "steps":
            reward = Fraction(1)
        reward = self._in_units(reward)
        scale = math.lcm(reward.denominator, *(p.denominator for p in probs))
        pairs = ((int(p * scale), int(t.target[i])) for p, i in zip(probs, edges, strict=True))
        return _Row(scale, int(reward * scale), tuple(pairs))

    def _require(self, holds: bool, what: str, at: Place | None = None) -> None:
        self.checked += 1
        if not holds and (at is None or at in self._visited):
            raise CertificateError(f"not proved: {what} does not hold")

    def _actions(self, vertex: int) -> range:
        start = self.tables.action_start
        return range(int(start[vertex]), int(start[vertex + 1]))

    def _calls(self, component: int) -> list[int]:
        """The call ports of a component."""
        first, last = (int(v) for v in self.tables.component_start[component : component + 2])
        return [v for v in range(first, last) if self.tables.vertex_kind[v] == CALL]

    def _name(self, vertex: int) -> str:
        return self.model.vertex_name(vertex)

    def _ports(self, call: int) -> tuple[int, int, int, int]:
        """Entry called, first return port, first exit and number of exits of the callee."""
        t = self.tables
        box = int(t.vertex_box[call])
        callee = int(t.box_component[box])
        entry = int(t.component_start[callee] + t.vertex_port[call])
        first_exit = int(t.component_start[callee] + t.n_entries[callee])
        return entry, int(t.box_return[box]), first_exit, int(t.n_exits[callee])

    # Reach: p >= 0, sum p <= 1, and p <= sum p' for all actions; p(call) <= sum p(en) p(ret)

    def _check_reach(self) -> None:
        self.reach = [[Fraction(x) for x in row] for row in self.given.reach or ()]
        for v, own in enumerate(self.reach):
            place = f"reach at {self._name(v)}"
            self._require(min(own) >= 0 and sum(own) <= 1, place)
            for k, least in enumerate(own):
                self._require(all(least <= x for x in self._reached(v, k)), place, (None, v))

    def _reached(self, v: int, k: int) -> Iterator[Fraction]:
        """How often exit k is reached from a vertex, by each action, or by the call there."""
        if self.tables.vertex_kind[v] == EXIT:
            yield Fraction(int(k == self.tables.vertex_port[v]))
        elif self.tables.vertex_kind[v] == CALL:
            entry, ret, _, _ = self._ports(v)
            inner = self.reach[entry]
            yield sum((p * self.reach[ret + j][k] for j, p in enumerate(inner)), Fraction(0))
        for action in self._actions(v):
            row = self._row(action)
            yield sum((p * self.reach[q][k] for p, q in row.edges), Fraction(0)) / row.scale

    def _rise(self, entry: int, change: Sequence[Fraction]) -> Fraction:
        """By how much an entry's worth rises at most if exit values do: p.t + (1 - sum p) max t."""
        if not self.reach:
            return max(max(change), Fraction(0)) if self.stops_at_0 else max(change)
        sure = self.reach[entry]
        others = (1 - sum(sure)) * max(change)
        return sum((p * x for p, x in zip(sure, change, strict=True)), others)

    # Steps: d >= p.d(exits) (>= 0); d >= 1 + sum p d'; d(call) >= d(en) + rise(d(ret) - d(ex));
    # some exit at 0

    def _check_steps(self) -> None:
        t = self.tables
        d = [self._whole(x) for x in self.given.steps]
        for c in range(t.n_components):
            first = int(t.component_start[c] + t.n_entries[c])
            exits = d[first : first + int(t.n_exits[c])]
            name = self.model.names.components[c]
            self._require(min(exits) == 0, f"steps: an exit at 0 in {name}")
            for v in range(int(t.component_start[c]), int(t.component_start[c + 1])):
                if not self.proved_steps[v]:
                    self._check_steps_at(v, d, exits)

    def _check_steps_at(self, v: int, d: list[int], exits: list[int]) -> None:
        place = f"steps at {self._name(v)}"
        sure = self.reach[v] if self.reach else ()
        self._require(d[v] >= sum(p * x for p, x in zip(sure, exits, strict=False)), place)
        if self.tables.vertex_kind[v] == CALL:
            entry, ret, first, count = self._ports(v)
            change = [Fraction(d[ret + k] - d[first + k]) for k in range(count)]
            self._require(d[v] >= d[entry] + self._rise(entry, change), place, (None, v))
        for action in self._actions(v):
            row = self._row(action)
            after = sum(p * d[target] for p, target in row.edges)
            self._require(row.scale * d[v] >= row.scale * self.unit + after, place, (None, v))

    # Points: w >= F(w) at every stored vector of exit values

    def _check_point(self, i: int, point: Point) -> None:
        first, proved = int(self.tables.component_start[point.component]), self.proved_points[i]
        if proved.all():
            return
        w = {first + k: self._whole(x) for k, x in enumerate(point.values)}
        mixes = dict(zip(self._calls(point.component), point.calls, strict=True))
        for v, value in w.items():
            if proved[v - first]:
                continue
            place = f"point {i} at {self._name(v)}"
            if self.tables.vertex_kind[v] == CALL:
                _, ret, _, count = self._ports(v)
                outside = [Fraction(w[ret + k], self.unit) for k in range(count)]
                entry = int(self.tables.vertex_port[v])
                above = self._mixed(mixes[v], entry, outside, place)
                self._require(Fraction(value, self.unit) >= above, place, (None, v))
            for action in self._actions(v):
                row = self._row(action)
                after = row.reward * self.unit + sum(p * w[target] for p, target in row.edges)
                self._require(row.scale * value >= after, place, (None, v))

    def _mixed(
        self, mix: Sequence[tuple[int, float]], entry: int, outside: Sequence[Fraction], place: str
    ) -> Fraction:
        """sum_j l_j w_j(en) + rise(outside - sum_j l_j v_j)."""
        weights = [Fraction(weight) for _, weight in mix[:-1]]
        weights.append(1 - sum(weights, Fraction(0)))
        self._require(min(weights) >= 0, f"{place}: a weight >= 0")
        points = [self.given.points[j] for j, _ in mix]
        component = points[0].component
        first = int(self.tables.n_entries[component])
        inside = [
            sum(w * Fraction(p.values[k]) for w, p in zip(weights, points, strict=True))
            for k in (entry, *range(first, first + len(outside)))
        ]
        change = [out - into for out, into in zip(outside, inside[1:], strict=True)]
        start = int(self.tables.component_start[component])
        return inside[0] + self._rise(start + entry, change)

    def _start_above(self, root: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        for entry, mix in enumerate(self.given.start_points):
            weight = self.model.exact.start(entry)
            total += weight * self._mixed(mix, entry, root, "start") if weight else 0
        return total

    # Pieces: R + p.v + (1 - sum p) min v is at most what its own choices give

    def _check_piece(self, i: int, piece: Piece) -> None:
        t = self.tables
        first, exits = int(t.component_start[piece.component]), int(t.n_exits[piece.component])
        proved = self.proved_pieces[i]
        if proved.all():
            return
        reward = {first + k: self._whole(x) for k, x in enumerate(piece.rewards)}
        weight = {v: self._weights(piece, v - first) for v in reward}
        calls = dict(zip(self._calls(piece.component), piece.calls, strict=True))
        for v in reward:
            if proved[v - first]:
                continue
            place, at = f"piece {i} at {self._name(v)}", (i, v)
            self._require(min(weight[v]) >= 0 and sum(weight[v]) <= self.unit, place)
            if t.vertex_kind[v] == EXIT:
                own = int(t.vertex_port[v])
                fits = all(w <= (self.unit if k == own else 0) for k, w in enumerate(weight[v]))
                self._require(reward[v] <= 0 and fits, place, at)
            elif t.vertex_kind[v] == CALL:
                self._check_piece_call(at, self.given.pieces[calls[v]], reward, weight, place)
            else:
                row = self._row(self._actions(v)[piece.actions[v - first]])
                after = row.reward * self.unit + sum(p * reward[q] for p, q in row.edges)
                self._require(row.scale * reward[v] + int(self.grows) <= after, place, at)
                for k in range(exits if exits > 1 else 0):
                    reached = sum(p * weight[q][k] for p, q in row.edges)
                    self._require(row.scale * weight[v][k] <= reached, place, at)

    def _check_piece_call(
        self,
        at: tuple[int, int],
        callee: Piece,
        reward: dict[int, int],
        weight: dict[int, list[int]],
        place: str,
    ) -> None:
        """R <= R_c + sum p_c R_ret + rho min R_ret;  p <= sum p_c p_ret."""
        v = at[1]
        entry, ret, _, count = self._ports(v)
        local = entry - int(self.tables.component_start[callee.component])
        inner = self._weights(callee, local)
        outside = [reward[ret + k] for k in range(count)]
        after = sum(p * r for p, r in zip(inner, outside, strict=True))
        after += (self.unit - sum(inner)) * min(outside)
        own = self.unit * (reward[v] - self._whole(callee.rewards[local]))
        self._require(own <= after, place, at)
        for k in range(len(weight[v]) if len(weight[v]) > 1 else 0):
            reached = sum(p * weight[ret + j][k] for j, p in enumerate(inner))
            self._require(self.unit * weight[v][k] <= reached, place, at)

    def _weights(self, piece: Piece, local: int) -> list[int]:
        if piece.weights is None:
            return [self.unit]
        return [self._whole(x) for x in piece.weights[local]]

    def _start_below(self, root: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        for entry, number in enumerate(self.given.start_pieces):
            piece = self.given.pieces[number]
            weights = [Fraction(w, self.unit) for w in self._weights(piece, entry)]
            value = Fraction(piece.rewards[entry]) + (1 - sum(weights)) * min(root)
            value += sum(w * v for w, v in zip(weights, root, strict=True))
            total += self.model.exact.start(entry) * value
        return total

    def _start_steps(self) -> float:
        """Expected steps of every policy, or of that of the pieces; inf if not bounded."""
        first = int(self.tables.component_start[self.tables.start_component])
        own: list[Sequence[float]] = [self.given.steps[first:]] * len(self.tables.start_prob)
        if not self.given.steps:
            own = [self.given.pieces[i].steps or () for i in self.given.start_pieces]
        if not all(own) or not own:
            return math.inf
        return float(sum(self.model.exact.start(e) * Fraction(d[e]) for e, d in enumerate(own)))
