from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recurl
from recurl.errors import CheckpointError
from recurl.model.table_folder import HEADER, TYPES, open_tables, save_tables


def test_tables_come_back_mapped_and_read_only(tmp_path: Path) -> None:
    tables = recurl.zoo.cloud().tables
    save_tables(tables, tmp_path / "cloud")
    found = open_tables(tmp_path / "cloud")
    for name, kind in TYPES.items():
        one, other = getattr(tables, name), getattr(found, name)
        assert isinstance(other, np.memmap)
        assert other.dtype == kind
        assert np.array_equal(one, other)
    with pytest.raises(ValueError, match="read-only"):
        found.prob[0] = 1.0
    assert found.start_component == tables.start_component
    assert found.start_prob.tolist() == tables.start_prob.tolist()


@pytest.mark.parametrize("damage", ["missing", "cut", "type", "header", "length"])
def test_a_damaged_folder_is_one_clear_error(damage: str, tmp_path: Path) -> None:
    save_tables(recurl.zoo.cloud().tables, tmp_path)
    file = tmp_path / "prob.npy"
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-5])
    elif damage == "type":
        np.save(file, np.zeros(3, np.int64))
    elif damage == "length":
        np.save(file, np.zeros(3))
    else:
        (tmp_path / HEADER).write_text("{}")
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        open_tables(tmp_path)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    save_tables(recurl.zoo.cloud().tables, tmp_path)
    np.save(tmp_path / "prob.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(CheckpointError):
        open_tables(tmp_path)
