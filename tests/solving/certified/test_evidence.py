"""Policies and certificates made from bounds speak of what they were made from."""

from __future__ import annotations

import pytest

import recurl
from recurl.model.tables import CALL
from recurl.solving.certified import solve_certified
from recurl.solving.question import Question


@pytest.mark.parametrize("objective", ["max", "min"])
def test_certificate_claims_the_interval(objective: str) -> None:
    model = recurl.zoo.stack_matters()
    solution = solve_certified(model, Question(objective), 1e-3)
    certificate = solution.certificate
    assert certificate.objective == objective
    assert certificate.lower == pytest.approx(solution.lower, abs=1e-7)
    assert certificate.upper == pytest.approx(solution.upper, abs=1e-7)


def test_every_point_and_piece_is_used() -> None:
    model = recurl.zoo.cloud()
    certificate = solve_certified(model, Question(), 1e-3).certificate
    points = {j for mix in certificate.start_points for j, _ in mix}
    points |= {j for point in certificate.points for mix in point.calls for j, _ in mix}
    assert points == set(range(len(certificate.points)))
    pieces = {*certificate.start_pieces, *(j for piece in certificate.pieces for j in piece.calls)}
    assert pieces == set(range(len(certificate.pieces)))


def test_the_policy_has_the_pieces_as_contexts() -> None:
    model = recurl.zoo.cloud()
    solution = solve_certified(model, Question(), 1e-6)
    assert solution.policy is not None
    assert solution.policy.n_contexts == len(solution.certificate.pieces)
    calls = int((model.tables.vertex_kind == CALL).sum())
    assert calls == 7


def test_points_are_those_that_the_certificate_lists() -> None:
    model = recurl.zoo.stack_matters()
    solution = solve_certified(model, Question(), 1e-3)
    listed = solution.certificate.points
    for c, own in enumerate(solution.points):
        assert len(own) == int((model.tables.vertex_component == c).sum())
        assert own.shape[1] == max(sum(point.component == c for point in listed), 1)
