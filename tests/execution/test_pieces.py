from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.execution import works

from recurl.errors import RecurlError, UnknownNameError
from recurl.execution.pieces import Observer, PieceCounts, PieceOutcome, results_of, run_pieces

ENGINES = ["local", "processes"]


class Noting(Observer):
    def __init__(self) -> None:
        self.counts: list[PieceCounts] = []
        self.ended: list[int] = []
        self.retried: list[str] = []

    def count(self, counts: PieceCounts) -> None:
        self.counts.append(counts)

    def retry(self, piece: int, error: str) -> None:
        self.retried.append(error)

    def end(self, outcome: PieceOutcome) -> tuple[()]:
        self.ended.append(outcome.piece)
        return ()


class Interrupting(Observer):
    """Presses Ctrl-C as soon as a piece reports."""

    def report(self, piece: int, done: int, latest: float) -> None:
        raise KeyboardInterrupt


class Adding(Observer):
    """Every result below a hundred is squared in turn."""

    def end(self, outcome: PieceOutcome) -> list[int]:
        return [outcome.result] if outcome.result < 100 else []


@pytest.mark.parametrize("on", ENGINES)
def test_outcomes_are_in_the_order_of_the_items(on: str) -> None:
    noting = Noting()
    found = run_pieces(works.square, range(5), shared=1, on=on, workers=2, observer=noting)
    assert [outcome.result for outcome in found] == [1, 2, 5, 10, 17]
    assert sorted(noting.ended) == [0, 1, 2, 3, 4]
    first = noting.counts[0]
    assert (first.engine, first.running, first.waiting) == (on, 2, 3)
    assert max(counts.running for counts in noting.counts) <= 2


def test_an_outcome_may_lead_to_more_pieces() -> None:
    found = run_pieces(works.square, [2, 10], shared=0, observer=Adding())
    assert sorted(outcome.result for outcome in found) == [4, 16, 100, 256]


@pytest.mark.parametrize("on", ENGINES)
def test_a_piece_that_fails_does_not_stop_the_others(on: str) -> None:
    found = run_pieces(works.fail_on_odd, range(4), on=on, workers=2)
    assert [outcome.result for outcome in found] == [0, None, 2, None]
    assert "ValueError: 3 is odd" in found[3].error
    assert "in fail_on_odd" in found[3].error
    with pytest.raises(ValueError if on == "local" else RecurlError, match="1 is odd"):
        results_of(found)


@pytest.mark.parametrize("on", ENGINES)
def test_a_piece_is_tried_again_as_often_as_asked(on: str, tmp_path: Path) -> None:
    noting = Noting()
    (found,) = run_pieces(
        works.fail_at_first, [0], shared=str(tmp_path), on=on, retries=2, observer=noting
    )
    assert (found.result, found.attempts) == ("xx", 3)
    assert len(noting.retried) == 2
    (failed,) = run_pieces(works.fail_at_first, [1], shared=str(tmp_path), on=on, retries=1)
    assert (failed.attempts, failed.failed) == (2, True)
    assert "RuntimeError: not yet" in failed.error


@pytest.mark.parametrize("on", ENGINES)
def test_an_interrupt_lets_running_pieces_save_themselves(on: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_pieces(
            works.wait_for_stop,
            range(5),
            shared=str(tmp_path),
            on=on,
            workers=1,
            observer=Interrupting(),
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.begun", "0.saved"]


def test_an_engine_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(UnknownNameError, match="Known: local, processes, ray"):
        run_pieces(works.square, [], on="spark")


def test_no_items_no_outcomes() -> None:
    nothing: list[Any] = []
    assert run_pieces(works.square, nothing, on="processes") == []
