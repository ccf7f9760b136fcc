from __future__ import annotations

import re
from itertools import product

import pytest
from tests.automaton.runs import verdicts
from tests.grammar.words import words

import recurl
from recurl.automaton import LabelledMDP, Move, machine_of
from recurl.automaton import product as product_of
from recurl.errors import ModelError, UnknownNameError
from recurl.grammar import Grammar

LL = [
    "S -> 'a' S 'b' S | ",
    "S -> 'a' S 'b' | 'c'",
    "S -> A 'b' | 'c' S\nA -> 'a' A | ",
]
NOT_LL = [
    "E -> E 'a' T | T\nT -> 'b' | 'c' E 'c'",  # left recursion
    "S -> 'a' S 'b' | 'a' S 'c' | ",  # rules that begin alike
    "S -> A | B\nA -> 'a' A 'b' | \nB -> 'a' B 'c' | 'd'",
]


@pytest.mark.parametrize("text", [*LL, *NOT_LL])
def test_the_machine_accepts_exactly_the_words_of_the_grammar(text: str) -> None:
    grammar = Grammar.read(text)
    machine, spelt = machine_of(grammar, end="end"), words(grammar, 5)
    assert spelt
    for size in range(6):
        for word in product(sorted(grammar.terminals), repeat=size):
            found = verdicts(machine, [*word, "end"])
            assert found == {"accepted"} if word in spelt else found <= {"rejected", "early"}, word


def test_the_method_is_the_simplest_that_fits() -> None:
    first = {"ll1": ("S", "bottom"), "lr1": ("s0",)}
    for text, method in [*((text, "ll1") for text in LL), *((text, "lr1") for text in NOT_LL)]:
        grammar = Grammar.read(text)
        stack = machine_of(grammar, end="end").stack
        assert len(stack) == len(first[method])
        assert machine_of(grammar, end="end", method=method).stack == stack


@pytest.mark.parametrize("method", ["ll1", "lr1"])
def test_a_word_without_an_end_label_is_over_when_nothing_more_is_to_come(method: str) -> None:
    grammar = Grammar.read("S -> 'a' S 'b' | 'c'")
    machine = machine_of(grammar, accept=5, reject=-1, method=method)
    assert verdicts(machine, list("aacbb")) == {"accepted"}
    assert verdicts(machine, list("ac")) == set()
    assert verdicts(machine, list("ab")) == {"rejected"}
    rewards = {r.target: r.reward for r in machine.rules if r.target in machine.final}
    assert rewards == {"accepted": 5, "rejected": -1}


def test_conflicts_are_reported() -> None:
    palindromes = Grammar.read("S -> 'a' S 'a' | 'b' S 'b' | ")
    with pytest.raises(ModelError) as caught:
        machine_of(palindromes)
    # Those of the two letters, not those of the many states of the table.
    assert [problem.message for problem in caught.value.problems] == [
        f"after {x}, the next letter {x!r} does not tell whether to shift (S -> . {x} S {x}) "
        f"or to reduce (S -> .)"
        for x in "ab"
    ]
    with pytest.raises(ModelError, match=r"the next letter 'a' does not tell whether S -> a S a"):
        machine_of(palindromes, method="ll1")


@pytest.mark.parametrize("method", ["ll1", "lr1"])
def test_conflicts_are_left_to_the_agent(method: str) -> None:
    palindromes = Grammar.read("S -> 'a' S 'a' | 'b' S 'b' | ")
    machine = machine_of(palindromes, end="end", conflicts="agent", method=method)
    spelt = words(palindromes, 6)
    for size in range(7):
        for word in product("ab", repeat=size):
            assert ("accepted" in verdicts(machine, [*word, "end"])) == (word in spelt), word
    predicted = {"S -> a S a", "S -> b S b", "S ->"}
    seen = {"shift a", "shift b", "S ->"}
    chosen = {r.choice for r in machine.rules if r.guard is None} - {"next"}
    assert chosen == (predicted if method == "ll1" else seen)


@pytest.mark.parametrize(
    ("text", "value"),
    [("S -> 'a' S 'a' | 'b' S 'b' | ", "1/2"), ("S -> S 'a' | 'b'", "1/4")],
)
def test_the_agent_guesses_as_well_as_can_be(text: str, value: str) -> None:
    # A fair coin says a or b, twice, and the end comes after that. Of aa, ab, ba, bb two are even
    # palindromes: seeing the second letter, the agent knows whether it is the first one again.
    # Only ba is of the form b a*.
    world = LabelledMDP.explore(
        "coin",
        {0: 1},
        lambda state: ["toss"],
        lambda state, action: (
            [Move(state + 1, "1/2", 0, [letter]) for letter in "ab"]
            if state < 2
            else [Move(2, 1, 0, ["end"])]
        ),
    )
    machine = machine_of(Grammar.read(text), end="end", conflicts="agent", method="lr1")
    solution = recurl.solve(product_of(world, machine))
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(eval_fraction(value), abs=1e-6)


def eval_fraction(text: str) -> float:
    above, below = map(int, text.split("/"))
    return above / below


def test_awkward_letters_are_letters_like_others() -> None:
    text = "S -> S '.' A | A\nA -> 'bottom' | 'end' A '_' | 'over x'"
    grammar = Grammar.read(text)
    spelt = words(grammar, 3)
    for method in ("ll1", "lr1"):
        machine = machine_of(grammar, end="stop", conflicts="agent", method=method)
        for word in product(sorted(grammar.terminals), repeat=3):
            assert ("accepted" in verdicts(machine, [*word, "stop"])) == (word in spelt), word


def test_what_cannot_be_is_refused() -> None:
    grammar = Grammar.read("S -> 'a' S 'b' | 'c'")
    with pytest.raises(UnknownNameError, match="coin"):
        machine_of(grammar, conflicts="coin")
    with pytest.raises(UnknownNameError, match=re.escape("'lalr'")):
        machine_of(grammar, method="lalr")
    with pytest.raises(ModelError, match="'a' is a terminal, too"):
        machine_of(grammar, end="a")
    with pytest.raises(ModelError, match="S derives no word"):
        machine_of(Grammar.read("S -> 'a' S"))
