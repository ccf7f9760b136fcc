"""An epidemic as a branching decision process."""

from __future__ import annotations

from fractions import Fraction

from recurl.grammar.grammar import Alternative, Grammar
from recurl.grammar.model import model_of
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between, number


def epidemic(
    spread: Number = 0.4, *, worsen: Number = 0.2, isolation: Number = 1, treatment: Number = 3
) -> RMDP:
    """Cases infect others; isolation and treatment cost something, and so does every case.

    A mild case, left alone, infects one other with probability `spread`, and after that turns
    severe with probability `worsen`. Isolated, for a price, it infects no one. A severe case costs
    10, and, untreated, infects two others with probability `spread`, one mild and one severe;
    treated, for a price, one mild one with half that probability. Every mild case costs 1.

    Values per case solve ``m = -1 + max(s m + w v, -isolation + w v)`` and
    ``v = -10 + max(s (m + v), -treatment + s m / 2)``. With the defaults both prices are worth it:
    v = -13 + 0.2 m and m = -2 + 0.2 v, so 0.96 m = -4.6 and m = **-115/24**.

    Args:
        spread: Probability to infect, in [0, 1/2).
        worsen: Probability of a mild case to turn severe, in [0, 1/2).
        isolation: Price of isolating a mild case.
        treatment: Price of treating a severe case.

    Example:
        >>> epidemic()
        <RMDP epidemic: 2 components, 20 vertices, 1-exit, recursive>
    """
    s = between("spread", spread, 0, "1/2", closed="low")
    w = between("worsen", worsen, 0, "1/2", closed="low")
    alone, treated = 1 + number("isolation", isolation), 10 + number("treatment", treatment)
    mild = {
        "wait": [
            _rule("mild severe", s * w, -1),
            _rule("mild", s * (1 - w), -1),
            _rule("severe", (1 - s) * w, -1),
            _rule("", (1 - s) * (1 - w), -1),
        ],
        "isolate": [_rule("severe", w, -alone), _rule("", 1 - w, -alone)],
    }
    severe = {
        "wait": [_rule("mild severe", s, -10), _rule("", 1 - s, -10)],
        "treat": [_rule("mild", s / 2, -treated), _rule("", 1 - s / 2, -treated)],
    }
    rules = {"mild": mild, "severe": severe}
    likely = {
        head: {name: [r for r in rows if r.p] for name, rows in choices.items()}
        for head, choices in rules.items()
    }
    return model_of(Grammar("epidemic", likely))


def _rule(symbols: str, p: Fraction, reward: Fraction | int) -> Alternative:
    return Alternative(tuple(symbols.split()), p, Fraction(reward))
