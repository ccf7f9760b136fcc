"""Folders of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recurl.cli import runs
from recurl.cli.output import UsageError
from recurl.errors import CheckpointError, UnknownNameError
from recurl.experiment.learned import ASKED, Asked, seed_file
from recurl.experiment.options import learner_class
from recurl.learn.deep.learner import DQN, DeepRecursiveQLearning
from recurl.learn.tabular import QLearning, RecursiveQLearning
from recurl.zoo import cloud, gambler

SETTINGS: Asked = {"algorithm": "rql", "seeds": [0, 3], "settings": {"preset": "swift"}}


def test_short_names_stand_for_learners() -> None:
    found = [learner_class(name) for name in ("rql", "q", "deep-rql", "dqn")]
    assert found == [RecursiveQLearning, QLearning, DeepRecursiveQLearning, DQN]
    with pytest.raises(UnknownNameError, match="deep-rql"):
        learner_class("deep-rq")


def test_what_was_asked_is_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    runs.begin(folder, cloud(), SETTINGS)
    assert runs.read(folder) == (cloud(), SETTINGS)
    with pytest.raises(UsageError, match="--resume"):
        runs.begin(folder, gambler(), SETTINGS)
    assert runs.read(folder)[0] == cloud()


def test_learners_are_those_that_were_saved(tmp_path: Path) -> None:
    runs.begin(tmp_path, cloud(), SETTINGS)
    with pytest.raises(UsageError, match="saved yet"):
        runs.learners(tmp_path)
    RecursiveQLearning(cloud(), seed=3).learn(100).save(seed_file(tmp_path, 3))
    [found] = runs.learners(tmp_path)
    assert (found.steps, found.settings.seed) == (100, 3)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"algorithm": "x"}', "\x00", "{" * 10_000])
def test_a_damaged_folder_is_one_clear_error(text: str, tmp_path: Path) -> None:
    runs.begin(tmp_path, cloud(), SETTINGS)
    (tmp_path / ASKED).write_text(text)
    with pytest.raises(CheckpointError):
        runs.read(tmp_path)


@pytest.mark.parametrize("seeds", [None, 3, ["../../x"], [-1], [True], [1.5]])
def test_seeds_must_be_numbers(seeds: object, tmp_path: Path) -> None:
    """A name made of them must not lead out of the folder."""
    runs.begin(tmp_path, cloud(), SETTINGS)
    (tmp_path / ASKED).write_text(json.dumps({**SETTINGS, "seeds": seeds}))
    with pytest.raises(CheckpointError, match="damaged"):
        runs.read(tmp_path)
