"""Certificates of models in which some policy does not end, and attempts to forge them."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from tests.solving.references import nested_retries, retry_client, stuck
from tests.solving.test_improper import help_desk, walk

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate, Piece, Point

IMPROPER = {"one exit": help_desk, "two exits": retry_client, "recursive": nested_retries}


@pytest.fixture(scope="module", params=IMPROPER)
def costly(request: pytest.FixtureRequest) -> tuple[recurl.RMDP, Certificate]:
    """A model in which a client may retry forever, and the certificate of its greatest total."""
    model = IMPROPER[request.param]()
    method = "policy-iteration" if model.kind.one_exit else "certified"
    return model, recurl.solve(model, method).certificate


def test_costs_take_the_place_of_steps(costly: tuple[recurl.RMDP, Certificate]) -> None:
    model, certificate = costly
    verdict = recurl.verify(model, certificate)
    assert verdict.theorems == ("costs", "policy")
    assert "a policy that takes infinitely many steps on average pays infinitely much" in str(
        verdict
    )
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.upper - verdict.lower <= 1e-6


def test_a_potential_that_does_not_fall_is_refused(costly: tuple[recurl.RMDP, Certificate]) -> None:
    model, certificate = costly
    assert certificate.potential is not None
    for v in np.flatnonzero(model.tables.states):
        potential = [x - 100.0 * (v == q) for q, x in enumerate(certificate.potential)]
        with pytest.raises(CertificateError, match="potential at"):
            recurl.verify(model, msgspec.structs.replace(certificate, potential=potential))


@pytest.mark.parametrize("missing", ["potential", "steps"])
def test_neither_may_be_missing(costly: tuple[recurl.RMDP, Certificate], missing: str) -> None:
    model, certificate = costly
    changed = msgspec.structs.replace(certificate, potential=None)
    if missing == "steps":
        pieces = [msgspec.structs.replace(piece, steps=None) for piece in certificate.pieces]
        changed = msgspec.structs.replace(certificate, pieces=pieces)
        # What is still to come is worth at most 0 here, which proves the lower end as well.
        assert recurl.verify(model, changed).theorems == ("costs", "nonpositive")
        worth = [1.0] * int(model.tables.n_exits[model.tables.start_component])
        changed = msgspec.structs.replace(changed, exit_values=worth, claim="")
    with pytest.raises(CertificateError, match=r"a value >= 0|exits worth at most 0"):
        recurl.verify(model, changed)


def test_steps_that_are_not_proved_are_not_reported() -> None:
    model = retry_client()
    certificate = recurl.solve(model, "certified").certificate
    assert recurl.verify(model, certificate).steps < math.inf
    begin = set(certificate.start_pieces)
    pieces = [
        piece if i in begin else msgspec.structs.replace(piece, steps=None)
        for i, piece in enumerate(certificate.pieces)
    ]
    verdict = recurl.verify(model, msgspec.structs.replace(certificate, pieces=pieces))
    assert verdict.theorems == ("costs", "nonpositive")
    assert verdict.steps == math.inf


def test_steps_of_pieces_must_fall(costly: tuple[recurl.RMDP, Certificate]) -> None:
    model, certificate = costly
    piece = certificate.pieces[certificate.start_pieces[0]]
    assert piece.steps is not None
    for k in (0, len(piece.steps) - 1):
        fewer = [x - 1.5 * (i == k) for i, x in enumerate(piece.steps)]
        pieces = [
            msgspec.structs.replace(each, steps=fewer) if each is piece else each
            for each in certificate.pieces
        ]
        with pytest.raises(CertificateError, match="steps of piece"):
            recurl.verify(model, msgspec.structs.replace(certificate, pieces=pieces))


def test_a_free_loop_has_no_potential_however_it_is_forged() -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits="out")
    for vertex in ("in", "n"):
        builder.at(vertex).action("stay").to("n").action("go", reward=-5).to("out")
    model = builder.build()  # staying forever pays nothing: the optimum is 0, not -5
    forged = Certificate(
        model=model.fingerprint, objective="max", rewards="model", exit_values=[], lower=-5.0,
        upper=-5.0, points=[Point(0, [-5.0, 0.0, -5.0], [])], steps=[], start_pieces=[0],
        pieces=[Piece(0, [1, 0, 1], [], [-5.0, 0.0, -5.0], steps=[1.0, 0.0, 1.0])],
        start_points=[[(0, 1.0)]], potential=[2.0, 0.0, 1.0],
    )  # fmt: skip
    with pytest.raises(CertificateError, match=r"potential at A\.n"):
        recurl.verify(model, forged)
    with pytest.raises(CertificateError, match="a value >= 0"):
        recurl.verify(model, msgspec.structs.replace(forged, potential=None))
    lower_only = msgspec.structs.replace(forged, potential=None, upper=None)
    assert recurl.verify(model, lower_only).theorems == ("policy",)


def test_visits_must_not_fall() -> None:
    model = recurl.zoo.gambler(p=0.6)
    certificate = recurl.solve(model, of="steps", objective="min").certificate
    verdict = recurl.verify(model, certificate)
    assert verdict.theorems == ("must go on",)
    assert verdict.lower == verdict.upper == math.inf
    assert "the least expected number of steps is inf, as every policy takes" in str(verdict)
    assert certificate.visits is not None
    for v in np.flatnonzero(model.tables.states):
        visits = [x + (v == q) for q, x in enumerate(certificate.visits)]
        with pytest.raises(CertificateError, match="visits at"):
            recurl.verify(model, msgspec.structs.replace(certificate, visits=visits))
    none = [0.0] * len(certificate.visits)
    with pytest.raises(CertificateError, match="more than 0 at the start"):
        recurl.verify(model, msgspec.structs.replace(certificate, visits=none))


def test_visits_of_a_model_that_ends_are_refused() -> None:
    """Twice as many calls as returns are needed: p = 0.4 has no visits that do not fall."""
    endless, ends = recurl.zoo.gambler(p=0.6), recurl.zoo.gambler(p=0.4)
    certificate = recurl.solve(endless, of="steps", objective="min").certificate
    moved = msgspec.structs.replace(certificate, model=ends.fingerprint)
    with pytest.raises(CertificateError, match="visits at"):
        recurl.verify(ends, moved)


def test_paying_for_ever_is_not_being_paid() -> None:
    model = stuck()
    certificate = recurl.solve(model).certificate
    assert recurl.verify(model, certificate).lower == -math.inf
    for change in ({"objective": "min"}, {"infinite": "inf"}, {"rewards": "none"}):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(certificate, **change))


def test_a_policy_that_is_paid_for_ever() -> None:
    model = walk(1, -5)
    certificate = recurl.solve(model).certificate
    assert recurl.verify(model, certificate).theorems == ("can go on",)
    with pytest.raises(CertificateError, match="no ends"):
        recurl.verify(model, msgspec.structs.replace(certificate, lower=0.0))
    (piece,) = certificate.pieces
    go = msgspec.structs.replace(piece, actions=[1] * len(piece.actions))
    with pytest.raises(CertificateError, match="visits at"):
        recurl.verify(model, msgspec.structs.replace(certificate, pieces=[go]))
    free = walk(0, -5)
    moved = msgspec.structs.replace(certificate, model=free.fingerprint)
    with pytest.raises(CertificateError, match="piece 0 at"):
        recurl.verify(free, moved)


def test_gains_after_calls_must_not_pile_up() -> None:
    """Returning pays 1 at every level, going down costs 2: going on forever is not paid for."""
    builder = recurl.Builder("deep").component("A", entries="in", exits="out").box("a", "A")
    builder.at("in").action("down", reward=-2).to("a").action("turn", reward=-2).to("out")
    builder.at("a.out").action("up", reward=1).to("out")
    model = builder.build()
    piece = Piece(0, [0, 0, 0, 0], [0], [-9.0, 0.0, -8.0, 0.5], visits=[1.0, 0.0, 1.0, 0.0])
    forged = Certificate(
        model=model.fingerprint, objective="max", rewards="model", exit_values=[], lower=None,
        upper=None, points=[], pieces=[piece], steps=[], start_points=[], start_pieces=[0],
        infinite="inf",
    )  # fmt: skip
    with pytest.raises(CertificateError, match="at most 0 after a call"):
        recurl.verify(model, forged)
