"""Checkpoints: a header in JSON and arrays, in one file that is there whole or not at all.

The file is a zip of members that are stored as they are: ``header.json`` and one ``.npy`` per
array. Nothing in it is executed or unpickled, and no member is larger than the file itself.
"""

from __future__ import annotations

import io
import os
import struct
import tokenize
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec
import numpy as np

from recurl.errors import CheckpointError
from recurl.model.files import write_atomic
from recurl.model.limits import cut
from recurl.version import __version__

FORMAT = 2
_HEADER = "header.json"
_DAMAGE = (
    OSError, EOFError, KeyError, ValueError, TypeError, IndexError, OverflowError, MemoryError,
    RecursionError, NotImplementedError, RuntimeError, SyntaxError, AttributeError, struct.error,
    tokenize.TokenError, zipfile.BadZipFile, msgspec.MsgspecError,
)  # fmt: skip


def write_checkpoint(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a checkpoint; a crash leaves the file that was there before, or the new one.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.ckpt"
        >>> write_checkpoint(path, {"kind": "example"}, {"q": np.arange(3.0)})
        >>> header, arrays = read_checkpoint(path, "example")
        >>> arrays["q"]
        array([0., 1., 2.])
    """
    write_atomic(path, checkpoint_bytes(header, arrays))


def checkpoint_bytes(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a checkpoint file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        full = {"recurl_checkpoint": FORMAT, "version": __version__, **header}
        file.writestr(_HEADER, msgspec.json.encode(full))
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            file.writestr(f"{name}.npy", member.getvalue())
    return buffer.getvalue()


def read_checkpoint(
    path: str | os.PathLike[str] | BinaryIO, kind: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a checkpoint of a certain kind.

    Raises:
        CheckpointError: The file is missing, damaged, foreign, or of another version or kind.
    """
    try:
        with zipfile.ZipFile(path) as file:
            _check_members(file)
            header = msgspec.json.decode(file.read(_HEADER), type=dict[str, Any])
            names = [name for name in file.namelist() if name.endswith(".npy")]
            arrays = {name[:-4]: _array(file.read(name)) for name in names}
    except _DAMAGE as error:
        raise CheckpointError(f"{path} is not a valid checkpoint: {cut(repr(error))}") from error
    if header.get("recurl_checkpoint") != FORMAT:
        found = header.get("recurl_checkpoint")
        raise CheckpointError(
            f"{path} has format {found!r}, this version reads {FORMAT}: learn again, or load "
            f"it with the version that wrote it ({header.get('version')})"
        )
    if header.get("kind") != kind:
        raise CheckpointError(f"{path} is a checkpoint of {header.get('kind')!r}, not of {kind!r}")
    return header, arrays


def restoring(path: str | os.PathLike[str] | BinaryIO) -> _Restoring:
    """A context in which whatever is wrong with a checkpoint's content is one clear error."""
    return _Restoring(path)


class _Restoring:
    def __init__(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, _DAMAGE) and not isinstance(error, CheckpointError):
            raise CheckpointError(f"{self.path} does not hold a run: {cut(repr(error))}") from error


def _check_members(file: zipfile.ZipFile) -> None:
    for member in file.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"{member.filename} is compressed")


def _array(data: bytes) -> np.ndarray:
    stream = io.BytesIO(data)
    array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
    if array.dtype.kind not in "fiub" or stream.read(1):
        raise ValueError("an array of numbers was expected, and nothing after it")
    return array


def expect(
    arrays: Mapping[str, np.ndarray], name: str, dtype: Any, low: Any, high: Any
) -> np.ndarray:
    """An array of a checkpoint that must have a type and stay within bounds."""
    array = arrays[name]
    if array.dtype != np.dtype(dtype):
        raise ValueError(f"{name} has type {array.dtype}, not {np.dtype(dtype)}")
    if array.size and not (low <= array.min() and array.max() <= high):
        raise ValueError(f"{name} is out of bounds")
    return array
