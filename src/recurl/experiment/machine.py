"""What computed a record: versions and machine."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from recurl.version import __version__

PACKAGES = ("numpy", "numba", "scipy", "jax", "optax")


@cache
def versions() -> dict[str, str]:
    """Versions of Python, this package and those it computes with.

    Example:
        >>> sorted(versions())[:2]
        ['jax', 'numba']
    """
    found = {"python": platform.python_version(), "recurl": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, Any]:
    """Processor, cores and system; nothing that names the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
