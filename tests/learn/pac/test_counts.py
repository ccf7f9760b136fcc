"""Counts on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recurl
from recurl.errors import CheckpointError
from recurl.learn.pac.access import ModelAccess
from recurl.learn.pac.adaptive import Adaptive
from recurl.learn.pac.counts import load_counts, save_counts


def test_counts_levels_and_bounds_come_back(tmp_path: Path) -> None:
    model = recurl.zoo.gambler(p=0.25)
    one = Adaptive(ModelAccess(model, 1), 0.5, 0.1)
    one.run()
    save_counts(tmp_path / "c", one.access, one.bounds)
    other = Adaptive(ModelAccess(model, 1), 0.5, 0.1)
    assert load_counts(tmp_path / "c", other.access, other.bounds)
    np.testing.assert_array_equal(other.access.counts, one.access.counts)
    np.testing.assert_array_equal(other.access.level, one.access.level)
    assert other.access.round == one.access.round
    assert (other.bounds.lower, other.bounds.upper) == (one.bounds.lower, one.bounds.upper)
    assert other.reached


def test_no_file_is_no_counts(tmp_path: Path) -> None:
    assert not load_counts(tmp_path / "none", ModelAccess(recurl.zoo.gambler()))


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (ModelAccess(recurl.zoo.cloud(exits=1)), "another model"),
        (ModelAccess(recurl.zoo.gambler(), seed=2), "seed 0"),
    ],
)
def test_foreign_counts_are_refused(access: ModelAccess, message: str, tmp_path: Path) -> None:
    save_counts(tmp_path / "c", ModelAccess(recurl.zoo.gambler()))
    with pytest.raises(CheckpointError, match=message):
        load_counts(tmp_path / "c", access)


def test_a_damaged_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"PK nothing")
    with pytest.raises(CheckpointError, match="damaged"):
        load_counts(tmp_path / "c", ModelAccess(recurl.zoo.gambler()))
