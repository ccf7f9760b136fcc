"""The progress bar: late, on stderr, and only where somebody looks."""

from __future__ import annotations

import io
import sys
import time

import pytest

from recurl.cli import progress
from recurl.cli.progress import Waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch, patience: float = 0.0) -> Terminal:
    """Put a terminal in the place of stderr; not in a fixture, where pytest would undo it."""
    made = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return made


def test_what_takes_long_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with Waiting("counting [sheep]", total=10) as waiting:
        _wait_for("counting [sheep]", terminal)
        waiting.update(5, "half of them")
        _wait_for("half of them", terminal)
    assert "\x1b[2K" in terminal.getvalue()


def test_what_is_quick_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch, patience=60.0)
    with Waiting("counting", total=10) as waiting:
        waiting.update(5)
    assert terminal.getvalue() == ""


def test_a_pipe_sees_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Waiting("counting"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_an_error_passes_and_takes_the_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError):
        _divide_by_zero(terminal)
    assert terminal.getvalue().endswith(("\x1b[2K", "\x1b[?25h", "\x1b[1A\x1b[2K"))


def _divide_by_zero(terminal: Terminal) -> None:
    with Waiting("dividing"):
        _wait_for("dividing", terminal)
        raise ZeroDivisionError


def _wait_for(text: str, terminal: Terminal) -> None:
    for _ in range(1000):
        if text in terminal.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} never appeared in {terminal.getvalue()!r}")
