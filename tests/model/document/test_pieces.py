from __future__ import annotations

from recurl.model.document.pieces import TreePieces
from recurl.model.report import Report


def test_pieces_are_read() -> None:
    pieces = TreePieces(Report())
    assert pieces.fields({"a": "1"}, (), ("a", "b")) == {"a": "1"}
    assert pieces.names("x y", ()) == ["x y"]
    assert pieces.words("x y", ()) == pieces.words(["x", "y"], ()) == ["x", "y"]
    assert pieces.texts({"a": "b", "c": 1}, ()) == {"a": "b", "c": "1"}
    assert pieces.list(["a", {}], ()) == ["a", {}]
    assert pieces.truth("true", ())
    assert pieces.truth(True, ())
    assert not pieces.truth("False", ())
    assert not pieces.report.problems


def test_what_does_not_fit_is_reported() -> None:
    pieces = TreePieces(Report())
    assert pieces.fields({"a": "1", "xyz": "2"}, (), ("a",)) == {"a": "1"}
    assert pieces.text([], ("t",)) == "unreadable"
    assert pieces.truth("perhaps", ("p",)) is False
    assert pieces.mapping([], ("m",)) == {}
    assert pieces.list({}, ("l",)) == []
    assert pieces.names({}, ("n",)) == pieces.words({}, ("w",)) == []
    assert [str(problem).partition(" (")[0] for problem in pieces.report.problems] == [
        "xyz: unknown key",
        "t: is a list, not text",
        "p: is neither true nor false",
        "m: is a list, not a mapping",
        "l: is a mapping, not a list",
        "n: is a mapping, not a list of names",
        "w: is a mapping, not a list of names",
    ]
