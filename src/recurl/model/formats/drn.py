"""DRN, the text format of Storm: written here, read through Storm.

The format has no rewards of branches: where those of one choice differ, their mean is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.files import write_atomic
from recurl.model.formats.flat import Flat, flat_of
from recurl.model.formats.format import Format
from recurl.model.formats.storm import read_by_storm

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


def write(model: RMDP, path: Path) -> None:
    """Write a model as a DRN file."""
    write_atomic(path, "\n".join(_lines(flat_of(model))) + "\n")


def _lines(flat: Flat) -> Iterator[str]:
    exact = flat.prob.dtype == object
    yield from ("// Exported by recurl", "@type: MDP")
    if exact:
        yield "@value_type: rational"
    yield from ("@parameters", "", "@reward_models", "reward ")
    yield from ("@nr_states", str(flat.n_states), "@nr_choices", str(len(flat.branches) - 1))
    yield "@model"
    text = str if exact else repr
    prob, target = [text(p) for p in flat.prob.tolist()], flat.target.tolist()
    paid = [text(r) for r in _means(flat).tolist()]
    names = _words(flat)
    labels = _labels(flat)
    begin, first = flat.branches.tolist(), flat.choices.tolist()
    for state in range(flat.n_states):
        yield f"state {state} [0]{labels.get(state, '')}"
        for choice in range(first[state], first[state + 1]):
            yield f"\taction {names[choice]} [{paid[choice]}]"
            for branch in range(begin[choice], begin[choice + 1]):
                yield f"\t\t{target[branch]} : {prob[branch]}"


def _means(flat: Flat) -> np.ndarray:
    """Expected reward of each choice."""
    begin = flat.branches[:-1]
    first = flat.reward[begin]
    same = np.repeat(first, np.diff(flat.branches)) == flat.reward
    equal = np.logical_and.reduceat(same.astype(bool), begin)
    return np.where(equal, first, np.add.reduceat(flat.prob * flat.reward, begin))


def _words(flat: Flat) -> list[str]:
    """Names of choices as words; numbers where a name is not a word."""
    words = [
        name if name.isascii() and name.replace("_", "").isalnum() else f"a{i}"
        for i, name in enumerate(flat.action_names or [])
    ]
    return words or [f"a{i}" for i in range(len(flat.branches) - 1)]


def _labels(flat: Flat) -> dict[int, str]:
    labels = {flat.initial: " init"}
    for k, (name, mask) in enumerate(flat.labels.items()):
        word = name if name.isascii() and name.replace("_", "").isalnum() else f"exit{k}"
        for state in np.flatnonzero(mask).tolist():
            labels[state] = f"{labels.get(state, '')} {word}"
    return labels


FORMAT = Format(
    "drn",
    "DRN, the text format of Storm",
    (".drn",),
    partial(read_by_storm, "drn"),
    write,
    extra="storm",
    takes=("goal", "rewards", "property"),
)
