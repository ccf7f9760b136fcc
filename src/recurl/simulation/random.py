"""The one compiled random number generator: xoshiro256++, seeded by splitmix64.

Every episode has its own stream, named by (seed, number), so that results do not depend on
how episodes are spread over threads. Both generators are by Blackman, Steele and Vigna, in the
public domain; this is written from their description.
"""

from __future__ import annotations

import numpy as np

from recurl.simulation.jit import inlined, inner

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


@inlined
def next_word(state: np.ndarray) -> np.uint64:
    """The next 64 random bits."""
    s0, s1 = state[0], state[1]
    s2, s3 = state[2], state[3]
    total = s0 + s3
    result: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    state[0], state[1] = s0, s1
    state[2], state[3] = s2, s3
    return result


@inner
def next_float(state: np.ndarray) -> float:
    """A random float in [0, 1)."""
    return float(next_word(state) >> np.uint64(11)) * _UNIT


@inlined
def next_below(state: np.ndarray, count: int) -> np.int64:
    """A random integer in [0, count)."""
    return np.int64(next_float(state) * count)


def _mixed(word: np.ndarray) -> np.ndarray:
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


def streams(seed: int, first: int, last: int) -> np.ndarray:
    """Fresh states for streams number ``first`` to ``last - 1`` of a seed, four words each."""
    begin = _mixed(np.array([seed], np.uint64) + _GOLDEN)
    words = begin ^ (np.arange(first, last, dtype=np.uint64) * _GOLDEN)
    return _mixed(words[:, None] + np.arange(1, 5, dtype=np.uint64) * _GOLDEN)


def new_stream(seed: int, stream: int = 0) -> np.ndarray:
    """A fresh state for stream number ``stream`` of ``seed``.

    Example:
        >>> a, b = new_stream(1), new_stream(1, 1)
        >>> bool((a == b).any())
        False
    """
    return streams(seed, stream, stream + 1)[0]
