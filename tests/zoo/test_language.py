from __future__ import annotations

import pytest
from tests.zoo.reference import solved

from recurl.grammar import inside, sample
from recurl.zoo.models.language import english


def test_expected_length() -> None:
    solution = solved("language")
    assert solution.value == pytest.approx(1.2 + 1.9 * 2.42 / 0.71, abs=1e-9)
    drawn = sample(english(), 20_000, seed=1)
    assert sum(map(len, drawn)) / len(drawn) == pytest.approx(solution.value, abs=0.15)


def test_an_ambiguous_sentence_has_two_trees() -> None:
    def words(*shares: float) -> float:
        result = 1.0
        for share in shares:
            result *= share
        return result

    # With the telescope: the seeing, or the cat.
    nouns, verb, telescope = 0.4 * 0.3 * 0.2, 0.5, 0.6 * 0.5
    seeing = words(0.5, 0.2, 0.5, nouns, verb, telescope)
    cat = words(0.5, 0.5, 0.2, nouns, verb, telescope)
    found = inside(english(), "the dog sees the cat with the telescope")
    assert found == pytest.approx(seeing + cat)
