"""The shared parts of machines that read words: letters, names, and how runs end."""

from __future__ import annotations

from dataclasses import dataclass, field

from recurl.automaton.guards import Guard
from recurl.automaton.machine import ANY, Rule, rule
from recurl.grammar.first_sets import END
from recurl.grammar.grammar import Grammar
from recurl.model.spec import Number

READY, ACCEPTED, REJECTED = "ready", "accepted", "rejected"
BOTTOM = "bottom"
_TAKEN = (BOTTOM, ANY, "over", "never")


@dataclass(slots=True)
class Spelling:
    """The letters of a machine that reads words, and the form of its rules.

    Args:
        grammar: The grammar of the words.
        end: Label that says that the word is over, if there is one.
        accept: Reward of a complete word.
        reject: Reward of a wrong letter.
    """

    grammar: Grammar
    end: str | None
    accept: Number
    reject: Number
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def letters(self) -> list[str]:
        """Letters that labels can say, `END` last if it is one of them."""
        return [*sorted(self.grammar.terminals), *([END] if self.end is not None else [])]

    def name(self, symbol: str) -> str:
        """A symbol as a name that states and stack symbols may have.

        Example:
            >>> spelling = Spelling(Grammar.read("S -> 'a.b' | 'a b' | 'bottom'"), None, 1, 0)
            >>> [spelling.name(symbol) for symbol in ("S", "a.b", "a b", "bottom")]
            ['S', 'a-b', "a-b'", "bottom'"]
        """
        if symbol not in self._names:
            name = symbol.replace(".", "-").replace(" ", "-") if symbol != END else "end"
            while name in _TAKEN or name in self._names.values():
                name += "'"
            self._names[symbol] = name
        return self._names[symbol]

    def remembering(self, letter: str) -> str:
        """The state in which a letter has been read, but not yet dealt with."""
        return f"read-{self.name(letter)}"

    def move(
        self,
        source: str,
        letter: str | None,
        top: str,
        *,
        target: str,
        push: tuple[str, ...] = (ANY,),
        choice: str = "next",
    ) -> Rule:
        """A rule that reads a letter, or an epsilon move with a name; verdicts have rewards."""
        guard = None if letter is None else Guard("label", letter if letter else str(self.end))
        named = choice if letter is None else ""
        if target not in (ACCEPTED, REJECTED):
            return rule(source, guard, target, top=top, push=push, choice=named)
        reward = self.accept if target == ACCEPTED else self.reject
        return rule(source, guard, target, top=top, reward=reward, choice=named)
