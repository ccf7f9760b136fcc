"""Checkpoints of pieces: files by name, in a folder or at any URL that fsspec reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from recurl.errors import MissingExtraError
from recurl.model.files import remove_file, write_atomic


class Store:
    """Files by name, where every process that may continue a piece can reach them.

    Args:
        place: A folder, or a URL such as ``s3://bucket/study`` or ``sftp://host/study``; a URL
            needs fsspec and the package that it asks for.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> store.write("cloud/runs/rql-0.checkpoint", b"half done")
        >>> store.read("cloud/runs/rql-0.checkpoint")
        b'half done'
        >>> store.remove("cloud/runs/rql-0.checkpoint")
        >>> store.read("cloud/runs/rql-0.checkpoint") is None
        True
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = str(place) if is_url(place) else str(Path(place).absolute())

    def path(self, name: str) -> str:
        """Where a file is, for messages."""
        return f"{self.place}/{name}"

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it does not exist."""
        try:
            if is_url(self.place):
                found: bytes = _files(self.place).cat_file(self.path(name))
                return found
            return Path(self.place, name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file; a crash leaves the old one or the new one."""
        if not is_url(self.place):
            path = Path(self.place, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
            return
        files, path_ = _files(self.place), self.path(name)
        files.makedirs(path_.rpartition("/")[0], exist_ok=True)
        files.pipe_file(f"{path_}.new", data)
        files.mv(f"{path_}.new", path_)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        if not is_url(self.place):
            remove_file(Path(self.place, name))
        elif (files := _files(self.place)).exists(self.path(name)):
            files.rm_file(self.path(name))


def is_url(place: str | os.PathLike[str]) -> bool:
    """Whether a place is named by a URL.

    Example:
        >>> is_url("s3://bucket/study"), is_url("runs/study")
        (True, False)
    """
    return "://" in str(place)


def _files(url: str) -> Any:
    """The file system of a URL."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError(f"Checkpoints at {url}", "ray") from error
    return url_to_fs(url)[0]
