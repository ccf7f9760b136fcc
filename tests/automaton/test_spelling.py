from __future__ import annotations

import pytest

from recurl.automaton.spelling import ACCEPTED, READY, REJECTED, Spelling
from recurl.grammar import Grammar
from recurl.grammar.first_sets import END

GRAMMAR = Grammar.read("S -> 'end' S | '.' | '-'")


def test_the_end_is_a_letter_only_if_it_has_a_label() -> None:
    assert Spelling(GRAMMAR, None, 1, 0).letters == ["-", ".", "end"]
    assert Spelling(GRAMMAR, "stop", 1, 0).letters == ["-", ".", "end", END]


def test_names_are_different() -> None:
    spelling = Spelling(GRAMMAR, "stop", 1, 0)
    names = [spelling.remembering(letter) for letter in spelling.letters]
    assert names == ["read--", "read--'", "read-end", "read-end'"]
    assert spelling.name(".") == "-'"


@pytest.mark.parametrize(
    ("letter", "target", "reward", "choice"),
    [("end", ACCEPTED, 3, ""), (None, REJECTED, -2, "next"), (END, READY, 0, "")],
)
def test_verdicts_have_rewards_and_keep_the_stack(
    letter: str | None, target: str, reward: int, choice: str
) -> None:
    made = Spelling(GRAMMAR, "stop", 3, -2).move(READY, letter, "S", target=target, push=("A", "S"))
    assert (made.reward, made.choice) == (reward, choice)
    assert made.push == (("A", "S") if target == READY else ("_",))
    read = {"end": "end", END: "stop"}
    assert str(made.guard) == ("None" if letter is None else read[letter])
