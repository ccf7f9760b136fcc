"""Grammars of allowed sequences as machines, by LL(1) tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recurl.automaton.guards import Guard
from recurl.automaton.machine import Machine, Rule, rule
from recurl.errors import ModelError, Problem, UnknownNameError
from recurl.grammar.grammar import Grammar
from recurl.grammar.ll1 import END, Table
from recurl.model.spec import Number

READY, ACCEPTED, REJECTED = "ready", "accepted", "rejected"
_WAYS = ("error", "agent")
_LONGEST_CHAIN = 10_000


def machine_of(
    grammar: Grammar,
    end: str | None = None,
    *,
    accept: Number = 1,
    reject: Number = 0,
    conflicts: str = "error",
) -> Machine:
    """The machine that checks, letter by letter, whether labels spell a word of a grammar.

    The terminals of the grammar are labels; at most one of them may be true at a time, and steps
    without any are ignored. The stack holds what is still to come. A letter that the LL(1) table
    does not allow ends the run in ``rejected``, a complete word ends it in ``accepted``.

    Where a symbol vanishes before a letter, the machine remembers the letter and looks at what lies
    below: an epsilon move without alternative.

    Args:
        grammar: The grammar; its probabilities do not matter.
        end: Label that says that the word is over. Without it, the word is over as soon as nothing
            more is to come.
        accept: Reward of a complete word.
        reject: Reward of a wrong letter.
        conflicts: What to do where the next letter does not tell which rule to take: ``"error"``
            reports all such places; ``"agent"`` makes the rules of such nonterminals epsilon moves,
            so that the agent predicts which one it is going to follow.

    Raises:
        ModelError: The grammar is not LL(1), and conflicts are errors.

    Example:
        >>> brackets = Grammar.read("S -> '(' S ')' S | ", name="brackets")
        >>> machine_of(brackets, end="stop")
        <Machine brackets: 5 states, 3 stack symbols, 15 rules>
    """
    if conflicts not in _WAYS:
        raise UnknownNameError("way to treat conflicts", conflicts, _WAYS)
    table = Table(grammar)
    if conflicts == "error" and table.conflicts:
        fix = 'factor the grammar, or let the agent choose: conflicts="agent"'
        place = f"grammar {grammar.name}"
        raise ModelError([Problem(place, str(c), fix) for c in table.conflicts])
    writer = _Writer(table, end, accept, reject)
    letters = [*sorted(grammar.terminals), *([end] if end is not None else [])]
    return Machine(
        grammar.name,
        writer.rules(),
        READY,
        stack=(grammar.start, "bottom"),
        final=(ACCEPTED, REJECTED),
        labels=letters,
        exclusive=[letters],
    )


@dataclass(slots=True)
class _Writer:
    """Writes the rules for every symbol that comes onto the stack."""

    table: Table
    end: str | None
    accept: Number
    reject: Number
    symbols: list[str] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)
    choosy: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.choosy = {conflict.head for conflict in self.table.conflicts}
        while more := {h for h in self.table.bodies if self._meets_choice(h)} - self.choosy:
            self.choosy |= more

    def _letters(self) -> list[str]:
        over = [END] if self.end is not None else []
        return [*sorted(self.table.grammar.terminals), *over]

    def _meets_choice(self, head: str) -> bool:
        return any(self._derive(head, letter) == "choice" for letter in self._letters())

    def _derive(self, symbol: str, letter: str) -> tuple[str, ...] | str:
        """What is left of a symbol once it has read a letter; or how that fails.

        ``"vanished"``: it becomes nothing before the letter; ``"wrong"``: it cannot begin with it;
        ``"choice"``: the agent has to choose first.
        """
        stack: tuple[str, ...] = (symbol,)
        for _ in range(_LONGEST_CHAIN):
            if not stack:
                return "vanished"
            top = stack[0]
            if top not in self.table.bodies:
                return stack[1:] if top == letter else "wrong"
            if top in self.choosy:
                return "choice"
            bodies = self.table.entries.get((top, letter), [])
            if not bodies:
                return "wrong"
            stack = (*bodies[0], *stack[1:])
        raise ModelError([Problem(f"symbol {symbol}", "never reads a letter", "remove the cycle")])

    def rules(self) -> list[Rule]:
        """All rules, for the symbols and letters that turn out to be needed."""
        self.symbols = [self.table.grammar.start]
        found: list[Rule] = []
        for symbol in self.symbols:  # grows on the way
            found += self._at(symbol, READY)
        # Nothing new comes up below: a remembered letter does what it does when it is read.
        for letter in self.remembered:
            found += [r for symbol in self.symbols for r in self._at(symbol, letter)]
        return [*found, *self._at_bottom()]

    def _at(self, symbol: str, state: str) -> Iterator[Rule]:
        """Rules for a symbol on top: reading letters when ready, else the letter remembered."""
        if symbol in self.choosy:
            here = READY if state == READY else _remembering(state)
            for body in self.table.bodies[symbol]:
                name = f"{symbol} -> {' '.join(body)}".rstrip()
                yield rule(here, None, here, top=symbol, push=self._pushed(body), choice=name)
            return
        for letter in self._letters() if state == READY else [state]:
            yield self._read(symbol, letter, ready=state == READY)

    def _read(self, symbol: str, letter: str, ready: bool) -> Rule:
        source, guard, choice = (
            (READY, self._guard(letter), "") if ready else (_remembering(letter), None, "next")
        )
        left = self._derive(symbol, letter)
        if left == "vanished":
            if letter not in self.remembered:
                self.remembered.append(letter)
            target = _remembering(letter)
            return rule(source, guard, target, top=symbol, push="", choice=choice)
        if isinstance(left, str):
            return rule(source, guard, REJECTED, top=symbol, reward=self.reject, choice=choice)
        return rule(source, guard, READY, top=symbol, push=self._pushed(left), choice=choice)

    def _pushed(self, symbols: tuple[str, ...]) -> tuple[str, ...]:
        self.symbols += [s for s in dict.fromkeys(symbols) if s not in self.symbols]
        return symbols

    def _at_bottom(self) -> Iterator[Rule]:
        """Nothing more is to come: the word is complete, if it ends here."""
        if self.end is None:
            yield rule(READY, None, ACCEPTED, top="bottom", reward=self.accept, choice="accept")
        else:
            for letter in self._letters():
                yield self._verdict(READY, letter, self._guard(letter))
        for letter in self.remembered:
            yield self._verdict(_remembering(letter), letter, None)

    def _verdict(self, source: str, letter: str, guard: Guard | None) -> Rule:
        good, choice = letter == END, "" if guard is not None else "next"
        target, reward = (ACCEPTED, self.accept) if good else (REJECTED, self.reject)
        return rule(source, guard, target, top="bottom", reward=reward, choice=choice)

    def _guard(self, letter: str) -> Guard:
        return Guard("label", letter if letter != END else str(self.end))


def _remembering(letter: str) -> str:
    return f"read-{letter or 'end'}"
