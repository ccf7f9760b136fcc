from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recurl.experiment.paper import paper_experiments
from recurl.experiment.progress import Display, TimeEstimate
from recurl.experiment.run import run_experiments
from recurl.experiment.settings import Experiment, Method


def test_no_estimate_before_every_method_has_begun() -> None:
    runs = list(paper_experiments(seeds=2)["cloud"].runs())
    estimate = TimeEstimate(runs, workers=2)
    estimate.note(runs[0], 50_000, 1.0)
    assert estimate.seconds() is None
    estimate.note(runs[1], 50_000, 2.0)
    estimate.note(runs[2], 50_000, 3.0)
    # Half a run and a whole one are left of each, at 2, 4 and 6 seconds a run, two at a time.
    assert estimate.seconds() == (3 + 6 + 9) / 2
    assert TimeEstimate([], workers=2).seconds() == 0
    assert estimate.share == 0.25
    for run in runs:
        estimate.complete(run)
    assert estimate.seconds() == 0


def test_a_method_that_has_begun_tells_the_pace_of_its_other_experiments() -> None:
    (first, *_) = paper_experiments(seeds=1)["cloud"].runs()
    other = msgspec.structs.replace(
        first, experiment=msgspec.structs.replace(first.experiment, name="other")
    )
    estimate = TimeEstimate([first, other], workers=1)
    estimate.complete(first, 20.0)
    assert estimate.seconds() == pytest.approx(20.0)


def test_a_continued_run_is_as_fast_as_it_is_now() -> None:
    (run, *_) = paper_experiments(seeds=1)["cloud"].runs()
    estimate = TimeEstimate([run], workers=1)
    estimate.note(run, 80_000, 10.0, before=70_000)
    assert estimate.seconds() == 20.0


def test_runs_too_short_to_report_tell_the_pace_at_their_end() -> None:
    runs = paper_experiments(seeds=2)["cloud"].runs()
    first, second = (run for run in runs if run.method.name == "rql")
    estimate = TimeEstimate([first, second], workers=1)
    estimate.note(first, 0, 0.0)
    estimate.complete(first, 3.0)
    assert estimate.seconds() == 3.0


def test_many_workers_do_not_shorten_a_run() -> None:
    (run, *_) = paper_experiments(seeds=1)["cloud"].runs()
    estimate = TimeEstimate([run], workers=8)
    estimate.note(run, 50_000, 30.0)
    assert estimate.seconds() == pytest.approx(30)


def test_where_there_is_no_terminal_a_line_tells_of_each_run(
    small: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Method("bad", "rql", {"learning_rate": 7}, label="bad")
    mixed = msgspec.structs.replace(small, methods=(*small.methods[:1], bad), seeds=(0,))
    with Display() as watch:
        run_experiments([mixed], tmp_path, watch=watch, workers=1)
    # A slow machine shows lines about the rest in between.
    lines = capsys.readouterr().err.splitlines()
    first, second = (line for line in lines if line.startswith("["))
    assert first.startswith("[1/2] cloud rql-0: policy worth -")
    assert second.startswith("[2/2] cloud bad-0 FAILED: ValueError")
