"""Sharing out: every number once, whatever the threads, and an interruption ends it."""

from __future__ import annotations

import time

import pytest

from recurl.simulation.batches import share_out


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("total", [1, 2, 1000])
def test_every_number_is_done_once(total: int, threads: int) -> None:
    seen = [0] * total

    def mark(begin: int, end: int) -> None:
        for number in range(begin, end):
            seen[number] += 1

    share_out(mark, total, threads)
    assert seen == [1] * total


def test_the_callback_sees_the_work_advance() -> None:
    seen: list[int] = []
    share_out(lambda begin, end: time.sleep(0.2), 4, 1, callback=seen.append)
    assert seen == sorted(seen)
    assert set(seen) <= {2, 3, 4}
    assert seen


def test_an_error_of_the_job_comes_out() -> None:
    def fail(begin: int, end: int) -> None:
        if begin:
            raise OverflowError(f"at {begin}")

    with pytest.raises(OverflowError, match="at 1"):
        share_out(fail, 5, 1)


def test_an_interruption_leaves_the_rest_undone() -> None:
    done: list[int] = []

    def slow(begin: int, end: int) -> None:
        time.sleep(0.15)
        done.append(begin)

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        share_out(slow, 1000, 2, callback=interrupt)
    assert len(done) < 10
