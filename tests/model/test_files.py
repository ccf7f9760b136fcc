from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from recurl.execution.store import Store
from recurl.model import files
from recurl.model.files import write_atomic


def test_text_and_bytes_are_written(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a.txt", "ä\n")
    write_atomic(str(tmp_path / "b.bin"), b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == "ä\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\xff"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.bin"]
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failing_write_leaves_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.txt"
    write_atomic(target, "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    script = (
        "import os, signal, sys; from recurl.model import files\n"
        "files.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomic(sys.argv[1], 'new')"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script, str(target)], check=False)
        assert len(os.listdir(tmp_path)) == 1
    alive = tmp_path / f".a.txt.{platform.node()}.{os.getpid()}.x"
    alive.touch()
    write_atomic(target, "mine")
    assert sorted(os.listdir(tmp_path)) == [alive.name, "a.txt"]
    subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert len(os.listdir(tmp_path)) == 3
    Store(tmp_path).remove("a.txt")
    assert os.listdir(tmp_path) == [alive.name]
    Store(tmp_path / "missing").remove("a.txt")


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "no" / "a.txt", "x")


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_write_that_finds_no_room_names_the_file(tmp_path: Path) -> None:
    command = 'ulimit -f 0 && exec "$@"'
    words = [sys.executable, "-m", "recurl", "convert", "cloud", "a.yaml"]
    done = subprocess.run(
        ["bash", "-c", command, "bash", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "Error: [Errno 27] File too large: 'a.yaml'\n"
    assert os.listdir(tmp_path) == []
