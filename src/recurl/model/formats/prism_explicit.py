"""PRISM's explicit files, written: ``.tra`` (transitions), ``.lab`` (labels), ``.trew`` (rewards).

The path names the ``.tra`` file; the others lie beside it. Numbers are written as doubles.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.files import write_atomic
from recurl.model.formats.flat import Flat, flat_of
from recurl.model.formats.format import Format

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


def write(model: RMDP, path: Path) -> None:
    """Write a model as explicit files of an MDP."""
    flat = flat_of(model)
    texts = {
        ".lab": _labels(flat),
        ".trew": _numbers(flat, flat.reward, skip=True),
        path.suffix: _numbers(flat, flat.prob, skip=False),
    }
    for suffix, lines in texts.items():
        write_atomic(path.with_suffix(suffix), "\n".join(lines) + "\n")


def _numbers(flat: Flat, values: np.ndarray, *, skip: bool) -> Iterator[str]:
    """A header and a line ``state choice target number`` for each branch, sorted by target."""
    choice = np.repeat(np.arange(len(flat.branches) - 1), np.diff(flat.branches))
    state = np.repeat(np.arange(flat.n_states), np.diff(flat.choices))[choice]
    number = choice - flat.choices[state]
    floats = values.astype(np.float64)
    order = np.lexsort((flat.target, choice))
    kept = order[floats[order] != 0] if skip else order
    yield f"{flat.n_states} {len(flat.branches) - 1} {len(kept)}"
    columns = (state, number, flat.target, floats)
    rows = zip(*(column[kept].tolist() for column in columns), strict=True)
    for source, action, target, value in rows:
        yield f"{source} {action} {target} {value!r}"


def _labels(flat: Flat) -> Iterator[str]:
    names = [name if name.isidentifier() else f"exit{k}" for k, name in enumerate(flat.labels)]
    listed = ['0="init"', '1="deadlock"', *(f'{k}="{name}"' for k, name in enumerate(names, 2))]
    yield " ".join(listed)
    marks = {flat.initial: [0]}
    for k, mask in enumerate(flat.labels.values(), 2):
        for state in np.flatnonzero(mask).tolist():
            marks.setdefault(state, []).append(k)
    for state in sorted(marks):
        yield f"{state}: {' '.join(map(str, marks[state]))}"


FORMAT = Format(
    "prism-explicit",
    "explicit files of PRISM: .tra, with .lab and .trew beside it",
    (".tra",),
    write=write,
)
