from __future__ import annotations

import os

from tests.execution import works

from recurl.execution.pieces import run_pieces


def test_pieces_run_in_other_processes_which_are_used_again() -> None:
    outcomes = run_pieces(works.where, range(6), on="processes", workers=2)
    found = [outcome.result for outcome in outcomes]
    assert os.getpid() not in found
    assert len(set(found)) <= 2


def test_a_process_that_dies_is_replaced() -> None:
    found = run_pieces(works.die, range(4), on="processes", workers=1)
    assert [outcome.result for outcome in found] == [0, None, 2, 3]
    assert "exit code 7" in found[1].error


def test_a_result_that_cannot_be_sent_is_a_failure() -> None:
    (found,) = run_pieces(works.unsendable, [1], on="processes", workers=1)
    assert found.failed
    assert "pickle" in found.error.lower()
