"""No solver writes beyond its memory; the larger sweep is `python scripts/check_memory.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_memory.py"


def test_flat_models_with_loops_under_a_checking_allocator() -> None:
    command = [sys.executable, str(SCRIPT), "sample", "2000"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode == 77:
        pytest.skip(found.stdout)
    assert found.returncode == 0, found.stdout + found.stderr
    assert len(found.stdout.splitlines()) == 8
