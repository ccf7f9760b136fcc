from __future__ import annotations

import pytest

from recurl.experiment.settings import Experiment, Method, ModelChoice


def test_runs_are_methods_times_seeds(small: Experiment) -> None:
    names = [run.name for run in small.runs()]
    assert names == ["rql-0", "ql-0", "rql-swift-0", "rql-1", "ql-1", "rql-swift-1"]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="either zoo or file"):
        ModelChoice()
    twice = (Method("a", "rql"), Method("a", "q"))
    with pytest.raises(ValueError, match="given twice"):
        Experiment("e", ModelChoice(zoo="cloud"), twice, 10, (0,))
