from __future__ import annotations

import msgspec
import pytest

from recurl.experiment.settings import Experiment, Method, ModelChoice
from recurl.learn.settings import PRESETS


def test_runs_are_methods_times_seeds(small: Experiment) -> None:
    names = [run.name for run in small.runs()]
    assert names == ["rql-0", "ql-0", "rql-swift-0", "rql-1", "ql-1", "rql-swift-1"]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="either zoo or file"):
        ModelChoice()
    twice = (Method("a", "rql"), Method("a", "q"))
    with pytest.raises(ValueError, match="given twice"):
        Experiment("e", ModelChoice(zoo="cloud"), twice, 10, (0,))


def test_a_preset_that_means_something_else_is_another_run(
    small: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper, _, swift, *_ = small.runs()
    before = paper.config, swift.config
    monkeypatch.setitem(PRESETS["swift"], "replay", 3)
    assert paper.config == before[0]
    assert swift.config != before[1]
    assert swift.config["preset"]["replay"] == 3


def test_config_is_the_same_after_json(small: Experiment) -> None:
    for run in small.runs():
        assert msgspec.json.decode(msgspec.json.encode(run.config)) == run.config
