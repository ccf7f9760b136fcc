"""Experience on disk: sampling that was stopped continues from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from recurl.errors import CheckpointError
from recurl.learn.checkpoint import expect, read_checkpoint, restoring, write_checkpoint

if TYPE_CHECKING:
    from recurl.learn.pac.experience import Experience, Pair

KIND = "pac-environment"
_KINDS = ("step", "call", "exit", "start", "end")
_MOST, _STATE = 2**62, "state_"
_PAIR = ("state", "action", "level", "total")
_OUTCOME = ("owner", "kind", "target", "after", "count", "looked")


def save_experience(
    path: str | os.PathLike[str],
    experience: Experience,
    head: dict[str, Any],
    *,
    basis: str = "",
    state: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write states, pairs and counts in one file that is there whole or not at all.

    Args:
        path: The file.
        experience: The experience.
        head: Settings that must be the same for sampling to continue.
        basis: Settings that the state rests on.
        state: The state of a learner.

    Example:
        >>> import recurl, tempfile, pathlib
        >>> from recurl.learn.pac.experience import Experience
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "seen"
        >>> env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
        >>> one, other = Experience(env), Experience(env)
        >>> state = one.begin(0, None)
        >>> save_experience(file, one, {"seed": 1})
        >>> load_experience(file, other, {"seed": 1}), other.starts
        (('', {}), {0: 1})
    """
    pairs = [experience.start, *experience.pairs]
    columns = {name: [getattr(pair, name) for pair in pairs] for name in _PAIR}
    outcomes = [row for i, pair in enumerate(pairs) for row in _rows(i, pair)]
    columns |= {name: [row[k] for row in outcomes] for k, name in enumerate(_OUTCOME)}
    arrays = {name: np.array(column, np.int64) for name, column in columns.items()}
    arrays["reward"] = np.array([r for pair in pairs for r in pair.rewards], np.float64)
    arrays["parent"] = np.array(experience.parent, np.int64)
    arrays["bottom"] = np.array(experience.bottom, np.int64)
    arrays["returns"] = np.array([s for after in experience.returns for s in after], np.int64)
    arrays["exits"] = np.array([len(after) for after in experience.returns], np.int64)
    arrays["observations"] = np.stack([experience.flat(o) for o in experience.observations])
    arrays |= {_STATE + name: array for name, array in (state or {}).items()}
    write_checkpoint(path, {**_head(experience, head), "basis": basis}, arrays)


def _head(experience: Experience, head: dict[str, Any]) -> dict[str, Any]:
    return {"kind": KIND, "observations": str(experience.space), **head}


def _rows(owner: int, pair: Pair) -> list[tuple[int, ...]]:
    looked = [*pair.at_level, *([0] * len(pair.counts))]
    return [
        (owner, _KINDS.index(kind), target, after, pair.counts[i], looked[i])
        for (kind, target, after), i in pair.outcomes.items()
    ]


def load_experience(
    path: str | os.PathLike[str], experience: Experience, head: dict[str, Any]
) -> tuple[str, dict[str, np.ndarray]]:
    """Fill an empty experience from a file, if there is one; the basis and state of a learner.

    Raises:
        CheckpointError: The file is damaged, or of another environment, seed or way to learn.
    """
    if not Path(path).exists():
        return "", {}
    header, arrays = read_checkpoint(path, KIND)
    with restoring(path):
        for name, value in _head(experience, head).items():
            if header[name] != value:
                raise CheckpointError(
                    f"{path} holds counts with {name} {header[name]!r}, not {value!r}"
                )
        _restore_states(experience, arrays)
        _restore_pairs(experience, arrays)
        _restore_outcomes(experience, arrays)
    state = {n.removeprefix(_STATE): a for n, a in arrays.items() if n.startswith(_STATE)}
    return str(header.get("basis", "")), state


def _restore_states(experience: Experience, arrays: dict[str, np.ndarray]) -> None:
    flat = arrays["observations"]
    parent = expect(arrays, "parent", np.int64, 0, len(flat) - 1)
    bottom = expect(arrays, "bottom", np.int64, 0, 1).astype(bool).tolist()
    if flat.ndim != 2 or len(flat) != len(parent):
        raise ValueError("states and observations do not fit")
    for row, below in zip(flat, bottom, strict=True):
        single = isinstance(experience.space, spaces.Discrete)
        observation = int(row[0]) if single else spaces.unflatten(experience.space, row)
        if observation not in experience.space:
            raise ValueError("an observation is not in the space")
        experience.state(observation, below)
    if len(experience.observations) != len(flat):
        raise ValueError("an observation is there twice")
    experience.parent[:] = parent.tolist()
    states = expect(arrays, "returns", np.int64, 0, len(flat) - 1).tolist()
    ends = np.cumsum(expect(arrays, "exits", np.int64, 1, len(states))).tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
        experience.returns[tuple(states[begin:end])] = len(experience.returns)
    if len(experience.returns) != len(ends) or [0, *ends][-1] != len(states):
        raise ValueError("what follows calls does not fit")


def _restore_pairs(experience: Experience, arrays: dict[str, np.ndarray]) -> None:
    last = len(experience.observations) - 1
    state = expect(arrays, "state", np.int64, -1, last)[1:]
    action = expect(arrays, "action", np.int64, -1, _MOST)[1:]
    level = expect(arrays, "level", np.int64, 0, 1000)
    total = expect(arrays, "total", np.int64, 0, _MOST)
    for s, a in zip(state.tolist(), action.tolist(), strict=True):
        if s < 0 or a < 0:
            raise ValueError("a pair has no state or action")
        experience.new_pair(s, a)
    pairs = [experience.start, *experience.pairs]
    for i, (pair, j, n) in enumerate(zip(pairs, level.tolist(), total.tolist(), strict=True)):
        pair.level, pair.total, pair.due = j, n, experience.size(i, j + 1)
    experience.samples = int(total[1:].sum())


def _restore_outcomes(experience: Experience, arrays: dict[str, np.ndarray]) -> None:
    last = len(experience.observations) - 1
    pairs = [experience.start, *experience.pairs]
    bounds = {
        "owner": (0, len(pairs) - 1), "kind": (0, len(_KINDS) - 1), "target": (0, last),
        "after": (-1, max(len(experience.returns) - 1, -1)), "count": (1, _MOST),
        "looked": (0, _MOST),
    }  # fmt: skip
    columns = [expect(arrays, name, np.int64, *bounds[name]).tolist() for name in _OUTCOME]
    reward = expect(arrays, "reward", np.float64, -np.inf, np.inf).tolist()
    for *numbers, r in zip(*columns, reward, strict=True):
        owner, kind, target, after, count, looked = numbers
        pair = pairs[owner]
        pair.outcomes[(_KINDS[kind], target, after)] = len(pair.rewards)
        pair.rewards.append(r)
        pair.counts.append(count)
        pair.at_level.append(looked)
    more = any(seen > all_seen for seen, all_seen in zip(columns[5], columns[4], strict=True))
    if more or any(sum(pair.counts) != pair.total for pair in pairs):
        raise ValueError("counts do not add up")
