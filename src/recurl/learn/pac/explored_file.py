"""What was seen of an environment, on disk: sampling that was stopped goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from recurl.errors import CheckpointError
from recurl.learn.checkpoint import expect, read_checkpoint, restoring, write_checkpoint

if TYPE_CHECKING:
    from recurl.learn.pac.atlas import Atlas, Pair

KIND = "pac-environment"
_KINDS = ("step", "call", "exit", "start", "end")
_MOST = 2**62
_PAIR = ("state", "action", "level", "total")
_OUTCOME = ("owner", "kind", "target", "after", "count", "looked")


def save_explored(path: str | os.PathLike[str], atlas: Atlas, head: dict[str, Any]) -> None:
    """Write states, pairs and counts in one file that is there whole or not at all.

    Args:
        path: The file.
        atlas: What was seen.
        head: What must be the same for sampling to go on.

    Example:
        >>> import recurl, tempfile, pathlib
        >>> from recurl.learn.pac.atlas import Atlas
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "seen"
        >>> env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
        >>> one, other = Atlas(env), Atlas(env)
        >>> state = one.begin(0, None)
        >>> save_explored(file, one, {"seed": 1})
        >>> load_explored(file, other, {"seed": 1}), other.starts
        (True, {0: 1})
    """
    pairs = [atlas.start, *atlas.pairs]
    columns = {name: [getattr(pair, name) for pair in pairs] for name in _PAIR}
    outcomes = [row for i, pair in enumerate(pairs) for row in _rows(i, pair)]
    columns |= {name: [row[k] for row in outcomes] for k, name in enumerate(_OUTCOME)}
    arrays = {name: np.array(column, np.int64) for name, column in columns.items()}
    arrays["reward"] = np.array([r for pair in pairs for r in pair.rewards], np.float64)
    arrays["parent"] = np.array(atlas.parent, np.int64)
    arrays["bottom"] = np.array(atlas.bottom, np.int64)
    arrays["returns"] = np.array([s for after in atlas.returns for s in after], np.int64)
    arrays["exits"] = np.array([len(after) for after in atlas.returns], np.int64)
    arrays["observations"] = np.stack([atlas.flat(o) for o in atlas.observations])
    write_checkpoint(path, _head(atlas, head), arrays)


def _head(atlas: Atlas, head: dict[str, Any]) -> dict[str, Any]:
    return {"kind": KIND, "observations": str(atlas.space), **head}


def _rows(owner: int, pair: Pair) -> list[tuple[int, ...]]:
    looked = [*pair.looked, *([0] * len(pair.counts))]
    return [
        (owner, _KINDS.index(kind), target, after, pair.counts[i], looked[i])
        for (kind, target, after), i in pair.outcomes.items()
    ]


def load_explored(path: str | os.PathLike[str], atlas: Atlas, head: dict[str, Any]) -> bool:
    """Take over what a file holds into an empty atlas; whether there is such a file.

    Raises:
        CheckpointError: The file is damaged, or of another environment, seed or way to learn.
    """
    if not Path(path).exists():
        return False
    header, arrays = read_checkpoint(path, KIND)
    with restoring(path):
        for name, value in _head(atlas, head).items():
            if header[name] != value:
                raise CheckpointError(
                    f"{path} holds counts with {name} {header[name]!r}, not {value!r}"
                )
        _restore_states(atlas, arrays)
        _restore_pairs(atlas, arrays)
        _restore_outcomes(atlas, arrays)
    return True


def _restore_states(atlas: Atlas, arrays: dict[str, np.ndarray]) -> None:
    flat = arrays["observations"]
    parent = expect(arrays, "parent", np.int64, 0, len(flat) - 1)
    bottom = expect(arrays, "bottom", np.int64, 0, 1).astype(bool).tolist()
    if flat.ndim != 2 or len(flat) != len(parent):
        raise ValueError("states and observations do not fit")
    for row, below in zip(flat, bottom, strict=True):
        single = isinstance(atlas.space, spaces.Discrete)
        observation = int(row[0]) if single else spaces.unflatten(atlas.space, row)
        if observation not in atlas.space:
            raise ValueError("an observation is not in the space")
        atlas.state(observation, below)
    if len(atlas.observations) != len(flat):
        raise ValueError("an observation is there twice")
    atlas.parent[:] = parent.tolist()
    states = expect(arrays, "returns", np.int64, 0, len(flat) - 1).tolist()
    ends = np.cumsum(expect(arrays, "exits", np.int64, 1, len(states))).tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
        atlas.returns[tuple(states[begin:end])] = len(atlas.returns)
    if len(atlas.returns) != len(ends) or [0, *ends][-1] != len(states):
        raise ValueError("what follows calls does not fit")


def _restore_pairs(atlas: Atlas, arrays: dict[str, np.ndarray]) -> None:
    last = len(atlas.observations) - 1
    state = expect(arrays, "state", np.int64, -1, last)[1:]
    action = expect(arrays, "action", np.int64, -1, _MOST)[1:]
    level = expect(arrays, "level", np.int64, 0, 1000)
    total = expect(arrays, "total", np.int64, 0, _MOST)
    for s, a in zip(state.tolist(), action.tolist(), strict=True):
        if s < 0 or a < 0:
            raise ValueError("a pair has no state or action")
        atlas.new_pair(s, a)
    pairs = [atlas.start, *atlas.pairs]
    for i, (pair, j, n) in enumerate(zip(pairs, level.tolist(), total.tolist(), strict=True)):
        pair.level, pair.total, pair.due = j, n, atlas.size(i, j + 1)
    atlas.samples = int(total[1:].sum())


def _restore_outcomes(atlas: Atlas, arrays: dict[str, np.ndarray]) -> None:
    last = len(atlas.observations) - 1
    pairs = [atlas.start, *atlas.pairs]
    bounds = {
        "owner": (0, len(pairs) - 1), "kind": (0, len(_KINDS) - 1), "target": (0, last),
        "after": (-1, max(len(atlas.returns) - 1, -1)), "count": (1, _MOST), "looked": (0, _MOST),
    }  # fmt: skip
    columns = [expect(arrays, name, np.int64, *bounds[name]).tolist() for name in _OUTCOME]
    reward = expect(arrays, "reward", np.float64, -np.inf, np.inf).tolist()
    for *numbers, r in zip(*columns, reward, strict=True):
        owner, kind, target, after, count, looked = numbers
        pair = pairs[owner]
        pair.outcomes[(_KINDS[kind], target, after)] = len(pair.rewards)
        pair.rewards.append(r)
        pair.counts.append(count)
        pair.looked.append(looked)
    more = any(seen > all_seen for seen, all_seen in zip(columns[5], columns[4], strict=True))
    if more or any(sum(pair.counts) != pair.total for pair in pairs):
        raise ValueError("counts do not add up")
