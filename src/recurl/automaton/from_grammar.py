"""Grammars of allowed sequences as machines."""

from __future__ import annotations

from collections.abc import Sequence

from recurl.automaton.ll1_rules import LL1Rules
from recurl.automaton.lr1_rules import LR1Rules
from recurl.automaton.machine import Machine
from recurl.automaton.spelling import ACCEPTED, READY, REJECTED, Spelling
from recurl.errors import ModelError, Problem, UnknownNameError
from recurl.grammar import ll1, lr1
from recurl.grammar.grammar import Grammar
from recurl.model.spec import Number

_WAYS = ("error", "agent")
_METHODS = ("auto", "ll1", "lr1")


def machine_of(
    grammar: Grammar,
    end: str | None = None,
    *,
    accept: Number = 1,
    reject: Number = 0,
    conflicts: str = "error",
    method: str = "auto",
) -> Machine:
    """The machine that checks, letter by letter, whether labels spell a word of a grammar.

    The terminals of the grammar are labels; at most one of them may be true at a time, and steps
    without any are ignored. A letter that the table does not allow ends the run in ``rejected``, a
    complete word ends it in ``accepted``.

    With an LL(1) table the stack holds what is still to come; with a canonical LR(1) table it holds
    the states of what has been read. Every LL(1) grammar is LR(1); left recursion, or rules that
    begin alike, are LR(1) only. A letter that closes rules before it is read itself is remembered
    while the stack changes, by epsilon moves without alternative.

    Args:
        grammar: The grammar; its probabilities do not matter.
        end: Label that says that the word is over. Without it, the word is over as soon as nothing
            more is to come.
        accept: Reward of a complete word.
        reject: Reward of a wrong letter.
        conflicts: What to do where the next letter does not tell what to do: ``"error"`` reports
            all such places; ``"agent"`` leaves it to the agent, by epsilon moves. With an LL(1)
            table it predicts the rules of such nonterminals before they are read, with an LR(1)
            table it sees the letter, and shifts or reduces.
        method: ``"ll1"``, ``"lr1"``, or ``"auto"``: LL(1) if that has no conflicts, else LR(1).

    Raises:
        ModelError: The table has conflicts, and conflicts are errors.

    Example:
        >>> brackets = Grammar.read("S -> '(' S ')' S | ", name="brackets")
        >>> machine_of(brackets, end="stop")
        <Machine brackets: 5 states, 3 stack symbols, 15 rules>
        >>> machine_of(Grammar.read("S -> S 'a' | 'b'", name="left"), end="stop")
        <Machine left: 7 states, 4 stack symbols, 16 rules>
    """
    for what, given, known in (
        ("way to treat conflicts", conflicts, _WAYS),
        ("method", method, _METHODS),
    ):
        if given not in known:
            raise UnknownNameError(what, given, known)
    if end in grammar.terminals:
        fix = "give a label that the grammar does not use"
        raise ModelError([Problem(f"grammar {grammar.name}", f"{end!r} is a terminal, too", fix)])
    table = _table(grammar, method)
    if conflicts == "error":
        _refuse(grammar, table.conflicts)
    spelling = Spelling(grammar, end, accept, reject)
    writer = (LL1Rules if isinstance(table, ll1.LL1Table) else LR1Rules)(table, spelling)  # type: ignore[arg-type]
    letters = [*sorted(grammar.terminals), *([end] if end is not None else [])]
    return Machine(
        grammar.name,
        writer.rules(),
        READY,
        stack=writer.stack,
        final=(ACCEPTED, REJECTED),
        labels=letters,
        exclusive=[letters],
    )


def _table(grammar: Grammar, method: str) -> ll1.LL1Table | lr1.LR1Table:
    if method != "lr1":
        table = ll1.LL1Table(grammar)
        if method == "ll1" or not table.conflicts:
            return table
    return lr1.LR1Table(grammar)


def _refuse(grammar: Grammar, conflicts: Sequence[ll1.LL1Conflict | lr1.LR1Conflict]) -> None:
    """Report conflicts; of those that differ only in what was read before, the first."""
    different = {conflict.kind: conflict for conflict in reversed(conflicts)}
    if different:
        fix = 'change the grammar, or let the agent choose: conflicts="agent"'
        place = f"grammar {grammar.name}"
        found = reversed(different.values())
        raise ModelError([Problem(place, str(conflict), fix) for conflict in found])
