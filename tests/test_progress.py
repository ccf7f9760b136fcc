"""The line about what is going on: late, on stderr, with numbers that mean something."""

from __future__ import annotations

import io
import sys
import time

import pytest

import recurl
from recurl import progress
from recurl.compilation import compiled_aside
from recurl.progress import Progress, activity


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch, patience: float = 0.0) -> Terminal:
    """Put a terminal in the place of stderr; not in a fixture, where pytest would undo it."""
    made = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(progress, "REFRESH", 0.01)
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("COLUMNS", "120")
    return made


def a_pipe(monkeypatch: pytest.MonkeyPatch, spacing: float = 0.01) -> io.StringIO:
    made = io.StringIO()
    monkeypatch.setattr(progress, "SPACING", spacing)
    monkeypatch.setattr(sys, "stderr", made)
    return made


def wait_for(text: str, stream: io.StringIO) -> None:
    for _ in range(1000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} never appeared in {stream.getvalue()!r}")


def test_what_takes_long_is_shown_with_a_bar_and_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = a_terminal(monkeypatch)
    with Progress("counting", 10, "sheep") as shown:
        wait_for("counting: 0 of 10 sheep", terminal)
        shown.update(5, "half of them")
        wait_for("[##########..........] counting: 5 of 10 sheep, ", terminal)
        wait_for("half of them", terminal)
        assert activity().startswith("counting: 5 of 10 sheep")
    assert terminal.getvalue().endswith(" \r")
    assert activity() == ""


def test_a_narrow_terminal_gets_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    with Progress("counting very many sheep", 10, "sheep"):
        wait_for("\rcounting very many ", terminal)
    assert max(map(len, terminal.getvalue().split("\r"))) == 19


def test_what_is_quick_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch, patience=60.0)
    with Progress("counting", 10) as shown:
        shown.update(5)
    assert terminal.getvalue() == ""


def test_a_pipe_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = a_pipe(monkeypatch)
    with Progress("counting", 10, "sheep") as shown:
        shown.update(5, "half of them")
        wait_for("half of them", pipe)
    first, *_ = pipe.getvalue().splitlines()
    assert first.startswith("counting: ")
    assert "\r" not in pipe.getvalue()


def test_speed_and_time_left_are_those_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    shown = Progress("learning", 10_000, "steps")
    shown.update(1000)
    clock[0] += 2.0
    shown.update(5000)
    assert shown.line() == "learning: 5,000 of 10,000 steps, 2,000 steps/s, 0:02 left"


def test_compiling_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with Progress("learning", 10, "steps") as shown:
        assert compiled_aside(shown.line).startswith("learning: compiling, 0 of 10 steps")
        assert "compiling" not in shown.line()


def test_only_the_innermost_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = a_pipe(monkeypatch)
    with Progress("outer"):
        wait_for("outer", pipe)
        with Progress("inner"):
            wait_for("inner", pipe)
            seen = pipe.getvalue().index("inner")
            time.sleep(0.05)
            assert "outer" not in pipe.getvalue()[seen:]


def test_an_error_passes_and_takes_the_line_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)

    def divide() -> None:
        with Progress("dividing"):
            wait_for("dividing", terminal)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        divide()
    assert terminal.getvalue().endswith(" \r")


def test_something_said_does_not_end_in_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with Progress("counting") as shown:
        wait_for("counting", terminal)
        shown.say("one got away")
    assert "\rone got away\n" in terminal.getvalue()


def test_a_learner_shows_steps_speed_and_its_latest_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = a_terminal(monkeypatch)
    tested = recurl.RecursiveQLearning(recurl.zoo.cloud(), evaluate_every=1000, episode_limit=200)
    tested.learn(3000, lambda _: time.sleep(0.1), progress_bar=True)
    assert "learning cloud: " in terminal.getvalue()
    assert "of 3,000 steps" in terminal.getvalue()
    assert "greedy return -" in terminal.getvalue()
    assert "(sampled)" in terminal.getvalue()
    plain = recurl.RecursiveQLearning(recurl.zoo.cloud(), episode_limit=200).learn(1000)
    assert plain.latest().startswith("return while learning -")
    assert plain.latest() == plain.latest()


def test_a_solver_shows_rounds_and_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Progress("solving cloud")
    shown.interval(-6.0, -5.0, {"rounds": 3.0, "points": 1200.0})
    assert shown.line() == "solving cloud: 3 rounds, 1,200 points, in [-6, -5], width 1"
    pipe = a_pipe(monkeypatch)
    recurl.solve(
        recurl.zoo.cloud(exits=1), "value-iteration", callback=lambda *_: time.sleep(0.05),
        progress=True,
    )  # fmt: skip
    assert "width" in pipe.getvalue()
