"""Counts on disk: sampling that was stopped goes on where it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import CheckpointError
from recurl.learn.checkpoint import expect, read_checkpoint, restoring, write_checkpoint

if TYPE_CHECKING:
    from recurl.learn.pac.access import ModelAccess
    from recurl.learn.pac.robust import RobustBounds

KIND = "pac"
_MOST = 2**62


def save_counts(
    path: str | os.PathLike[str], access: ModelAccess, bounds: RobustBounds | None = None
) -> None:
    """Write what was drawn, and the bounds found, in one file that is there whole or not at all.

    Example:
        >>> import recurl, tempfile, pathlib
        >>> from recurl.learn.pac.access import ModelAccess
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "counts"
        >>> one, other = (ModelAccess(recurl.zoo.gambler(), seed=1) for _ in range(2))
        >>> one.draw(np.full(3, 10))
        >>> save_counts(file, one)
        >>> load_counts(file, other), other.counts.tolist() == one.counts.tolist()
        (True, True)
    """
    header = {
        "kind": KIND,
        "model": access.model.fingerprint,
        "seed": access.seed,
        "round": access.round,
        "steps": None if bounds is None else bounds.steps,
    }
    arrays: dict[str, np.ndarray] = {"counts": access.counts, "level": access.level}
    if bounds is not None and bounds.bounded:
        arrays |= {"above": bounds.above, "below": bounds.below}
    write_checkpoint(path, header, arrays)


def load_counts(
    path: str | os.PathLike[str], access: ModelAccess, bounds: RobustBounds | None = None
) -> bool:
    """Take over what a file holds; whether there is such a file.

    Raises:
        CheckpointError: The file is damaged, or its counts are of another model or seed.
    """
    if not Path(path).exists():
        return False
    header, arrays = read_checkpoint(path, KIND)
    with restoring(path):
        if header["model"] != access.model.fingerprint:
            raise CheckpointError(f"{path} holds counts of another model than {access.model.name}")
        if header["seed"] != access.seed:
            raise CheckpointError(f"{path} holds counts of seed {header['seed']}: use that one")
        counts = expect(arrays, "counts", np.int64, 0, _MOST)
        level = expect(arrays, "level", np.int32, 0, 1000)
        if counts.shape != access.counts.shape or level.shape != access.level.shape:
            raise ValueError("the counts have another size")
        access.counts[:], access.level[:] = counts, level
        access.round = int(header["round"])
        if bounds is not None and "above" in arrays:
            bounds.above[:] = expect(arrays, "above", np.float64, -np.inf, np.inf)
            bounds.below[:] = expect(arrays, "below", np.float64, -np.inf, np.inf)
            bounds.steps = header["steps"]
    return True
