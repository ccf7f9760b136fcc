"""Writing and removing files: a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path


def write_atomic(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file next to its place, then move it there in one step.

    Files that killed processes of this machine left half written beside it are removed.

    Example:
        >>> import tempfile, pathlib
        >>> target = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> write_atomic(target, "hello")
        >>> target.read_text()
        'hello'
    """
    target = Path(path)
    content = data.encode() if isinstance(data, str) else data
    prefix = f"{_temporary_prefix(target)}{os.getpid()}."
    try:
        _remove_leftovers(target)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=prefix)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        if error.errno is None:
            raise
        # A full disk names no file, other errors name the temporary one.
        raise OSError(error.errno, error.strerror, os.fspath(target)) from None


def remove_file(path: str | os.PathLike[str]) -> None:
    """Remove a file, if there is one, and what killed processes left half written beside it."""
    target = Path(path)
    target.unlink(missing_ok=True)
    if target.parent.is_dir():
        _remove_leftovers(target)


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}.{platform.node()}."


def _remove_leftovers(target: Path) -> None:
    """Remove the temporary files of processes that are not alive any more."""
    prefix = _temporary_prefix(target)
    for name in os.listdir(target.parent) if os.name == "posix" else []:
        process = name.removeprefix(prefix).split(".")[0]
        if name.startswith(prefix) and process.isdigit() and not _is_alive(int(process)):
            (target.parent / name).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
