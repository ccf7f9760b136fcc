"""Writing files so that a crash leaves the old one or the new one, never half of either."""

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
    ours = f".{target.name}.{platform.node()}."
    _remove_leftovers(target.parent, ours)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f"{ours}{os.getpid()}.")
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


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove the temporary files of processes that are not alive any more."""
    for name in os.listdir(folder) if os.name == "posix" else []:
        process = name.removeprefix(prefix).split(".")[0]
        if name.startswith(prefix) and process.isdigit() and not _is_alive(int(process)):
            (folder / name).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
