"""Checkpoints: killed runs go on to the bit, and bad files give one clear error."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.learn import killed

import recurl
from recurl.errors import CheckpointError
from recurl.learn.checkpoint import read_checkpoint, write_checkpoint

ROOT = Path(__file__).parents[2]


def test_a_killed_run_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    random_times = random.Random(1)
    kills = 0
    while True:
        command = [sys.executable, "-m", "tests.learn.killed", str(path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(random_times.uniform(0.0, 0.06))
        if kills < 4 and process.poll() is None:
            process.kill()
            kills += 1
        rest = process.stdout.read()
        process.wait()
        process.stdout.close()
        if rest == "done\n":
            break
    assert kills >= 3
    ended = recurl.RecursiveQLearning.load(path, recurl.zoo.cloud())
    undisturbed = killed.learner(tmp_path / "none").learn(killed.STEPS)
    same(ended, undisturbed)


def same(one: recurl.RecursiveQLearning, other: recurl.RecursiveQLearning) -> None:
    for name, array in one.engine.arrays().items():
        np.testing.assert_array_equal(array, other.engine.arrays()[name], name)
    np.testing.assert_array_equal(one.curve.array, other.curve.array)
    assert one.settings == other.settings


@pytest.mark.parametrize("kind", [recurl.RecursiveQLearning, recurl.QLearning])
@pytest.mark.parametrize("preset", ["paper", "swift"])
def test_a_loaded_run_goes_on_to_the_bit(kind: Any, preset: str, tmp_path: Path) -> None:
    model = recurl.zoo.stack_matters()
    one = kind(model, preset=preset, episode_limit=50, evaluate_every=1000).learn(5003)
    one.save(tmp_path / "a.ckpt")
    two = kind.load(tmp_path / "a.ckpt", model)
    same(one.learn(5000), two.learn(5000))


def test_a_run_on_an_environment_is_kept(tmp_path: Path) -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(), "onehot")
    one = recurl.RecursiveQLearning(env, preset="swift").learn(3000)
    one.save(tmp_path / "a.ckpt")
    two = recurl.RecursiveQLearning.load(tmp_path / "a.ckpt", env)
    for name in one.engine.arrays().keys() - {"place", "stack"}:  # an episode begins
        one_array, two_array = (run.engine.arrays()[name] for run in (one, two))
        np.testing.assert_array_equal(one_array, two_array, name)
    assert (two.steps, two.engine.episodes) == (one.steps, one.engine.episodes)
    assert two.learn(1000).steps == 4000


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "good.ckpt"
    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), preset="swift", episode_limit=200)
    learner.learn(2000).save(path)
    return path


def load(path: Path) -> Any:
    return recurl.RecursiveQLearning.load(path, recurl.zoo.cloud())


def test_damage_of_any_kind_is_one_error(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    bad = tmp_path / "bad.ckpt"
    numbers = random.Random(0)
    for _ in range(60):
        place = numbers.randrange(len(data))
        flipped = bytearray(data)
        flipped[place] ^= 1 << numbers.randrange(8)
        bad.write_bytes(data[:place])
        with pytest.raises(CheckpointError):
            load(bad)
        bad.write_bytes(bytes(flipped))
        try:
            read = load(bad)
        except CheckpointError:
            continue
        same(read.learn(100), load(saved).learn(100))  # the bit was one that nothing depends on


@pytest.mark.parametrize("text", [b"", b"no zip", b"PK\x03\x04" + b"\0" * 100])
def test_a_foreign_file_is_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(text)
    with pytest.raises(CheckpointError, match="not a valid checkpoint"):
        load(tmp_path / "x")
    with pytest.raises(CheckpointError):
        load(tmp_path / "missing")


def test_another_model_or_kind_is_refused(saved: Path) -> None:
    with pytest.raises(CheckpointError, match="not on this"):
        recurl.RecursiveQLearning.load(saved, recurl.zoo.gambler())
    with pytest.raises(CheckpointError, match="RecursiveQLearning"):
        recurl.QLearning.load(saved, recurl.zoo.cloud())


def test_another_version_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "x", {"kind": "k", "recurl_checkpoint": 99}, {})
    with pytest.raises(CheckpointError, match="99"):
        read_checkpoint(tmp_path / "x", "k")


def test_a_checkpoint_of_the_old_form_is_refused_with_what_to_do(tmp_path: Path) -> None:
    old = {"kind": "RecursiveQLearning", "recurl_checkpoint": 1, "version": "0.0.9"}
    write_checkpoint(tmp_path / "x", old, {})
    with pytest.raises(CheckpointError, match=r"format 1, .* learn again, .* \(0\.0\.9\)"):
        load(tmp_path / "x")


def test_compressed_members_and_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", msgspec.json.encode({"kind": "k"}))
        file.writestr("q.npy", b"\0" * 10_000_000)
    with pytest.raises(CheckpointError, match="compressed"):
        read_checkpoint(path, "k")
    member = io.BytesIO()
    np.save(member, np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", b"{}")
        file.writestr("q.npy", member.getvalue())
    with pytest.raises(CheckpointError):
        read_checkpoint(path, "k")


HOSTILE = {
    "kind": [np.full(3, 99, np.int32), np.zeros(0, np.int32), np.zeros(3)],
    "place": [np.full(10, 10**9), np.zeros(3, np.int64), np.full(10, -1)],
    "stack": [np.full((2, 5), 7, np.int32), np.zeros((1, 0), np.int32)],
    "log": [np.full((2000, 4), 10**6), np.zeros((3, 4), np.int64)],
    "values": [np.full(10, -1.0), np.full(10, np.nan)],
    "visits": [np.zeros(3, np.int64)],
    "random": [np.zeros(5, np.uint64)],
    "q": [np.zeros(5)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_numbers_are_refused(name: str, saved: Path, tmp_path: Path) -> None:
    header, arrays = read_checkpoint(saved, "RecursiveQLearning")
    for array in HOSTILE[name]:
        write_checkpoint(tmp_path / "x", header, {**arrays, name: array})
        with pytest.raises(CheckpointError):
            load(tmp_path / "x")
    del arrays[name]
    write_checkpoint(tmp_path / "x", header, arrays)
    with pytest.raises(CheckpointError):
        load(tmp_path / "x")


@pytest.mark.parametrize(
    "change",
    [{"settings": {}}, {"settings": {"quantum": -1}}, {"settings": None}, {"subject": 3}],
)
def test_hostile_headers_are_refused(change: Any, saved: Path, tmp_path: Path) -> None:
    header, arrays = read_checkpoint(saved, "RecursiveQLearning")
    write_checkpoint(tmp_path / "x", {**header, **change}, arrays)
    with pytest.raises(CheckpointError):
        load(tmp_path / "x")
