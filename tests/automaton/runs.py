"""What a machine does with a word, whatever the agent chooses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from tests.grammar.words import words

from recurl.automaton import Machine, machine_of
from recurl.grammar import Grammar


def verdicts(machine: Machine, word: Sequence[str], highest: int = 12) -> set[str]:
    """The final states that some choices lead to after a word, ``early`` if before its end."""
    pending = [(machine.start, machine.stack, 0)]
    seen, final = set(pending), set()
    rules = defaultdict(list)
    for r in machine.rules:
        for top in machine.symbols if r.top == "_" else [r.top]:
            rules[r.source, top].append(r)
    while pending:
        state, stack, at = pending.pop()
        if state in machine.final:
            final.add(state if at == len(word) else "early")
            continue
        for r in rules[state, stack[0]] if len(stack) <= highest else []:
            read = r.guard is not None
            if r.guard is not None and not (at < len(word) and r.guard.holds({word[at]})):
                continue
            after = (r.target, (*r.pushed(stack[0]), *stack[1:]), at + read)
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return final


def check_words(grammar: Grammar, method: str, *, free: bool) -> None:
    """A machine accepts what the grammar's words are by definition, in one way if it is free."""
    spelt = words(grammar, 4)
    machine = machine_of(grammar, end="end", method=method, conflicts="error" if free else "agent")
    for size in range(4):
        for word in product("ab", repeat=size):
            found = verdicts(machine, [*word, "end"], highest=7)
            assert ("accepted" in found) == (word in spelt), word
            assert not free or len(found) == 1, word
