"""Ctrl-C: put off where something would be left half done, and never lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from recurl import interrupts
from recurl.interrupts import aside, check, deferred, farewell, in_threads, requested, whole


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C raises, also where the tests run in the background of a shell."""
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, ours)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)  # the handler runs in here


def press_later(seconds: float) -> None:
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()


def is_interrupted(*work: Callable[[], object]) -> None:
    """Do some work in a deferred block, which ends in an interrupt."""

    def do() -> None:
        with deferred():
            for one in work:
                one()

    with pytest.raises(KeyboardInterrupt):
        do()


def fail() -> None:
    raise AssertionError("this comes too late")


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done: list[int] = []
    is_interrupted(press, lambda: done.append(1))
    assert done == [1]
    assert not requested()
    with pytest.raises(KeyboardInterrupt):
        press()


def test_a_check_raises_it_before_the_end() -> None:
    seen: list[bool] = []
    is_interrupted(press, lambda: seen.append(requested()), check, fail)
    assert seen == [True]
    check()  # it is over


def test_a_second_one_is_not_put_off() -> None:
    is_interrupted(press, press, fail)


def test_a_second_one_waits_for_the_end_of_what_belongs_together() -> None:
    done: list[int] = []

    def change() -> None:
        with whole():
            press()
            with whole():
                press()
            done.append(1)

    is_interrupted(change, fail)
    assert done == [1]
    assert not requested()


def test_a_first_one_waits_on_after_what_belongs_together() -> None:
    done: list[int] = []

    @whole()
    def change() -> None:
        press()
        done.append(1)

    is_interrupted(change, lambda: done.append(2))
    assert done == [1, 2]
    with pytest.raises(KeyboardInterrupt):  # where nothing else puts it off
        change()
    assert done == [1, 2, 1]


def test_one_that_comes_at_the_end_of_the_block_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A block left halfway would put off, and then report, all later interrupts."""
    set_handler = signal.signal

    def press_before(number: int, handler: Callable[..., None]) -> object:
        if handler is signal.default_int_handler:
            press()
        return set_handler(number, handler)

    is_interrupted(press, lambda: monkeypatch.setattr(signal, "signal", press_before))
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with deferred():
        assert not requested()


def test_other_threads_are_not_interrupted() -> None:
    seen = []

    def work() -> None:
        with deferred():
            seen.append(requested())

    thread = threading.Thread(target=work)
    is_interrupted(press, thread.start, thread.join)
    assert seen == [False]


def test_a_handler_of_ones_own_stays() -> None:
    calls: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    with deferred():
        press()
    assert calls == [signal.SIGINT]


def test_jobs_are_asked_to_stop_and_waited_for() -> None:
    stop, ended = threading.Event(), []

    def job() -> None:
        stop.wait(60)
        ended.append(1)

    press_later(0.2)
    with pytest.raises(KeyboardInterrupt):
        in_threads([job, job, job], 2, stop=stop)
    assert len(ended) == 2  # the third one had not begun


def test_a_job_that_does_not_listen_is_left_behind() -> None:
    release = threading.Event()
    press_later(0.1)
    with pytest.raises(KeyboardInterrupt):
        in_threads([lambda: release.wait(60)], 1, patience=0.1)
    press_later(0.1)
    with pytest.raises(KeyboardInterrupt):
        aside(lambda: release.wait(60))
    release.set()


def test_an_error_of_a_job_is_raised_when_all_have_ended() -> None:
    ended = []

    def slow() -> None:
        time.sleep(0.1)
        ended.append(1)

    with pytest.raises(ZeroDivisionError):
        in_threads([lambda: 1 // 0, slow], 2)
    assert ended == [1]


def test_the_innermost_farewell_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), farewell(lambda: "outer"), farewell(lambda: "inner"):
        raise KeyboardInterrupt
    assert capsys.readouterr() == ("", "inner\n")
    with farewell(lambda: "not said"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("argument", "started", "command"),
    [
        ("/usr/bin/recurl", ["python", "/usr/bin/recurl"], True),
        ("-m", ["python", "-W", "error", "-m", "recurl", "zoo"], True),
        ("-m", ["python", "-m", "pytest", "recurl"], False),
        ("study.py", ["python", "study.py"], False),
    ],
)
def test_only_the_command_is_watched(
    argument: str, started: list[str], command: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [argument])
    monkeypatch.setattr(sys, "orig_argv", started)
    assert interrupts.is_command.__wrapped__() is command
