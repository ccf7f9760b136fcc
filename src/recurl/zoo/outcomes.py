"""Outcomes of an action, gathered before they are written down."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from recurl.model.builder import Builder


class Branch(NamedTuple):
    """One thing that may happen: where it leads, how likely it is, what it pays."""

    target: str
    p: Fraction
    reward: Fraction | int


def add_action(builder: Builder, name: str, outcomes: Iterable[Branch]) -> None:
    """Add an action to the builder's vertex; outcomes with the same target become one.

    A transition has one reward, so that of merged outcomes is their mean. What has probability 0
    is left out.

    Example:
        >>> builder = Builder().component("A", entries="in", exits="out").at("in")
        >>> half = Fraction(1, 2)
        >>> add_action(builder, "go", [Branch("out", half, 0), Branch("out", half, 3)])
        >>> builder.build().tables.reward.tolist()
        [1.5]
    """
    by_target: dict[str, list[Branch]] = {}
    for outcome in outcomes:
        if outcome.p:
            by_target.setdefault(outcome.target, []).append(outcome)
    builder.action(name)
    for same in by_target.values():
        builder.to(*(same[0] if len(same) == 1 else _merged(same)))


def _merged(outcomes: list[Branch]) -> Branch:
    p = sum((outcome.p for outcome in outcomes), Fraction(0))
    paid = sum((outcome.p * outcome.reward for outcome in outcomes), Fraction(0))
    return Branch(outcomes[0].target, p, paid / p)
