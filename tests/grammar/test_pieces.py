from __future__ import annotations

from pathlib import Path

import pytest

from recurl.errors import DocumentError
from recurl.grammar.pieces import Pieces, read_document, read_file
from recurl.model.report import Report


def test_pieces_are_read_or_reported() -> None:
    report = Report()
    pieces = Pieces(report)
    assert pieces.fields({"a": "1", "b": "2"}, (), ("a",)) == {"a": "1"}
    assert pieces.words("x y", ()) == pieces.words(["x", "y"], ()) == ["x", "y"]
    assert pieces.texts({"a": "b"}, ()) == {"a": "b"}
    assert pieces.text([], ("t",)) == "unreadable"
    assert pieces.mapping([], ("m",)) == {}
    assert pieces.list({}, ("l",)) == []
    assert [problem.place for problem in report.problems] == ["b", "t", "m", "l"]


def test_documents_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is no valid YAML"):
        read_document("a: [", lambda tree, report: tree)
    with pytest.raises(DocumentError, match="cannot be read"):
        read_file(str(tmp_path / "nothing"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(DocumentError, match="no text in utf-8"):
        read_file(str(tmp_path / "binary"))
