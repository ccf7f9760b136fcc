from __future__ import annotations

from pathlib import Path

import pytest

from recurl.execution.store import Store


@pytest.mark.parametrize("kind", ["folder", "url"])
def test_files_are_written_replaced_read_and_removed(kind: str, tmp_path: Path) -> None:
    if kind == "url":
        pytest.importorskip("fsspec", reason="URLs need the extra 'ray'")
    store = Store(tmp_path if kind == "folder" else f"local://{tmp_path}")
    assert store.read("a/b.partial") is None
    store.write("a/b.partial", b"one")
    store.write("a/b.partial", b"two")
    assert store.read("a/b.partial") == b"two"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.partial"]
    store.remove("a/b.partial")
    store.remove("a/b.partial")
    assert store.read("a/b.partial") is None


def test_any_url_of_fsspec_will_do() -> None:
    pytest.importorskip("fsspec", reason="URLs need the extra 'ray'")
    store = Store("memory://checkpoints")
    store.write("a/b.partial", b"one")
    store.write("a/b.partial", b"two")
    assert Store("memory://checkpoints").read("a/b.partial") == b"two"
    store.remove("a/b.partial")
    assert store.read("a/b.partial") is None


def test_a_folder_is_meant_wherever_the_reader_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store("runs").place == str(tmp_path / "runs")
