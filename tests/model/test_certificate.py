from __future__ import annotations

from typing import Any

import msgspec
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate, Piece, Point, Values, check_form, numbers


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


def by_state(copies: list[tuple[int, list[int]]] | None = None, **change: Any) -> Certificate:
    """Values of `line` by state: in one context, or in columns of copies."""
    own: dict[str, Any] = {
        "contexts": [(0, -1, -1)], "lower": [2.0, 0.0], "upper": [2.5, 0.0], "actions": [0, 0],
        "progress": [1.0, 0.0],
    }  # fmt: skip
    if copies is not None:
        values = {"lower": [1.0, 2.0, 1.0, 0.0], "upper": [1.0, 2.5, 1.0, 0.0]}
        own |= {"contexts": [], "copies": copies, "progress": [1.0, 1.0, 0.0, 0.0], **values}
    empty: dict[str, Any] = {"points": [], "pieces": [], "steps": [], "reach": None}
    return certificate(**empty, values=Values(**(own | change)))


@pytest.mark.parametrize("copies", [None, [], [(0, [])]])
def test_values_that_fit_pass(copies: list[tuple[int, list[int]]] | None) -> None:
    assert recurl.verify(line(), by_state(copies)).theorems == ("values",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": [(0, 0, -1)]}, "the first context"),
        ({"contexts": [(0, -1, -1), (0, 0, 0)]}, "context 1"),
        ({"copies": [(1, [])]}, "copies of components"),
        ({"copies": [(0, [0])]}, "copy 0"),
        ({"copies": [(0, []), (-1, [])]}, "copies of components"),
        ({"lower": [2.0]}, "a number per state"),
        ({"actions": [0]}, "an action per vertex"),
        ({"actions": [1, 0]}, "no action 1"),
        ({"actions": [0, 2**70]}, "no action"),
        ({"progress": [float("inf"), 0.0]}, "not finite"),
    ],
)
def test_values_that_do_not_fit_are_named(change: dict[str, Any], message: str) -> None:
    if "copies" in change:
        change = {**change, "contexts": []}
    with pytest.raises(CertificateError, match=message):
        check_form(line(), by_state(**change))


def test_actions_of_ports_are_not_looked_at_but_are_not_huge() -> None:
    odd = Piece(0, [0, -1], [], [2.0, 0.0])
    assert recurl.verify(line(), certificate(pieces=[odd])).lower == 2.0
    with pytest.raises(CertificateError, match="no action"):
        check_form(line(), certificate(pieces=[Piece(0, [0, 2**70], [], [2.0, 0.0])]))
