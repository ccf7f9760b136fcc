"""Ctrl-C in a terminal: every verb ends with 130 and without a traceback, whatever it is doing.

More presses: python scripts/press_ctrl_c.py --times 20
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import press_ctrl_c
from press_ctrl_c import COMMANDS, INTERRUPTED, Terminal, press_once
from recurl.cli.app import VERBS
from recurl.interrupts import ONE_PRESS
from recurl.learn.tabular import RecursiveQLearning
from recurl.zoo import cloud

from .conftest import Run

LONG = {"describe", "simulate", "solve", "learn", "learn (deep)", "pac", "reproduce", "experiment"}
"""Verbs whose commands last much longer than any moment at which the tests press Ctrl-C."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pressed")
    press_ctrl_c.prepare(made)
    return made


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """What verbs read, in a folder of its own: those that write must not find what others wrote."""
    return shutil.copytree(prepared, tmp_path / "pressed")


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_can_be_interrupted(verb: str, folder: Path) -> None:
    if verb == "tune":
        pytest.importorskip("optuna", reason="needs the extra 'tune'")
    moment = random.Random(verb).random() * 1.5
    pressed = press_once(COMMANDS[verb], folder, moment)
    assert "Traceback" not in pressed.output
    assert pressed.code in (INTERRUPTED, 0)
    assert pressed.left == ()  # nothing that could write after the exit code
    # The other commands may end by themselves at the moment of the press.
    assert pressed.code == INTERRUPTED or verb not in LONG


def test_nothing_is_written_after_the_exit_code(folder: Path) -> None:
    """In the middle of its work, with processes and threads of its own."""
    terminal = Terminal(COMMANDS["experiment"], folder)
    try:
        _wait((folder / "runs").exists)
        time.sleep(1)
        terminal.press()
        assert terminal.process.wait(30) == INTERRUPTED
        assert terminal.left() == ()
        written = _state(folder)
        time.sleep(0.5)
        assert _state(folder) == written
    finally:
        terminal.close()


def _state(folder: Path) -> dict[Path, tuple[int, int]]:
    found = ((file, file.stat()) for file in folder.rglob("*"))
    return {file: (stat.st_mtime_ns, stat.st_size) for file, stat in found}


def test_every_verb_is_pressed() -> None:
    assert {name.split()[0] for name in COMMANDS} == set(VERBS)


def test_a_run_that_was_interrupted_goes_on_to_the_bit(run: Run, tmp_path: Path) -> None:
    given = ("learn", "cloud", "--evaluate-every", "30000", "--seeds", "2", "--exploration", "0.1")
    run(*given, "--out", "compiled", "--steps", "1000")  # from now on runs begin at once
    command = f"{' '.join(given)} --steps 1e9 --out cut"
    terminal = Terminal(command, tmp_path)
    try:
        _wait(lambda: re.search(r"[1-9][\d,]* of 2,000,000,000 steps", terminal.output))
        time.sleep(1)
        terminal.press()
        assert terminal.process.wait(30) == INTERRUPTED
    finally:
        terminal.close()
    said = terminal.output  # all of it was read when the terminal was closed
    assert "Traceback" not in said
    assert "Saved in cut. Continue: recurl learn cloud --out cut --steps 1000000000" in said
    saved = [_load(tmp_path / "cut", seed) for seed in (0, 1)]
    steps = max(one.steps for one in saved) + 50_001
    run("learn", "cloud", "--out", "cut", "--steps", str(steps), "--resume")
    run(*given, "--out", "whole", "--steps", str(steps))
    for seed in (0, 1):
        one, other = _load(tmp_path / "cut", seed), _load(tmp_path / "whole", seed)
        assert one.steps == steps
        np.testing.assert_array_equal(one.curve.array, other.curve.array)
        for name, array in other.engine.arrays().items():
            np.testing.assert_array_equal(one.engine.arrays()[name], array)


def test_the_second_press_ends_it_at_once(tmp_path: Path) -> None:
    terminal = Terminal(COMMANDS["learn (deep)"], tmp_path)
    try:
        _wait((tmp_path / "runs" / "run.json").exists)  # it compiles now
        terminal.press()
        time.sleep(2 * ONE_PRESS)
        terminal.press()
        assert terminal.process.wait(30) == INTERRUPTED
    finally:
        terminal.close()
    assert "Traceback" not in terminal.output


def test_two_signals_of_one_press_let_it_save() -> None:
    """``timeout -s INT`` sends two."""
    script = (
        "import sys, time; sys.argv = ['recurl']\n"
        "from recurl import interrupts\n"
        "interrupts.watch_command()\n"
        "with interrupts.deferred():\n"
        "    print('ready', flush=True)\n"
        "    while not interrupts.requested(): time.sleep(0.01)\n"
        "    time.sleep(0.5)\n"
        "    print('saved', flush=True)\n"
    )
    process = _started(script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "saved\n"
    process.stdout.close()
    process.wait(30)


def _started(script: str) -> subprocess.Popen[str]:
    """A process that hears Ctrl-C, whatever this one does."""
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    given = [sys.executable, "-c", script]
    process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    signal.signal(signal.SIGINT, ours)
    return process


def _wait(there: Callable[[], object]) -> None:
    for _ in range(6000):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


def _load(folder: Path, seed: int) -> RecursiveQLearning:
    return RecursiveQLearning.load(folder / f"seed-{seed}.ckpt", cloud())


def test_a_press_while_the_interpreter_ends_does_not_count(tmp_path: Path) -> None:
    script = (
        "import atexit, time, sys; sys.argv = ['recurl', 'schema']\n"
        "from recurl.cli import main\n"
        "atexit.register(lambda: (print('ending', flush=True), time.sleep(1)))\n"
        "main()"
    )
    process = _started(script)
    assert process.stdout is not None
    while process.stdout.readline() != "ending\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(30) == 0


def test_compiled_bounds_leave_other_threads_alone() -> None:
    """Else the thread that hears Ctrl-C would wait for the end of a search."""
    from recurl.learn.pac import robust

    found = [one for one in vars(robust).values() if hasattr(one, "targetoptions")]
    assert found
    assert all(one.targetoptions.get("nogil") or one.targetoptions.get("inline") for one in found)
