"""Tables in a folder: one ``.npy`` file for each array, mapped into memory when they are read.

A model that is larger than memory is read from disk page by page, as far as it is used. The header
is written last: a folder without one is not complete.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from recurl.errors import CheckpointError
from recurl.model.files import write_atomic
from recurl.model.limits import read_note
from recurl.model.tables import Tables

FORMAT = 1
HEADER = "tables.json"
TYPES: dict[str, Any] = {
    name: np.int32 for name in Tables._fields if name not in ("start_component", "start_prob")
} | {
    "vertex_kind": np.uint8,
    "move": np.uint8,
    "prob": np.float64,
    "reward": np.float64,
}
"""Type of each array that has a file."""


class Header(msgspec.Struct, frozen=True):
    """Facts about tables in a folder that are not arrays with a file.

    Attributes:
        sizes: Length of each array.
        start_component: Component in which a run starts.
        start_prob: Probability of each of its entries.
        format: Version of the format.
    """

    sizes: dict[str, int]
    start_component: int
    start_prob: list[float]
    format: int = FORMAT


def save_tables(tables: Tables, folder: str | os.PathLike[str]) -> None:
    """Write tables to a folder, which is made if it is not there.

    Example:
        >>> import recurl, tempfile
        >>> place, tables = tempfile.mkdtemp(), recurl.zoo.cloud(exits=1).tables
        >>> save_tables(tables, place)
        >>> open_tables(place).prob.tolist() == tables.prob.tolist()
        True
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, kind in TYPES.items():
        array = np.ascontiguousarray(getattr(tables, name), kind)
        np.save(place / f"{name}.npy", array, allow_pickle=False)
    write_header(place, tables.start_component, tables.start_prob.tolist())


def write_header(folder: Path, start_component: int, start_prob: list[float]) -> None:
    """Complete a folder whose arrays are written."""
    sizes = {name: len(_array(folder, name)) for name in TYPES}
    header = Header(sizes, start_component, start_prob)
    write_atomic(folder / HEADER, msgspec.json.encode(header))


def open_tables(folder: str | os.PathLike[str]) -> Tables:
    """The tables of a folder; their arrays are read from disk when they are used.

    Raises:
        CheckpointError: The folder holds no tables, or a file of it is missing or damaged.
    """
    place = Path(folder)
    try:
        header = read_note(place / HEADER, Header)
        arrays = {name: _array(place, name) for name in TYPES}
    except (OSError, ValueError, EOFError) as error:
        raise CheckpointError(f"{place} does not hold tables: {error}") from error
    if header.format != FORMAT:
        raise CheckpointError(f"{place} has format {header.format}; this version reads {FORMAT}")
    if header.sizes != {name: len(array) for name, array in arrays.items()}:
        raise CheckpointError(f"{place}: the length of an array is not the one of the header")
    start = np.array(header.start_prob, np.float64)
    start.setflags(write=False)
    return Tables(**arrays, start_component=header.start_component, start_prob=start)


def _array(folder: Path, name: str) -> np.ndarray:
    array: np.ndarray = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    if array.dtype != np.dtype(TYPES[name]) or array.ndim != 1:
        raise ValueError(f"{name}.npy has type {array.dtype} and {array.ndim} dimensions")
    return array
