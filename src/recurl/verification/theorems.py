"""The theorems that certificates rest on, also where some policy does not end.

Bounds of single steps are bounds of totals if every policy ends; or, for the upper end, if a
potential shows that not ending costs, or what is still to come is never worth less than 0; or, for
the lower end, if the policy of the pieces ends, or what is still to come is never worth more than
0. Infinite optima rest on visits that do not fall. The proofs are in
docs/explanation/certificates.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from recurl.model.tables import CALL, EXIT, RETURN
from recurl.verification.checker import Checker, Place
from recurl.verification.values import ValueChecker
from recurl.verification.verdict import Verdict

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP


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
    kind = _Theorems if certificate.values is None else ValueChecker
    return kind(model, certificate).verdict()


class _Theorems(Checker):
    """A checker that knows all theorems, and where runs can come to."""

    @cached_property
    def _visited(self) -> set[Place]:
        first = int(self.tables.component_start[self.tables.start_component])
        entries = [e for e in range(len(self.tables.start_prob)) if self.model.exact.start(e)]
        found: set[Place] = {(None, first + e) for e in entries}
        found |= {
            (self.given.start_pieces[e], first + e) for e in entries if self.given.start_pieces
        }
        new = list(found)
        self.callers: dict[Place, set[Place]] = defaultdict(set)
        self.left: dict[Place, set[int]] = defaultdict(set)
        while new:
            after = set(self._next(*new.pop())) - found
            found |= after
            new += after
        return found

    def _next(self, i: int | None, v: int) -> Iterator[Place]:
        """Where a run goes on; components that are called and left wait for each other."""
        t = self.tables
        if t.vertex_kind[v] == EXIT:
            here, port = (i, int(t.vertex_component[v])), int(t.vertex_port[v])
            self.left[here].add(port)
            yield from ((j, ret + port) for j, ret in self.callers[here])
        elif t.vertex_kind[v] == CALL:
            entry, ret, _, _ = self._ports(v)
            j = None if i is None else self._callee(i, v)
            there = (j, int(t.vertex_component[entry]))
            self.callers[there].add((i, ret))
            yield (j, entry)
            yield from ((i, ret + port) for port in self.left[there])
        for action in self._actions(v) if i is None else self._chosen(i, v):
            yield from ((i, target) for p, target in self._row(action).edges if p)

    def _callee(self, i: int, v: int) -> int:
        """The piece that a call of a piece enters."""
        piece, first = self.given.pieces[i], self.tables.component_start
        ports = self.tables.vertex_kind[int(first[piece.component]) : v] == CALL
        return piece.calls[int(ports.sum())]

    def _chosen(self, i: int, v: int) -> Sequence[int]:
        """The action of a piece at a vertex, if there are some."""
        piece, every = self.given.pieces[i], self._actions(v)
        first = int(self.tables.component_start[piece.component])
        return [every[piece.actions[v - first]]] if every else []

    def _returns(self, i: int | None, v: int) -> list[int]:
        """Exits, by number, after which a run can come back to a call."""
        _, ret, _, count = self._ports(v)
        return [k for k in range(count) if (i, ret + k) in self._visited]

    # Why bounds of single steps are bounds of totals

    def _check_premises(self) -> list[str]:
        return self._check_infinite() if self.given.infinite else self._check_ending()

    def _check_ending(self) -> list[str]:
        """The theorems that make the points and the pieces bounds."""
        if self.given.steps:
            return super()._check_premises()
        used = []
        if self.above is not None:
            used.append("costs" if self.given.potential else "nonnegative")
            (self._check_potential if self.given.potential else self._check_nonnegative)()
        if self.below is not None:
            own = {i for i, _ in self._visited if i is not None}
            ends = all(self.given.pieces[i].steps for i in own)
            used.append("policy" if ends else "nonpositive")
            (self._check_policy if ends else self._check_nonpositive)()
        return used

    def _places(self, *, policy: bool) -> Iterator[tuple[int, int]]:
        """Places that runs of any policy (as if in piece 0), or of that of the pieces, come to."""
        yield from ((i or 0, v) for i, v in self._visited if (i is not None) == policy)

    def _check_potential(self) -> None:
        """Falls: r + sum p h' < h; h(call) >= h(en) + max (h(ret) - h(ex)), none of them < 0."""
        h = [self._whole(x) for x in self.given.potential or [0.0] * self.tables.n_vertices]
        for _, v in self._places(policy=False):
            place = f"the potential at {self._name(v)}"
            if self.tables.vertex_kind[v] == CALL:
                entry, ret, first, _ = self._ports(v)
                change = [h[ret + k] - h[first + k] for k in self._returns(None, v)]
                self._require(min(change, default=0) >= 0, place)
                self._require(h[v] >= h[entry] + max(change, default=0), place)
            for row in map(self._row, self._actions(v)):
                after = row.reward * self.unit + sum(p * h[q] for p, q in row.edges)
                self._require(after < row.scale * h[v], place)

    def _check_nonnegative(self) -> None:
        """All w >= 0, where exits that are worth less than those of a point change nothing."""
        self.stops_at_0 = True
        for i, point in enumerate(self.given.points):
            first = int(self.tables.component_start[point.component])
            for k, value in enumerate(point.values):
                self._require(value >= 0, f"point {i}: a value >= 0", (None, first + k))

    def _check_nonpositive(self) -> None:
        """R <= 0 in all pieces, and no exit of the start is worth more."""
        self._require(all(self.sign * x <= 0 for x in self._root()), "exits worth at most 0")
        for i, piece in enumerate(self.given.pieces):
            self._require(max(piece.rewards) <= 0, f"piece {i}: rewards at most 0")

    def _own(self, i: int, what: str, v: int) -> int:
        """A number of a piece at a vertex; 0 if it lists none."""
        piece = self.given.pieces[i]
        values: Sequence[float] = getattr(piece, what) or ()
        first = int(self.tables.component_start[piece.component])
        return self._whole(values[v - first]) if values else 0

    def _check_policy(self) -> None:
        """All d >= 0; d >= 1 + sum p d'; d(call) >= d(en) + p.d(ret) + (1 - sum p) max d(ret)."""
        for i, piece in enumerate(self.given.pieces):
            self._require(min(piece.steps or [0.0]) >= 0, f"steps of piece {i}: none below 0")
        for i, v in self._places(policy=True):
            place, own = f"steps of piece {i} at {self._name(v)}", self._own(i, "steps", v)
            if self.tables.vertex_kind[v] == CALL:
                entry, ret, _, count = self._ports(v)
                j = self._callee(i, v)
                first = int(self.tables.component_start[self.given.pieces[j].component])
                p = self._weights(self.given.pieces[j], entry - first)
                back = [self._own(i, "steps", ret + k) for k in range(count)]
                after = sum(x * y for x, y in zip(p, back, strict=True))
                after += (self.unit - sum(p)) * max(back)
                self._require(self.unit * (own - self._own(j, "steps", entry)) >= after, place)
            for row in map(self._row, self._chosen(i, v)):
                after = sum(p * self._own(i, "steps", q) for p, q in row.edges)
                self._require(row.scale * (own - self.unit) >= after, place)

    # Infinite optima: visits f >= 0, 0 at exits, f <= sum p f', f(call) <= f(en) + min f(ret)

    def _check_infinite(self) -> list[str]:
        self.grows = self.sign * float(self.given.infinite or 0) > 0
        self._check_visits(policy=self.grows)
        if not self.grows:
            self._check_potential()
            return ["must go on"]
        for i, piece in enumerate(self.given.pieces):
            first = int(self.tables.component_start[piece.component])
            for kind, x in zip(self.tables.vertex_kind[first:], piece.rewards, strict=False):
                self._require(kind != RETURN or x <= 0, f"piece {i}: at most 0 after a call")
        return ["can go on"]

    def _check_visits(self, *, policy: bool) -> None:
        """All inequalities of the visits, for the actions of the pieces or for all actions."""

        def f(i: int, v: int) -> int:
            return (
                self._own(i, "visits", v) if policy else self._whole((self.given.visits or zero)[v])
            )

        zero = [0.0] * self.tables.n_vertices
        first = int(self.tables.component_start[self.tables.start_component])
        begin = self.given.start_pieces if policy else [0] * len(self.tables.start_prob)
        start = sum(self.model.exact.start(e) * f(i, first + e) for e, i in enumerate(begin))
        self._require(start > 0, "visits: more than 0 at the start")
        for i, v in self._places(policy=policy):
            place, own = f"visits at {self._name(v)}", f(i, v)
            exits = self.tables.vertex_kind[v] == EXIT
            self._require(own == 0 if exits else own >= 0, place)
            if self.tables.vertex_kind[v] == CALL:
                entry, ret, _, _ = self._ports(v)
                back = [f(i, ret + k) for k in self._returns(i if policy else None, v)]
                j = self._callee(i, v) if policy else 0
                self._require(own <= f(j, entry) + min(back, default=0), place)
            for row in map(self._row, self._chosen(i, v) if policy else self._actions(v)):
                self._require(row.scale * own <= sum(p * f(i, q) for p, q in row.edges), place)
