from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo.reference import value_to_depth

from recurl import zoo
from recurl.model.rmdp import RMDP

Row = tuple[Fraction, ...]


def rows(size: int) -> st.SearchStrategy[Row]:
    weights = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: tuple(Fraction(x, sum(w)) for x in w))


@st.composite
def automata(draw: st.DrawFn) -> dict[str, Any]:
    size = draw(st.integers(1, 3))
    matrix = st.tuples(*[rows(size)] * size)
    return {
        "initial": draw(rows(size)),
        "accepting": tuple(draw(st.sets(st.integers(0, size - 1)))),
        "letters": {letter: draw(matrix) for letter in "ab"},
        "leak": draw(st.sampled_from([Fraction(1, 10), Fraction(1, 2)])),
    }


def word_value(automaton: dict[str, Any], word: tuple[str, ...]) -> float:
    vector = np.array(automaton["initial"], float)
    for letter in word:
        vector = (
            (1 - float(automaton["leak"])) * vector @ np.array(automaton["letters"][letter], float)
        )
    return float(sum(vector[i] for i in automaton["accepting"]))


@given(automata())
def test_value_is_that_of_the_best_word(automaton: dict[str, Any]) -> None:
    model = zoo.leaky_pfa(**automaton)
    for length in range(4):
        words = [w for n in range(length + 1) for w in product("ab", repeat=n)]
        best = max(word_value(automaton, word) for word in words)
        assert value_to_depth(model, length + 1) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("leak", [0.05, 0.1, 0.3])
def test_default_automaton(leak: float) -> None:
    best = max((1 - leak) ** n * (1 - 2.0**-n) for n in range(20))
    assert value_to_depth(zoo.leaky_pfa(leak), 9) == pytest.approx(best, abs=1e-12)


def test_order_of_letters_is_reversed() -> None:
    # Only `a` moves state 0 to 1, only `b` moves 1 to 2: the word is ab, so b must be called first.
    letters = {"a": ((0, 1, 0), (0, 1, 0), (0, 0, 1)), "b": ((1, 0, 0), (0, 0, 1), (0, 0, 1))}
    model = zoo.leaky_pfa(0.5, (1, 0, 0), (2,), letters=letters)
    assert value_to_depth(model, 3) == 0.25
    for first, value in (("a", 0), ("b", 0.25)):
        assert _value_of_words_that_end_in(model, first) == value


def _value_of_words_that_end_in(model: RMDP, letter: str) -> float:
    """Words of two letters whose last one is given: the outermost call of `words`."""
    t = model.tables
    accepted = {"q0": 0.0, "q1": 0.0, "q2": 1.0, "leaked": 0.0}

    def back(inner: str, exits: dict[str, float]) -> dict[str, float]:
        """What the exits of a call are worth, given those of the caller."""
        worth = {}
        for name in exits:
            row = t.action_start[model.find(f"words.{inner}.{name}")]
            edges = range(t.transition_start[row], t.transition_start[row + 1])
            worth[name] = sum(t.prob[e] * exits[model.local_name(int(t.target[e]))] for e in edges)
        return worth

    return max(0.25 * back(other, back(letter, accepted))["q0"] for other in "ab")


def test_structure() -> None:
    model = zoo.leaky_pfa()
    assert model.tables.n_exits.tolist() == [1, 3]
    assert list(model.names.boxes) == ["word", "zero", "one"]
    assert model.action_names(model.find("words.in")) == ["end", "zero", "one"]
    assert not model.warnings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"leak": 0}, "leak must be in"),
        ({"initial": (0.5, 0.4)}, "initial: .* sum to 1"),
        ({"initial": (2, -1)}, "initial: .* sum to 1"),
        ({"initial": ()}, "initial"),
        ({"accepting": (2,)}, r"accepting must name states in 0\.\.1"),
        ({"letters": {}}, "letters must have at least one"),
        ({"letters": {"q0": ((1, 0), (0, 1))}}, "not named"),
        ({"letters": {"a": ((1, 0),)}}, "letter a: its matrix has 1 rows instead of 2"),
        ({"letters": {"a": ((1, 0), (1,))}}, "letter a, row 1: .* 2 probabilities"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zoo.leaky_pfa(**wrong)
