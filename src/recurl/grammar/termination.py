"""The greatest or least probability that a derivation ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recurl.errors import UnknownNameError
from recurl.grammar.grammar import DERIVE, Grammar
from recurl.grammar.model import model_of
from recurl.model.tables import Floats
from recurl.policy import Policy

_SWEEPS = 20_000
_SETTLED = 1e-15
_SURE = 1e-9


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

    The least solution of ``x(A) = max over choices of sum p x(B1) ... x(Bk)`` (or min). Sweeps from
    0 stay below it. For the greatest, choices are improved until none is better, and a point y with
    F(y) <= y bounds it from above; for the least, the choices found bound it from above.

    Args:
        grammar: The grammar.
        objective: ``"max"`` or ``"min"``.

    Example:
        >>> grammar = Grammar("walk", {"W": ["W W [0.6]", "[0.4]"]})
        >>> round(termination(grammar).value, 9)
        0.666666667
    """
    if objective not in ("max", "min"):
        raise UnknownNameError("objective", objective, ["max", "min"])
    system = _System.of(grammar)
    below, chosen = system.sweep(objective)
    found = _evaluated(grammar, chosen)
    first = list(grammar.rules).index(grammar.start)
    if objective == "min":
        return Termination(min(float(below[first]), found[1]), found[1], chosen)
    top = float(system.above(below, chosen)[first])
    return Termination(found[0], max(top, found[0]), chosen)


def _evaluated(grammar: Grammar, chosen: dict[str, str]) -> tuple[float, float]:
    """The probability to end under fixed choices, by Newton's method."""
    from recurl.solving.evaluate import evaluate  # compiled code, loaded when it is needed

    model = model_of(grammar)
    actions = {f"{head}.in": choice or DERIVE for head, choice in chosen.items()}
    return evaluate(Policy.stackless(model, actions)).termination


@dataclass(frozen=True, slots=True)
class _System:
    """The polynomials: by nonterminal and choice, monomials as coefficient and factors."""

    grammar: Grammar
    terms: list[list[list[tuple[float, list[int]]]]]

    @classmethod
    def of(cls, grammar: Grammar) -> _System:
        number = {head: i for i, head in enumerate(grammar.rules)}
        terms = [
            [
                [
                    (float(rule.p), [number[s] for s in rule.symbols if s in number])
                    for rule in rules
                ]
                for rules in choices.values()
            ]
            for choices in grammar.rules.values()
        ]
        return cls(grammar, terms)

    def worth(self, x: Floats) -> list[list[float]]:
        """The value of every choice."""
        return [
            [sum(p * float(np.prod(x[factors])) for p, factors in rules) for rules in choices]
            for choices in self.terms
        ]

    def sweep(self, objective: str) -> tuple[Floats, dict[str, str]]:
        """The polynomials applied from 0 until nothing moves, and the choices that attain it.

        A choice is taken when it raises its value, so that of equal ones none is that goes round in
        circles; for the least value circles are welcome, and the last choices are taken.
        """
        best, x = (np.argmax if objective == "max" else np.argmin), np.zeros(len(self.terms))
        taken = np.zeros(len(x), int)
        for _ in range(_SWEEPS):
            worth = self.worth(x)
            picks = np.array([int(best(choices)) for choices in worth])
            new = np.array([choices[i] for choices, i in zip(worth, picks, strict=True)])
            taken = np.where((new > x + _SETTLED) | (objective == "min"), picks, taken)
            moved = float(np.abs(new - x).max())
            x = new
            if moved <= _SETTLED:
                break
        heads = zip(self.grammar.rules.items(), taken, strict=True)
        return x, {head: list(choices)[i] for (head, choices), i in heads}

    def above(self, x: Floats, chosen: dict[str, str]) -> Floats:
        """A point y >= x with F(y) <= y, for the greatest probability; 1 where none is found.

        Along d with (I - J) d = 1, J being the slopes at x, F falls behind at first.
        """
        open_ = np.flatnonzero(x < 1 - _SURE)
        J = self._slopes(x, chosen)[np.ix_(open_, open_)]
        y = np.ones(len(x))
        if len(open_) and np.abs(np.linalg.eigvals(J)).max() < 1:
            d = np.linalg.solve(np.eye(len(open_)) - J, np.ones(len(open_)))
            for slack in 10.0 ** np.arange(-14, -1, 0.5):
                y[open_] = np.minimum(x[open_] + slack * d, 1)
                if all(max(worth) <= top for worth, top in zip(self.worth(y), y, strict=True)):
                    return y
        return np.ones(len(x))

    def _slopes(self, x: Floats, chosen: dict[str, str]) -> Floats:
        slopes = np.zeros((len(x), len(x)))
        for a, (head, choices) in enumerate(self.grammar.rules.items()):
            for p, factors in self.terms[a][list(choices).index(chosen[head])]:
                for place, b in enumerate(factors):
                    others = factors[:place] + factors[place + 1 :]
                    slopes[a, b] += p * float(np.prod(x[others]))
        return slopes
