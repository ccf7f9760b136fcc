"""The form of certificates: lengths fit the model, numbers are finite, references exist.

What a certificate claims is checked in `recurl.verification`, which relies on the form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recurl.errors import CertificateError
from recurl.model.tables import CALL

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate, Piece, Point
    from recurl.model.rmdp import RMDP

_OBJECTIVES, _REWARDS = ("max", "min"), ("model", "steps", "none")
_INFINITE = (None, "inf", "-inf")


def check_form(model: RMDP, given: Certificate) -> None:
    """Check that a certificate is for this model, and that everything that it refers to exists.

    Raises:
        CertificateError: Says what is malformed.
    """
    if given.model != model.fingerprint:
        raise CertificateError(f"the certificate is for another model than {model.name}")
    if given.objective not in _OBJECTIVES or given.rewards not in _REWARDS:
        raise CertificateError(f"unknown question {given.objective!r} of {given.rewards!r}")
    if given.infinite not in _INFINITE:
        raise CertificateError(f"an optimum cannot be {given.infinite!r}")
    if not all(math.isfinite(x) for x in numbers(given)):
        raise CertificateError("a number is not finite")
    _Form(model, given).check()


def numbers(given: Certificate) -> Iterator[float]:
    """All numbers of a certificate that are not references."""
    for every in (given.steps, given.exit_values, given.potential, given.visits):
        yield from every or ()
    yield from (x for row in given.reach or () for x in row)
    yield from (x for x in (given.lower, given.upper) if x is not None)
    for point in given.points:
        yield from point.values
    for mix in (m for p in given.points for m in p.calls):
        yield from (weight for _, weight in mix)
    yield from (weight for mix in given.start_points for _, weight in mix)
    for piece in given.pieces:
        for own in (piece.rewards, piece.steps, piece.visits):
            yield from own or ()
        yield from (weight for row in piece.weights or () for weight in row)


class _Form:
    """One certificate under check."""

    def __init__(self, model: RMDP, given: Certificate) -> None:
        self.tables, self.given = model.tables, given

    def check(self) -> None:
        given, t = self.given, self.tables
        exits = t.n_exits[t.vertex_component].tolist()
        for name in ("steps", "potential", "visits"):
            known = len(getattr(given, name) or ()) in (0, t.n_vertices)
            self._require(known, f"{name}: one number per vertex")
        self._require(given.reach is None or bool(given.steps), "reach without steps")
        if given.reach is not None:
            sizes = [len(row) for row in given.reach]
            self._require(sizes == exits, "reach: one number per vertex and exit")
        known = len(given.exit_values) in (0, int(t.n_exits[t.start_component]))
        self._require(known, "exit_values: one per exit, or none")
        for i, point in enumerate(given.points):
            self._check_point(i, point)
        for i, piece in enumerate(given.pieces):
            self._check_piece(i, piece)
        self._check_start()

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise CertificateError(f"malformed certificate: {what}")

    def _check_start(self) -> None:
        """Points for the upper claim, pieces for the lower (the reverse for a least total)."""
        given, c = self.given, self.tables.start_component
        entries = int(self.tables.n_entries[c])
        above, below = given.upper is not None, given.lower is not None
        if given.objective == "min":
            above, below = below, above
        if given.infinite is not None:
            self._require(not above and not below, "an infinite optimum has no ends")
            below = given.infinite == ("inf" if given.objective == "max" else "-inf")
        if above:
            self._require(len(given.start_points) == entries, "start_points: one per start entry")
            for mix in given.start_points:
                self._check_mix(mix, c, "start_points")
        if below or given.start_pieces:
            self._require(len(given.start_pieces) == entries, "start_pieces: one per start entry")
            for number in given.start_pieces:
                self._check_reference(number, given.pieces, c, "start_pieces")

    def _check_point(self, i: int, point: Point) -> None:
        vertices = self._block(f"point {i}", point.component)
        self._require(len(point.values) == len(vertices), f"point {i}: one value per vertex")
        callees = self._callees(vertices)
        self._require(len(point.calls) == len(callees), f"point {i}: one mix per call port")
        for mix, callee in zip(point.calls, callees, strict=True):
            self._check_mix(mix, callee, f"point {i}")

    def _check_mix(self, mix: Sequence[tuple[int, float]], component: int, place: str) -> None:
        self._require(len(mix) > 0, f"{place}: an empty mix of points")
        for j, _ in mix:
            self._check_reference(j, self.given.points, component, place)

    def _check_piece(self, i: int, piece: Piece) -> None:
        t, place = self.tables, f"piece {i}"
        vertices = self._block(place, piece.component)
        exits = int(t.n_exits[piece.component])
        weights = piece.rewards if piece.weights is None else piece.weights
        more = [len(own) for own in (piece.steps, piece.visits) if own is not None]
        sizes = (len(piece.actions), len(piece.rewards), len(weights), *more)
        self._require(set(sizes) == {len(vertices)}, f"{place}: one of each per vertex")
        # With one exit, R + p.v + (1 - p) min v is R + v whatever p is, so there is none to give.
        self._require((piece.weights is None) == (exits == 1), f"{place}: weights or one exit")
        fits = all(len(row) == exits for row in piece.weights or ())
        self._require(fits, f"{place}: one weight per exit")
        callees = self._callees(vertices)
        self._require(len(piece.calls) == len(callees), f"{place}: one piece per call port")
        for j, callee in zip(piece.calls, callees, strict=True):
            self._check_reference(j, self.given.pieces, callee, place)
        for v, action in zip(vertices, piece.actions, strict=True):
            count = int(t.action_start[v + 1] - t.action_start[v])
            self._require(count == 0 or 0 <= action < count, f"{place}: no action {action}")

    def _block(self, place: str, component: int) -> range:
        self._require(0 <= component < self.tables.n_components, f"{place}: no such component")
        start = self.tables.component_start
        return range(int(start[component]), int(start[component + 1]))

    def _check_reference(
        self, number: int, among: Sequence[Point] | Sequence[Piece], component: int, place: str
    ) -> None:
        known = 0 <= number < len(among) and among[number].component == component
        self._require(known, f"{place}: refers to {number}, which is not one of that component")

    def _callees(self, vertices: range) -> list[int]:
        """Component called by each call port among some vertices."""
        t = self.tables
        ports = [v for v in vertices if t.vertex_kind[v] == CALL]
        return [int(t.box_component[t.vertex_box[v]]) for v in ports]
