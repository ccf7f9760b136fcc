"""Balanced brackets on a grid."""

from __future__ import annotations

from recurl.automaton.gridworld import gridworld
from recurl.automaton.machine import Machine, rule
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between, number


def brackets(
    layout: str = "S.(./.#../)..G",
    *,
    breakdown: Number = 0.05,
    slip: Number = 0,
    closed: Number = 2,
    goal: Number = 10,
    wrong: Number = -10,
) -> RMDP:
    """Walk over brackets, collect a reward at each closed one, and reach the goal balanced.

    A step that ends on ``(`` opens a bracket; one that ends on ``)`` closes one and pays `closed`.
    The goal G ends the run: with `goal` if all brackets are closed, else with `wrong`. A ``)``
    without an opened bracket ends it with `wrong`, too. Each step first breaks down with a small
    probability, which ends the run: so there is a limit to greed.

    Args:
        layout: The map: S start, G goal, # wall, . free, and brackets.
        breakdown: Probability of a breakdown per step, in (0, 1).
        slip: Probability that a move goes to either side instead, in [0, 1).
        closed: Reward of closing a bracket.
        goal: Reward of the goal, all brackets closed.
        wrong: Reward of what must not happen.

    Example:
        >>> brackets()
        <RMDP brackets: 2 components, 32 vertices, multi-exit, recursive>
    """
    grid = gridworld(
        layout,
        slip=between("slip", slip, 0, 1, closed="low"),
        breakdown=between("breakdown", breakdown, 0, 1),
        ends="G",
    )
    bad = number("wrong", wrong)
    machine = Machine(
        "brackets",
        [
            rule("walk", "'('", "walk", push="open _"),
            rule("walk", "')'", "walk", top="open", push="", reward=number("closed", closed)),
            rule("walk", "')'", "unbalanced", top="bottom", reward=bad),
            rule("walk", "G", "balanced", top="bottom", reward=number("goal", goal)),
            rule("walk", "G", "unbalanced", top="open", reward=bad),
        ],
        final=("balanced", "unbalanced"),
        exclusive=[["(", ")", "G"]],
    )
    return product(grid, machine, "brackets")
