"""What was seen of an environment, on disk."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.pac.foreign import Gamble

import recurl
from recurl.errors import CheckpointError
from recurl.learn.checkpoint import read_checkpoint, write_checkpoint
from recurl.learn.pac.environment import EpisodeAccess
from recurl.learn.pac.experience import Experience, Pair
from recurl.learn.pac.experience_file import KIND, load_experience, save_experience
from recurl.learn.pac.loop import PACTask

TASK = PACTask(1.0, 0.1, steps=6, reward_bound=8, support=2, seed=1)
HEAD = {"seed": 1}


def played(env: object) -> Experience:
    source = EpisodeAccess(env, TASK)
    source.sample(None, 1.0, 10**6)
    return source.experience


def content(pair: Pair) -> dict[str, Any]:
    """All that a pair holds; outcomes that came after the last level had been seen 0 times."""
    looked = [*pair.at_level, *([0] * len(pair.counts))][: len(pair.counts)]
    return {**asdict(pair), "at_level": looked}


@pytest.mark.parametrize("observation", ["index", "onehot"])
def test_states_pairs_and_counts_come_back(observation: str, tmp_path: Path) -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(exits=1), observation)
    one, other = played(env), Experience(env)
    save_experience(tmp_path / "seen", one, HEAD)
    load_experience(tmp_path / "seen", other, HEAD)
    assert [content(pair) for pair in other.pairs] == [content(pair) for pair in one.pairs]
    assert content(other.start) == content(one.start)
    np.testing.assert_array_equal(np.array(other.observations), np.array(one.observations))
    assert (other.pairs_of, other.samples) == (one.pairs_of, one.samples)
    states = range(len(one.observations))
    assert [other.component(s) for s in states] == [one.component(s) for s in states]


def test_no_file_is_nothing_seen(tmp_path: Path) -> None:
    assert load_experience(tmp_path / "none", Experience(Gamble()), HEAD) == ("", {})


def test_what_belongs_to_something_else_is_refused(tmp_path: Path) -> None:
    save_experience(tmp_path / "seen", played(Gamble()), HEAD)
    with pytest.raises(CheckpointError, match="seed 1, not 2"):
        load_experience(tmp_path / "seen", Experience(Gamble()), {"seed": 2})
    other = Experience(recurl.ModelEnv(recurl.zoo.cloud(exits=1)))
    with pytest.raises(CheckpointError, match="observations"):
        load_experience(tmp_path / "seen", other, HEAD)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", 5),
        ("owner", 99),
        ("state", 99),
        ("target", -4),
        ("observations", 0),
        ("kind", 7),
        ("looked", 10**9),
    ],
)  # fmt: skip
def test_damage_is_one_clear_error(name: str, value: int, tmp_path: Path) -> None:
    save_experience(tmp_path / "seen", played(Gamble()), HEAD)
    header, arrays = read_checkpoint(tmp_path / "seen", KIND)
    arrays[name] = np.full_like(arrays[name], value)
    write_checkpoint(tmp_path / "seen", header, arrays)
    with pytest.raises(CheckpointError, match="does not hold a run"):
        load_experience(tmp_path / "seen", Experience(Gamble()), HEAD)
