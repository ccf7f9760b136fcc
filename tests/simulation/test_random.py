from __future__ import annotations

import numpy as np

from recurl.simulation.jit import compiled
from recurl.simulation.random import new_stream, next_below, next_float, next_word, streams


@compiled
def draw(state: np.ndarray) -> float:
    """A float, drawn where Python may ask: the generator itself is for kernels alone."""
    return next_float(state)


# The first outputs of the authors' C program for the state {1, 2, 3, 4}.
REFERENCE = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]


def test_words_are_those_of_the_reference() -> None:
    state = np.array([1, 2, 3, 4], np.uint64)
    assert [int(next_word(state)) for _ in REFERENCE] == REFERENCE


def splitmix(word: int) -> int:
    """The mixing of splitmix64, in Python's integers."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def test_streams_begin_with_splitmix_of_seed_and_number() -> None:
    golden = 0x9E3779B97F4A7C15
    for seed, stream in ((0, 0), (7, 3), (2**63, 10**12)):
        word = splitmix((seed + golden) % 2**64) ^ (stream * golden % 2**64)
        words = [splitmix((word + (i + 1) * golden) % 2**64) for i in range(4)]
        assert new_stream(seed, stream).tolist() == words


def test_streams_of_a_range_are_those_of_its_numbers() -> None:
    found = streams(5, 3, 7)
    assert found.tolist() == [new_stream(5, number).tolist() for number in range(3, 7)]


def test_streams_of_neighbouring_seeds_and_numbers_differ() -> None:
    states = {tuple(new_stream(s, i).tolist()) for s in range(50) for i in range(50)}
    assert len(states) == 2500


def test_floats_are_uniform_within_and_across_streams() -> None:
    state = new_stream(1)
    within = np.array([draw(state) for _ in range(64_000)])
    across = np.array([draw(new_stream(2, i)) for i in range(64_000)])
    for sample in (within, across):
        assert sample.min() >= 0
        assert sample.max() < 1
        counts = np.bincount((sample * 64).astype(int), minlength=64)
        # Chi-squared with 63 degrees of freedom: mean 63, standard deviation 11.2.
        assert abs(((counts - 1000) ** 2 / 1000).sum() - 63) < 5 * 11.2
        assert abs(np.corrcoef(sample[:-1], sample[1:])[0, 1]) < 5 / np.sqrt(len(sample))


def test_integers_below_a_number_are_all_met() -> None:
    state = new_stream(3)
    numbers = [next_below(state, 7) for _ in range(7000)]
    assert set(numbers) == set(range(7))
    assert max(np.abs(np.bincount(numbers) - 1000)) < 5 * np.sqrt(1000)
