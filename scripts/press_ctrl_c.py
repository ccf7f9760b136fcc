"""Presses Ctrl-C in a terminal at random moments of every verb, and says what happened.

python scripts/press_ctrl_c.py --times 20
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

INTERRUPTED = 130
LIMIT = 2.0
"""Seconds within which an interrupted command ends."""

LONGEST = 8.0
"""Latest moment at which Ctrl-C is pressed, in seconds."""

LEARN = "learn cloud --seeds 3 --steps 1e9 --evaluate-every 20000"
DEEP = "learn cloud --algorithm deep-rql --steps 1e8"

COMMANDS = {
    "zoo": "zoo",
    "check": "check random_model components=300 nodes=30",
    "describe": "describe palindrome size=12 --all",
    "simulate": "simulate gambler p=0.499 --episodes 1e9",
    "solve": "solve palindrome size=8 --epsilon 1e-12",
    "learn": f"{LEARN} --out runs",
    "learn (deep)": f"{DEEP} --out runs",
    "pac": "pac cloud --epsilon 1e-4 --counts counts",
    "evaluate": "evaluate learned",
    "explain": "explain learned",
    "reproduce": "reproduce cloud --seeds 200 --out runs",
    "experiment": "experiment study.yaml --out runs",
    "tune": "tune search.yaml --out runs",
    "report": "report learned --out report",
    "suite": "suite run rql --tasks words --sizes large --steps 1000 --out runs",
    "analyse": "analyse palindrome size=8",
    "verify": "verify cloud cloud.cert",
    "convert": "convert palindrome size=12 out.yaml",
    "formats": "formats",
    "schema": "schema",
}

IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "recurl", *sys.argv[1:]])
"""
"""Makes stdin the terminal that Ctrl-C is pressed in, without a fork hook, and starts recurl."""

STUDY = """\
seeds: 4
steps: 1e8
models:
  cloud:
methods:
  recursive: {algorithm: rql}
"""

SEARCH = f"{STUDY}search:\n  learning_rate: {{low: 0.01, high: 1.0}}\ntrials: 4\n"


class Pressed(NamedTuple):
    """The result of one press: when, how the command ended, how long that took, what it said.

    `left` has the processes of the command that live on after it, and could still write.
    """

    moment: float
    code: int | None
    seconds: float
    output: str
    left: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Why this is not how an interrupted command ends; empty if it is."""
        if "Traceback" in self.output or "Error" in self.output:
            return "traceback"
        if self.left:
            return f"goes on in the background: {', '.join(self.left)}"
        if self.code not in (INTERRUPTED, 0):
            return f"exit code {self.code}"
        return "" if self.seconds <= LIMIT else f"{self.seconds:.1f} s"


class Terminal:
    """A command that runs in a terminal of its own."""

    def __init__(self, command: str, folder: Path, *, cold: bool = False) -> None:
        self.master, slave = pty.openpty()
        environment = os.environ | {"COLUMNS": "100", "TERM": "xterm"}
        if cold:
            environment["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
        # A signal that is ignored stays so in children, one that is handled does not.
        ours = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *command.split()],
            cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        signal.signal(signal.SIGINT, ours)
        os.close(slave)
        self._chunks: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._await_start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self.master, 65536):
                self._chunks.append(chunk)
        except OSError:  # the terminal is closed
            pass

    def _await_start(self) -> None:
        """Wait until the interpreter has begun to import the command: it listens by a pipe."""
        fds = Path(f"/proc/{self.process.pid}/fd")
        while self.process.poll() is None:
            try:
                if any(os.readlink(fd).startswith("pipe:") for fd in fds.iterdir()):
                    return
            except OSError:
                pass
            time.sleep(0.001)

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return b"".join(self._chunks).decode(errors="replace")

    def press(self) -> None:
        """Press Ctrl-C."""
        os.write(self.master, b"\x03")

    def left(self) -> tuple[str, ...]:
        """Command lines of the processes that the command has started and that are alive."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                _, _, rest = (process / "stat").read_text().rpartition(")")
                state, _, _, session, *_ = rest.split()
                if int(session) == self.process.pid and state not in "ZX":
                    found.append((process / "cmdline").read_text().replace("\0", " ").strip())
            except OSError:  # it has ended meanwhile
                pass
        return tuple(found)

    def close(self) -> None:
        """End the command, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(1.0)
        os.close(self.master)


def press_once(command: str, folder: Path, moment: float, *, cold: bool = False) -> Pressed:
    """Start a command, press Ctrl-C after a moment, and wait for the end; code None if it hangs."""
    terminal = Terminal(command, folder, cold=cold)
    try:
        terminal.process.wait(moment)
        return Pressed(moment, terminal.process.returncode, 0.0, terminal.output)
    except subprocess.TimeoutExpired:
        began = time.monotonic()
        terminal.press()
        try:
            terminal.process.wait(30)
        except subprocess.TimeoutExpired:
            return Pressed(moment, None, 30.0, terminal.output)
        took = time.monotonic() - began
        left = terminal.left()
        terminal._reader.join(1.0)
        return Pressed(moment, terminal.process.returncode, took, terminal.output, left)
    finally:
        terminal.close()


def prepare(folder: Path) -> None:
    """Make what some verbs read."""
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    (folder / "search.yaml").write_text(SEARCH, encoding="utf-8")
    for command in ("learn cloud --steps 1e5 --seeds 3 --out learned",
                    "solve cloud --certificate cloud.cert"):  # fmt: skip
        words = [sys.executable, "-m", "recurl", *command.split()]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)


def press_often(verb: str, times: int, folder: Path, seed: int) -> list[Pressed]:
    """Press Ctrl-C at random moments of a verb; moments after its end do not count."""
    dice, found, longest = random.Random(f"{seed} {verb}"), list[Pressed](), LONGEST
    while len(found) < times:
        # Half of the moments lie in the first quarter, where imports and compiling are.
        moment = longest * dice.random() ** 2
        pressed = press_once(COMMANDS[verb], folder, moment, cold=dice.random() < 0.5)
        for name in ("runs", "counts", "report", "out.yaml"):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).unlink(missing_ok=True)
        if pressed.code == 0 and not pressed.seconds:
            longest = min(longest, moment)
            continue
        found.append(pressed)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("verbs", nargs="*", default=list(COMMANDS))
    given = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for verb in given.verbs:
            found = press_often(verb, given.times, Path(name), given.seed)
            problems = [pressed for pressed in found if pressed.problem]
            codes = sum(pressed.code == INTERRUPTED for pressed in found)
            slowest = max(pressed.seconds for pressed in found)
            print(f"{verb}: {codes} of {len(found)} ended with 130, slowest {slowest:.2f} s")
            for one in problems:
                print(f"  at {one.moment:.2f} s: {one.problem}\n{one.output[-2000:]}")
            bad += len(problems)
    print(f"{bad} problems")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
