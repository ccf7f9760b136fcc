from __future__ import annotations

from itertools import product

import pytest

from recurl.automaton import Machine, machine_of
from recurl.errors import ModelError, UnknownNameError
from recurl.grammar import Grammar, inside

GRAMMARS = [
    "S -> 'a' S 'b' S | ",
    "S -> 'a' S 'b' | 'c'",
    "S -> A 'b' | 'c' S\nA -> 'a' A | ",
    "E -> T X\nX -> 'a' T X | \nT -> 'b' | 'c' E 'c'".replace("'c' E 'c'", "'c' E"),
]


def verdicts(machine: Machine, word: list[str]) -> set[str]:
    """The final states that some choices of the agent lead to, after a word."""
    pending = [(machine.start, machine.stack, 0)]
    seen, final = set(pending), set()
    while pending:
        state, stack, at = pending.pop()
        if state in machine.final:
            final.add(state if at == len(word) else "early")
            continue
        if len(stack) > 12:
            continue
        for r in machine.rules_at(state, stack[0]):
            if r.guard is None:
                after = (r.target, (*r.pushed(stack[0]), *stack[1:]), at)
            elif at < len(word) and r.guard.holds({word[at]}):
                after = (r.target, (*r.pushed(stack[0]), *stack[1:]), at + 1)
            else:
                continue
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return final


@pytest.mark.parametrize("text", GRAMMARS)
def test_the_machine_accepts_exactly_the_words_of_the_grammar(text: str) -> None:
    grammar = Grammar.read(text)
    conflicts = "agent" if "E" in grammar.rules else "error"
    machine = machine_of(grammar, end="end", conflicts=conflicts)
    for size in range(6):
        for word in product(sorted(grammar.terminals), repeat=size):
            wanted = inside(grammar, list(word)) > 0
            assert ("accepted" in verdicts(machine, [*word, "end"])) == wanted, word


def test_a_word_without_an_end_label_is_over_when_nothing_more_is_to_come() -> None:
    machine = machine_of(Grammar.read("S -> 'a' S 'b' | 'c'"), accept=5, reject=-1)
    assert verdicts(machine, list("aacbb")) == {"accepted"}
    assert verdicts(machine, list("ac")) == set()
    assert verdicts(machine, list("ab")) == {"rejected"}
    rewards = {r.target: r.reward for r in machine.rules if r.target in machine.final}
    assert rewards == {"accepted": 5, "rejected": -1}


def test_conflicts_are_reported_or_left_to_the_agent() -> None:
    palindromes = Grammar.read("S -> 'a' S 'a' | 'b' S 'b' | ")
    with pytest.raises(
        ModelError, match=r"the next letter 'a' does not tell whether S -> a S a or"
    ):
        machine_of(palindromes)
    machine = machine_of(palindromes, end="end", conflicts="agent")
    assert "accepted" in verdicts(machine, [*"abba", "end"])
    assert "accepted" not in verdicts(machine, [*"abab", "end"])
    assert {r.choice for r in machine.rules if r.source == "ready" and r.guard is None} == {
        "S -> a S a", "S -> b S b", "S ->"
    }  # fmt: skip
    with pytest.raises(UnknownNameError, match="coin"):
        machine_of(palindromes, conflicts="coin")
