"""Certificates: numbers that prove both ends of an interval and can be checked.

All numbers are binary floats taken literally. With rewards and exit values negated where the least
total is asked for, the inequalities are (see also docs/explanation/certificates.md):

- *Points* prove the upper end. Point i of a component has exit values v_i and a value w_i(q) for
  every vertex q, at least v_i at exits, at least the best action's expectation at states, and at a
  call port at least what a convex combination of points of the callee says of the exit values
  w_i(return ports): ``sum_j l_j w_j(en) + rise(w_i(ret) - sum_j l_j v_j)``.
- *Pieces* prove the lower end. A piece has an action per state, a piece of the callee per call
  port, and functions ``R(q) + p(q).v + (1 - sum p(q)) min v`` that its choices reach.
- *Steps* prove that every policy is proper: a bound d(q) >= 0 on the steps to an exit. Where some
  policy does not end, a *potential* h proves the upper end in their place, which falls by more than
  every step pays; or all w are at least 0. The lower end is proved by steps of the pieces alone; or
  all R are at most 0.
- An infinite optimum is proved by *visits* f >= 0, not 0 at the start, that do not fall: expected
  steps are infinite then. A potential in addition proves -inf, pieces that grow +inf.
- *Reach*, where it is given, says how often every policy leaves by each exit at least: p(q). If the
  exit values v change by t then what an entry is worth rises by at most
  ``rise(t) = p(en).t + (1 - sum p(en)) max t``; without it, by ``max t``.
- *Values* prove both ends of finite processes with totals of one sign in another way, for which not
  all policies need to end: see `Values`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from recurl.errors import CertificateError, DocumentError
from recurl.model.files import write_atomic
from recurl.model.limits import cut, read_bytes
from recurl.model.tables import CALL, runs

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Tables


class Point(msgspec.Struct, frozen=True):
    """Upper bounds at one vector of exit values.

    Attributes:
        component: Component that it belongs to.
        values: w(q) for every vertex of the component, in order; at exits, the exit values.
        calls: For every call port, in order: points of the callee and their weights, as
            ``[[point, weight], ...]``; weights are nonnegative and sum to 1 (the last one is taken
            to be what the others leave).
    """

    component: int
    values: list[float]
    calls: list[list[tuple[int, float]]]


class Piece(msgspec.Struct, frozen=True):
    """A lower bound that is attained: one policy, seen as a function of the exit values.

    Attributes:
        component: Component that it belongs to.
        actions: Action of every vertex, counted within the vertex; ignored at ports and exits.
        calls: For every call port, in order: the piece that the callee follows.
        rewards: R(q) for every vertex of the component.
        weights: p(q) for every vertex: a number per exit of the component. None means that the
            component has one exit and p = 1 throughout.
        steps: d(q) >= 0 for every vertex: a bound on the steps of the policy to an exit.
        visits: f(q) >= 0 for every vertex, which the policy does not let fall.
    """

    component: int
    actions: list[int]
    calls: list[int]
    rewards: list[float]
    weights: list[list[float]] | None = None
    steps: list[float] | None = None
    visits: list[float] | None = None


class Values(msgspec.Struct, frozen=True):
    """Bounds by state of a finite process whose totals are nonnegative, whether runs end or not.

    States are the vertices of contexts, context by context. Totals that are nowhere positive are
    negated: the greatest becomes the least.

    Attributes:
        contexts: Component, context that called it, and box, of every context; the first one is
            that of the start, ``[component, -1, -1]``. If empty, a vertex has several states, one
            for each exit of its component: the probability to leave by it; if there are several
            exits, one for the probability to leave by any; and one for the total of rewards, if
            they are paid. A call is worth a mix of entry and return ports. If an infinite total
            is claimed, `upper` has losses in the place of totals, and `lower` counts for nothing.
        lower: L(s) >= 0 by state.
        upper: U(s) >= 0 by state.
        actions: Action of every state, counted within the vertex; without contexts, of every
            vertex. A policy that attains the lower end, or the upper one if the least total is
            asked for.
        copies: Without contexts: component of every copy of one, and copies that its boxes call,
            in order; runs start in the first copy. States, and actions, are those of all copies.
            Empty if there is one copy of each component.
        progress: g(s) >= 0 by state: where L > 0, errors of L that are multiples of g get smaller.
            With contexts, and where a run that does not end is worth an infinite amount, it counts
            for nothing, and the bounds may have any sign.
    """

    contexts: list[tuple[int, int, int]]
    lower: list[float]
    upper: list[float]
    actions: list[int]
    progress: list[float]
    copies: list[tuple[int, list[int]]] = []

    def copied(self, t: Tables) -> tuple[list[int], dict[tuple[int, int], int]]:
        """The component of every context or copy, and the one that each of its boxes calls."""
        if self.contexts:
            child = {(caller, box): i for i, (_, caller, box) in enumerate(self.contexts)}
            return [component for component, _, _ in self.contexts], child
        boxes = [np.flatnonzero(t.box_owner == c).tolist() for c in range(t.n_components)]
        plain = [(c, t.box_component[own].tolist()) for c, own in enumerate(boxes)]
        copies = self.copies or plain
        pairs = [zip(boxes[c], called, strict=True) for c, called in copies]
        calls = {(i, box): j for i, own in enumerate(pairs) for box, j in own}
        return [c for c, _ in copies], calls


class BestWays(msgspec.Struct, frozen=True):
    """Totals of the best ways of a deterministic model to the exits, as totals are made great.

    Attributes:
        unit: Totals are whole numbers of 1 / unit.
        totals: For every vertex, the exits of its component that can be reached: the exit, the
            total, and the first step, which is an action, or the exit of a callee.
    """

    unit: int
    totals: list[list[tuple[int, int, int]]]


class Certificate(msgspec.Struct, frozen=True):
    """Evidence that the optimum lies between two numbers.

    Attributes:
        model: Fingerprint of the model.
        objective: ``"max"`` or ``"min"``.
        rewards: ``"model"``, ``"steps"`` or ``"none"``.
        exit_values: Worth of the exits of the start component.
        lower: The lower end that is claimed, or None.
        upper: The upper end that is claimed, or None.
        points: Points, of all components.
        pieces: Pieces, of all components.
        steps: d(q) for every vertex of the model; at exits, offsets, one of them 0 per component.
            Empty if not every policy is claimed to end.
        start_points: For each entry of the start component, points and weights as at calls.
        start_pieces: For each entry of the start component, the piece that a run begins in.
        reach: p(q) for every vertex of the model, a number per exit of its component; None for 0.
        potential: h(q) for every vertex of the model.
        visits: f(q) for every vertex of the model, which no action lets fall.
        scale: All numbers but exit values and ends, and but probabilities, steps and visits, are in
            units of 2**scale.
        infinite: ``"inf"`` or ``"-inf"`` if that is claimed of the optimum, in place of both ends.
        values: Bounds by state, in the place of points, pieces and steps.
        endless: ``"inf"`` or ``"-inf"`` if a run that does not end is worth that; None for what it
            collects.
        ways: Totals of ways, in the place of points, pieces and steps.
        loops: A node of each free loop if runs may stop there: then the rest of the certificate is
            about the model that `recurl.model.transforms.stopping` makes.
        recurl_certificate: Version of the format.
    """

    model: str
    objective: str
    rewards: str
    exit_values: list[float]
    lower: float | None
    upper: float | None
    points: list[Point] = []
    pieces: list[Piece] = []
    steps: list[float] = []
    start_points: list[list[tuple[int, float]]] = []
    start_pieces: list[int] = []
    reach: list[list[float]] | None = None
    potential: list[float] | None = None
    visits: list[float] | None = None
    infinite: str | None = None
    scale: int = 0
    values: Values | None = None
    endless: str | None = None
    loops: list[int] = []
    ways: BestWays | None = None
    claim: str = ""
    recurl_certificate: int = 1

    def question(self, model: RMDP) -> str:
        """The question that it answers, in words."""
        t = model.tables
        first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
        worth = {model.local_name(first + k): x for k, x in enumerate(self.exit_values) if x}
        return in_words(self.objective, self.rewards, worth, self.endless)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON."""
        write_atomic(path, msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate.

        Raises:
            CertificateError: The file is missing, damaged, or no certificate.
        """
        try:
            return cls.decode(read_bytes(path))
        except DocumentError as error:
            raise CertificateError(f"cannot read {path}: {error.problems[0].message}") from None
        except CertificateError as error:
            raise CertificateError(f"{path}: {error}") from error

    @classmethod
    def decode(cls, data: bytes) -> Certificate:
        """Read a certificate from its JSON text."""
        try:
            found: Any = msgspec.json.decode(data, type=cls)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError) as error:
            raise CertificateError(f"not a certificate: {cut(str(error))}") from error
        if found.recurl_certificate != 1:
            raise CertificateError(f"version {found.recurl_certificate} is not known, only 1 is")
        certificate: Certificate = found
        return certificate


_OBJECTIVES, _REWARDS = ("max", "min"), ("model", "steps", "none")
_INFINITE = (None, "inf", "-inf")
LARGEST_SCALE = 100_000
"""Units are 2**scale, with a scale of at most this size."""


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
    if given.endless not in _INFINITE or (given.endless and given.rewards == "none"):
        raise CertificateError(f"a run that does not end cannot be worth {given.endless!r}")
    if abs(given.scale) > LARGEST_SCALE:
        raise CertificateError(f"a unit of 2**{given.scale} is beyond all numbers of models")
    if not np.isfinite(np.fromiter(numbers(given), np.float64)).all():
        raise CertificateError("a number is not finite")
    _Form(model, given).check()
    if given.claim not in ("", asked := given.question(model)):
        raise CertificateError(f"it says that it is about the {given.claim}, not the {asked}")


def in_words(objective: str, rewards: str, worth: Mapping[str, float], endless: str | None) -> str:
    """A question in words, ``worth`` being that of the exits by name where it is not 0.

    Example:
        >>> in_words("min", "none", {"lost": 1.0}, None)
        'least probability to leave by lost'
    """
    best = "greatest" if objective == "max" else "least"
    if rewards == "none":
        if list(worth.values()) == [1.0]:
            return f"{best} probability to leave by {next(iter(worth))}"
        total = "expected worth of the exit reached"
    else:
        words = {"model": "expected total reward", "steps": "expected number of steps"}
        total = words[rewards]
    exits = [f"{name} worth {value:g}" for name, value in worth.items()]
    notes = [f"exits: {', '.join(exits)}"] if exits else []
    notes += [f"{endless} for runs that do not end"] if endless else []
    return f"{best} {total}" + (f" ({'; '.join(notes)})" if notes else "")


def numbers(given: Certificate) -> Iterator[float]:
    """All numbers of a certificate that are not references."""
    return chain.from_iterable(_lists_of_numbers(given))


def _lists_of_numbers(given: Certificate) -> Iterator[Iterable[float]]:
    for every in (given.steps, given.exit_values, given.potential, given.visits):
        yield every or ()
    yield from given.reach or ()
    yield [x for x in (given.lower, given.upper) if x is not None]
    for point in given.points:
        yield point.values
        yield from ([weight for _, weight in mix] for mix in point.calls)
    yield from ([weight for _, weight in mix] for mix in given.start_points)
    for piece in given.pieces:
        yield from (own or () for own in (piece.rewards, piece.steps, piece.visits))
        yield from piece.weights or ()
    if given.values is not None:
        yield from (given.values.lower, given.values.upper, given.values.progress)


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
        if given.values is not None:
            self._check_values(given.values)
            return
        if given.ways is not None:
            self._check_ways(given.ways)
            return
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

    def _check_ways(self, ways: BestWays) -> None:
        """One list per vertex, of exits of its component, each once."""
        t = self.tables
        exits = t.n_exits[t.vertex_component].tolist()
        self._require(ways.unit > 0 and len(ways.totals) == t.n_vertices, "ways: of every vertex")
        self._require(self.given.rewards != "none", "ways: of rewards or steps")
        for own, count in zip(ways.totals, exits, strict=True):
            known = {k for k, _, _ in own if 0 <= k < count}
            self._require(len(known) == len(own), "ways: to exits of the component")

    def _check_values(self, values: Values) -> None:
        """A number per state and an action per vertex of all contexts, or of all copies."""
        t, given = self.tables, self.given
        paid = given.rewards != "none"
        known = given.infinite is None or (paid and not (values.contexts and not given.endless))
        self._require(known, "an infinite total, and no contexts")
        (self._check_contexts if values.contexts else self._check_copies)(values)
        components, _ = values.copied(t)
        size, exits = np.diff(t.component_start)[components], t.n_exits[components]
        width = exits + (exits > 1) + paid
        states = int(size.sum() if values.contexts else (size * width).sum())
        lists = (values.lower, values.upper, values.progress)
        self._require(all(len(each) == states for each in lists), "a number per state")
        self._require(len(values.actions) == size.sum(), "an action per vertex")
        count = np.diff(t.action_start)[runs(t.component_start[components], size)]
        self._check_actions(values.actions, np.maximum(count, 1), "values")

    def _check_actions(self, actions: list[int], count: np.ndarray, place: str) -> None:
        """Actions exist; where there are none, any number that is not huge stands for that."""
        wrong = [a for a, n in zip(actions, count.tolist(), strict=True) if n and not 0 <= a < n]
        wrong += [a for a in actions if abs(a) >= 2**31]
        self._require(not wrong, f"{place}: no action {', '.join(map(str, wrong[:1]))}")

    def _check_contexts(self, values: Values) -> None:
        """Each context but the first is called by an earlier one, from a separate box."""
        t, seen = self.tables, set()
        self._require(values.contexts[0] == (t.start_component, -1, -1), "the first context")
        for i, (component, parent, box) in enumerate(values.contexts[1:], 1):
            self._require(0 <= parent < i and 0 <= box < t.n_boxes, f"context {i}")
            own = (int(t.box_owner[box]), int(t.box_component[box]))
            self._require(own == (values.contexts[parent][0], component), f"context {i}")
            self._require((parent, box) not in seen, f"context {i}")
            seen.add((parent, box))

    def _check_copies(self, values: Values) -> None:
        """Runs start in the first copy, and each box of a copy calls a copy of its callee."""
        t, copies = self.tables, values.copies
        start = t.start_component
        self._require(not copies or copies[0][0] == start, "copies of components")
        for i, (c, called) in enumerate(copies):
            self._require(0 <= c < t.n_components, "copies of components")
            fits = all(0 <= j < len(copies) for j in called)
            callees = [copies[j][0] for j in called] if fits else []
            self._require(callees == t.box_component[t.box_owner == c].tolist(), f"copy {i}")

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
        count = np.diff(t.action_start[vertices.start : vertices.stop + 1])
        self._check_actions(piece.actions, count, place)

    def _block(self, place: str, component: int) -> range:
        self._require(0 <= component < self.tables.n_components, f"{place}: unknown component")
        return self.tables.vertices_of(component)

    def _check_reference(
        self, number: int, among: Sequence[Point] | Sequence[Piece], component: int, place: str
    ) -> None:
        known = 0 <= number < len(among) and among[number].component == component
        self._require(known, f"{place}: refers to {number}, which is not one of that component")

    def _callees(self, vertices: range) -> list[int]:
        """Component called by each call port among some vertices."""
        t, own = self.tables, slice(vertices.start, vertices.stop)
        called: list[int] = t.box_component[t.vertex_box[own][t.vertex_kind[own] == CALL]].tolist()
        return called
