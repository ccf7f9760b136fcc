"""The one compiled random number generator: xoshiro256++, seeded by splitmix64.

Every episode has a stream of its own, named by (seed, number), so that results do not depend on
how episodes are spread over threads. Both generators are by Blackman, Steele and Vigna, in the
public domain; this is written from their description.
"""

from __future__ import annotations

import numba
import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


@numba.njit(cache=True, inline="always")
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@numba.njit(cache=True)
def seed_stream(state: np.ndarray, seed: int, stream: int) -> None:
    """Set ``state`` (four uint64) to the beginning of stream number ``stream`` of ``seed``."""
    word = _mix(np.uint64(seed) + _GOLDEN) ^ (np.uint64(stream) * _GOLDEN)
    for i in range(4):
        word = word + _GOLDEN
        state[i] = _mix(word)


@numba.njit(cache=True, inline="always")
def next_word(state: np.ndarray) -> np.uint64:
    """The next 64 random bits."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    result: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return result


@numba.njit(cache=True, inline="always")
def next_float(state: np.ndarray) -> float:
    """A random float in [0, 1)."""
    return float(next_word(state) >> np.uint64(11)) * _UNIT


@numba.njit(cache=True, inline="always")
def next_below(state: np.ndarray, count: int) -> int:
    """A random integer in [0, count)."""
    return int(next_float(state) * count)


def new_stream(seed: int, stream: int = 0) -> np.ndarray:
    """A fresh state for stream number ``stream`` of ``seed``.

    Example:
        >>> a, b = new_stream(1), new_stream(1, 1)
        >>> bool((a == b).any())
        False
    """
    state = np.empty(4, np.uint64)
    seed_stream(state, seed, stream)
    return state
