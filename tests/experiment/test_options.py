from __future__ import annotations

import pytest

from recurl.errors import UnknownNameError, UnknownSettingError
from recurl.experiment.options import (
    check_settings,
    learner_options,
    make_learner,
    read_schedule,
)
from recurl.experiment.settings import Experiment, Method, Run
from recurl.learn.schedules import linear


def test_texts_of_schedules_are_read() -> None:
    found = learner_options({"learning_rate": 0.0005, "exploration": "linear(1, 0.1, 30_000)"})
    assert found == {"learning_rate": 0.0005, "exploration": linear(1, 0.1, 30_000)}


@pytest.mark.parametrize(
    ("name", "meant"),
    [("alpha", "learning_rate"), ("step_size", "learning_rate"), ("lr", "learning_rate"),
     ("epsilon", "exploration"), ("quantise", "quantum"), ("explorashun", "exploration")],
)  # fmt: skip
def test_other_names_are_answered_with_ours(name: str, meant: str) -> None:
    with pytest.raises(UnknownSettingError, match=f"no setting '{name}': did you mean {meant}?"):
        check_settings("rql", {name: 1})


@pytest.mark.parametrize("algorithm", ["rql", "q", "deep-rql", "dqn"])
def test_values_out_of_range_are_refused_before_a_model_is_made(algorithm: str) -> None:
    check_settings(algorithm, {"learning_rate": 0.5, "exploration": "linear(1, 0.1, 100)"})
    with pytest.raises(ValueError, match=r"learning_rate: .*within \[0, 1\], not 7"):
        check_settings(algorithm, {"learning_rate": 7})
    with pytest.raises(ValueError, match="episode_limit must be"):
        check_settings(algorithm, {"episode_limit": 0})


def test_unknown_names_are_refused(small: Experiment) -> None:
    run = Run(small, Method("m", "rql", {"apha": 1}), 0)
    with pytest.raises(UnknownSettingError, match="apha"):
        make_learner(run, small.model.make())
    with pytest.raises(UnknownNameError, match="schedule"):
        read_schedule("wavy", "1")
    with pytest.raises(ValueError, match="not a schedule"):
        read_schedule("linear", "1")
