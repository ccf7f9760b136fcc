"""Addresses of clusters that do not answer, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs the extra 'ray'")

RUN = """
import sys
from tests.execution import works
from recurl.execution.pieces import run_pieces
import ray
if sys.argv[2:]:
    ray.util.get_node_ip_address = lambda: sys.argv[2]
found = run_pieces(works.address_here, range(2), on=sys.argv[1])
print(*(outcome.result for outcome in found))
"""


def run(folder: Path, *given: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *given],
        env=os.environ | {"RAY_TMPDIR": str(folder)} | environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=150,
    )


def test_a_cluster_that_died_leaves_an_address_behind() -> None:
    """Ray itself waits without end; a node that cannot reach its own address uses loopback."""
    # The names of sockets below it may have a hundred letters: those of pytest's folders are long.
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ray").mkdir()
        (Path(folder) / "ray" / "ray_current_cluster").write_text("127.0.0.1:1")
        # An address for documentation: nobody's.
        done = run(Path(folder), "ray", "198.51.100.1")
    assert done.returncode == 0, done.stderr
    assert "the Ray cluster at 127.0.0.1:1 does not answer" in done.stderr
    assert done.stdout.split()[-2:] == ["127.0.0.2", "127.0.0.2"]


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "ray://127.0.0.1:1")
    assert done.returncode == 1
    assert "RecurlError: no Ray client server answers at ray://127.0.0.1:1" in done.stderr
