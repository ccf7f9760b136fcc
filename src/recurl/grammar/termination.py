"""The greatest or least probability that a derivation ends."""

from __future__ import annotations

from dataclasses import dataclass

from recurl.grammar.grammar import DERIVE, Grammar
from recurl.grammar.model import model_of


@dataclass(frozen=True, slots=True)
class Termination:
    """A probability to end, in an interval that contains it, and the choices that attain it."""

    lower: float
    upper: float
    choices: dict[str, str]

    @property
    def value(self) -> float:
        """The middle of the interval."""
        return (self.lower + self.upper) / 2


def termination(grammar: Grammar, objective: str = "max") -> Termination:
    """The greatest or least probability that a derivation ends.

    The least solution of ``x(A) = max over choices of sum p x(B1) ... x(Bk)`` (or min): that of the
    grammar's model, see `recurl.termination`.

    Args:
        grammar: The grammar.
        objective: ``"max"`` or ``"min"``.

    Example:
        >>> grammar = Grammar("walk", {"W": ["W W [0.6]", "[0.4]"]})
        >>> round(termination(grammar).value, 9)
        0.666666667
    """
    from recurl.solving.termination import termination as of_model

    found = of_model(model_of(grammar), objective)
    assert found.policy is not None
    taken = {head: found.policy.action_name(f"{head}.in") for head in grammar.rules}
    choices = {head: "" if name == DERIVE else name for head, name in taken.items()}
    return Termination(found.lower, found.upper, choices)
