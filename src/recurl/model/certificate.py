"""Certificates: numbers that prove both ends of an interval and can be checked.

All numbers are binary floats taken literally. With rewards and exit values negated where the least
total is asked for, the inequalities are (see also docs/solving.md):

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
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from recurl.errors import CertificateError
from recurl.model.files import write_atomic


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
    """A lower bound that is attained: one strategy, seen as a function of the exit values.

    Attributes:
        component: Component that it belongs to.
        actions: Action of every vertex, counted within the vertex; ignored at ports and exits.
        calls: For every call port, in order: the piece that the callee follows.
        rewards: R(q) for every vertex of the component.
        weights: p(q) for every vertex: a number per exit of the component. None means that the
            component has one exit and p = 1 throughout.
        steps: d(q) >= 0 for every vertex: a bound on the steps of the strategy to an exit.
        visits: f(q) >= 0 for every vertex, which the strategy does not let fall.
    """

    component: int
    actions: list[int]
    calls: list[int]
    rewards: list[float]
    weights: list[list[float]] | None = None
    steps: list[float] | None = None
    visits: list[float] | None = None


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
        infinite: ``"inf"`` or ``"-inf"`` if that is claimed of the optimum, in place of both ends.
        recurl_certificate: Version of the format.
    """

    model: str
    objective: str
    rewards: str
    exit_values: list[float]
    lower: float | None
    upper: float | None
    points: list[Point]
    pieces: list[Piece]
    steps: list[float]
    start_points: list[list[tuple[int, float]]]
    start_pieces: list[int]
    reach: list[list[float]] | None = None
    potential: list[float] | None = None
    visits: list[float] | None = None
    infinite: str | None = None
    recurl_certificate: int = 1

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
            return cls.decode(Path(path).read_bytes())
        except OSError as error:
            raise CertificateError(f"cannot read {path}: {error}") from error
        except CertificateError as error:
            raise CertificateError(f"{path}: {error}") from error

    @classmethod
    def decode(cls, data: bytes) -> Certificate:
        """Read a certificate from its JSON text."""
        try:
            found: Any = msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CertificateError(f"not a certificate: {error}") from error
        if found.recurl_certificate != 1:
            raise CertificateError(f"version {found.recurl_certificate} is not known, only 1 is")
        certificate: Certificate = found
        return certificate
