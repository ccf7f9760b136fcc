from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recurl.errors import BusyError
from recurl.execution.lock import NAME, locked

HOLD = """
import sys, time
from recurl.execution.lock import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that holds the lock of the folder."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_driver_is_refused_with_the_name_of_the_first(tmp_path: Path, holder) -> None:
    named = rf"in use by process {holder.pid} on .* since 20"
    with pytest.raises(BusyError, match=named), locked(tmp_path):
        pass


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path, holder) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / NAME).exists()
    with locked(tmp_path):
        assert str(os.getpid()) in (tmp_path / NAME).read_text()
    assert not (tmp_path / NAME).exists()


def test_a_folder_can_be_locked_again(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "new"):
            pass
