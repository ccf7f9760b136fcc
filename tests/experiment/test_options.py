from __future__ import annotations

import pytest

from recurl.errors import UnknownNameError
from recurl.experiment.options import learner_options, make_learner, read_schedule
from recurl.experiment.settings import Experiment, Method, Run
from recurl.learn.schedules import linear


def test_the_papers_spelling_is_understood() -> None:
    found = learner_options("deep-rql", {"alpha": 0.0005, "epsilon": "linear(1, 0.1, 30_000)"})
    assert found == {"learning_rate": 0.0005, "exploration": linear(1, 0.1, 30_000)}


def test_unknown_names_are_refused(small: Experiment) -> None:
    run = Run(small, Method("m", "rql", {"apha": 1}), 0)
    with pytest.raises(UnknownNameError, match="apha"):
        make_learner(run, small.model.make())
    with pytest.raises(UnknownNameError, match="schedule"):
        read_schedule("wavy", "1")
    with pytest.raises(ValueError, match="no schedule"):
        read_schedule("linear", "1")
