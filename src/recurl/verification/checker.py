"""The independent checker of certificates: exact arithmetic, nothing from the solvers.

Every number of a certificate is a binary float, hence a whole number of units 2**-K for one K; the
model's own numbers are fractions. Inequalities are checked in whole numbers, after scaling, unless
rounded arithmetic proves them with room to spare (see `recurl.verification.rounded`).
With F the operator of the optimality equations, U >= F(U) and L <= F(L) imply that the optimum
lies between L and U *on a proper model*, and the step bounds d prove that the model is proper.
The proofs are in docs/solving.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from recurl.errors import CertificateError
from recurl.model.certificate_form import check_form, numbers
from recurl.model.tables import CALL, EXIT
from recurl.verification.rounded import Rounded, binary_places

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate, Piece, Point
    from recurl.model.rmdp import RMDP


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a certificate proves.

    Attributes:
        lower: The optimum is at least this, or None if nothing is claimed.
        upper: The optimum is at most this, or None if nothing is claimed.
        steps: Every policy ends within this expected number of steps from the start.
        checked: How many inequalities were checked.
        objective: Which optimum it is: ``"max"`` or ``"min"``.
        rewards: What is added up: ``"model"`` rewards, ``"steps"``, or ``"none"``.
        exit_values: Worth of each exit of the start component, by name, where one is not 0.
    """

    lower: float | None
    upper: float | None
    steps: float
    checked: int
    objective: str
    rewards: str
    exit_values: dict[str, float]

    @property
    def claim(self) -> str:
        """The total that the interval is about, in words."""
        best = "greatest" if self.objective == "max" else "least"
        worth = self.exit_values
        if self.rewards == "none":
            if list(worth.values()) == [1.0]:
                return f"{best} probability to leave by {next(iter(worth))}"
            total = "expected worth of the exit reached"
        else:
            words = {"model": "expected total reward", "steps": "expected number of steps"}
            total = words[self.rewards]
        exits = ", ".join(f"{name} worth {value:g}" for name, value in worth.items())
        return f"{best} {total}" + (f" (exits: {exits})" if exits else "")

    def __str__(self) -> str:
        low = "-inf" if self.lower is None else repr(self.lower)
        high = "inf" if self.upper is None else repr(self.upper)
        return (
            f"proved: the {self.claim} lies in [{low}, {high}], and every policy ends within "
            f"{self.steps:.6g} expected steps ({self.checked} inequalities, all exact)"
        )


def verify(model: RMDP, certificate: Certificate) -> Verdict:
    """Check a certificate against a model, in exact arithmetic.

    Raises:
        CertificateError: Names the first inequality that does not hold, or what is malformed.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud(exits=1)
        >>> verdict = recurl.verify(model, recurl.solve(model).certificate)
        >>> abs(verdict.lower + 5.3425) < 1e-6
        True
    """
    return _Checker(model, certificate).verdict()


@dataclass(frozen=True, slots=True)
class _Row:
    """An action in whole numbers: all fractions times their common denominator ``scale``."""

    scale: int
    reward: int
    edges: tuple[tuple[int, int], ...]  # (probability, vertex)


class _Checker:
    """One certificate under check; vertices are the model's, numbers whole."""

    def __init__(self, model: RMDP, certificate: Certificate) -> None:
        self.model, self.tables, self.given = model, model.tables, certificate
        self.sign = 1 if certificate.objective == "max" else -1
        self.checked = 0

    def verdict(self) -> Verdict:
        check_form(self.model, self.given)
        self.unit = 1 << binary_places(numbers(self.given))
        self.rows: dict[int, _Row] = {}
        rounded = Rounded(self.model, self.given, self.sign)
        self.proved_steps = rounded.steps()
        self.proved_points = rounded.points(self.given.points)
        self.proved_pieces = rounded.pieces(self.given.pieces)
        self._check_reach()
        self._check_steps()
        for i, point in enumerate(self.given.points):
            self._check_point(i, point)
        for i, piece in enumerate(self.given.pieces):
            self._check_piece(i, piece)
        root = [Fraction(self.sign * x) for x in self._root()]
        # For the least total everything is negated: the claim above becomes the one below.
        above, below = (self.given.upper, self.given.lower)[:: self.sign]
        if above is not None:
            self._require(self._start_above(root) <= self.sign * Fraction(above), "the upper claim")
        if below is not None:
            self._require(self._start_below(root) >= self.sign * Fraction(below), "the lower claim")
        return Verdict(
            self.given.lower,
            self.given.upper,
            self._start_steps(),
            self.checked + rounded.proved,
            self.given.objective,
            self.given.rewards,
            self._worth_by_name(),
        )

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
        scale = math.lcm(reward.denominator, *(p.denominator for p in probs))
        pairs = ((int(p * scale), int(t.target[i])) for p, i in zip(probs, edges, strict=True))
        return _Row(scale, self.sign * int(reward * scale), tuple(pairs))

    def _require(self, holds: bool, what: str) -> None:
        self.checked += 1
        if not holds:
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
                self._require(all(least <= x for x in self._reached(v, k)), place)

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
            return max(change)
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
            self._require(d[v] >= d[entry] + self._rise(entry, change), place)
        for action in self._actions(v):
            row = self._row(action)
            after = sum(p * d[target] for p, target in row.edges)
            self._require(row.scale * d[v] >= row.scale * self.unit + after, place)

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
                self._require(Fraction(value, self.unit) >= above, place)
            for action in self._actions(v):
                row = self._row(action)
                after = row.reward * self.unit + sum(p * w[target] for p, target in row.edges)
                self._require(row.scale * value >= after, place)

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
            place = f"piece {i} at {self._name(v)}"
            self._require(min(weight[v]) >= 0 and sum(weight[v]) <= self.unit, place)
            if t.vertex_kind[v] == EXIT:
                own = int(t.vertex_port[v])
                fits = all(w <= (self.unit if k == own else 0) for k, w in enumerate(weight[v]))
                self._require(reward[v] <= 0 and fits, place)
            elif t.vertex_kind[v] == CALL:
                self._check_piece_call(v, self.given.pieces[calls[v]], reward, weight, place)
            else:
                row = self._row(self._actions(v)[piece.actions[v - first]])
                after = row.reward * self.unit + sum(p * reward[q] for p, q in row.edges)
                self._require(row.scale * reward[v] <= after, place)
                for k in range(exits if exits > 1 else 0):
                    reached = sum(p * weight[q][k] for p, q in row.edges)
                    self._require(row.scale * weight[v][k] <= reached, place)

    def _check_piece_call(
        self,
        v: int,
        callee: Piece,
        reward: dict[int, int],
        weight: dict[int, list[int]],
        place: str,
    ) -> None:
        """R <= R_c + sum p_c R_ret + rho min R_ret;  p <= sum p_c p_ret."""
        entry, ret, _, count = self._ports(v)
        local = entry - int(self.tables.component_start[callee.component])
        inner = self._weights(callee, local)
        outside = [reward[ret + k] for k in range(count)]
        after = sum(p * r for p, r in zip(inner, outside, strict=True))
        after += (self.unit - sum(inner)) * min(outside)
        own = self.unit * (reward[v] - self._whole(callee.rewards[local]))
        self._require(own <= after, place)
        for k in range(len(weight[v]) if len(weight[v]) > 1 else 0):
            reached = sum(p * weight[ret + j][k] for j, p in enumerate(inner))
            self._require(self.unit * weight[v][k] <= reached, place)

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
        first = int(self.tables.component_start[self.tables.start_component])
        entries = range(len(self.tables.start_prob))
        return float(
            sum(self.model.exact.start(e) * Fraction(self.given.steps[first + e]) for e in entries)
        )
