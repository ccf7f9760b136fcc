from __future__ import annotations

import os
from pathlib import Path

import pytest

import recurl
from recurl.errors import DocumentError
from recurl.model.limits import read_text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        read_text(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"ab\n\xff\xfe")
    with pytest.raises(DocumentError, match="line 2: is not text in UTF-8"):
        read_text(tmp_path / "binary")
    (tmp_path / "long").write_text("abcd")
    with pytest.raises(DocumentError, match="is larger than"):
        read_text(tmp_path / "long", 3)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfa: b")
    assert read_text(tmp_path / "marked") == "a: b"


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(DocumentError, match="is not a regular file"):
        recurl.automaton.load_reward_machine(tmp_path / "pipe.txt")
    (tmp_path / "world.yaml").write_text("{recurl: 1, grid: {map: S.G}, machine: pipe.txt}")
    with pytest.raises(DocumentError, match="is not a regular file"):
        recurl.automaton.load(tmp_path / "world.yaml")
