from __future__ import annotations

from typing import Any

import msgspec
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate, Piece, Point, check_form, numbers


def line() -> recurl.RMDP:
    builder = recurl.Builder("line").component("A", entries="in", exits="out")
    return builder.at("in").action("go", reward=2).to("out").build()


def certificate(**change: Any) -> Certificate:
    """One vertex, one exit: worth 2, one step."""
    given = Certificate(
        model=line().fingerprint, objective="max", rewards="model", exit_values=[0.0], lower=2.0,
        upper=2.5, points=[Point(0, [2.25, 0.0], [])], pieces=[Piece(0, [0, 0], [], [2.0, 0.0])],
        steps=[1.0, 0.0], start_points=[[(0, 1.0)]], start_pieces=[0], reach=[[0.5], [1.0]],
    )  # fmt: skip
    return msgspec.structs.replace(given, **change)


def test_what_fits_passes() -> None:
    check_form(line(), certificate())
    assert recurl.verify(line(), certificate()).upper == 2.5


def test_all_numbers() -> None:
    assert sorted(numbers(certificate())) == sorted(
        [1.0, 0.0, 0.0, 0.5, 1.0, 2.0, 2.5, 2.25, 0.0, 1.0, 2.0, 0.0]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": [1.0]}, "steps: one number per vertex"),
        ({"reach": [[0.5], [0.0, 1.0]]}, "reach: one number per vertex and exit"),
        ({"points": [Point(3, [2.25, 0.0], [])]}, "point 0: unknown component"),
        ({"points": [Point(0, [2.25], [])]}, "point 0: one value per vertex"),
        ({"points": [Point(0, [2.25, 0.0], [[(0, 1.0)]])]}, "point 0: one mix per call port"),
        ({"pieces": [Piece(0, [7, 0], [], [2.0, 0.0])]}, "piece 0: no action 7"),
        ({"pieces": [Piece(0, [0, 0], [], [2.0, 0.0], [[1.0], [1.0]])]}, "weights or one exit"),
        ({"start_points": [[(1, 1.0)]]}, "start_points: refers to 1"),
        ({"start_points": [[]]}, "start_points: an empty mix"),
        ({"start_pieces": []}, "start_pieces: one per start entry"),
        ({"model": "other"}, "for another model"),
        ({"objective": "most"}, "unknown question"),
        ({"lower": float("nan")}, "not finite"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        check_form(line(), certificate(**change))
