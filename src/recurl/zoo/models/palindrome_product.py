"""The palindrome gridworld again, as a grid watched by a machine."""

from __future__ import annotations

from typing import Any

from recurl.automaton.grid import MOVES
from recurl.automaton.gridworld import gridworld
from recurl.automaton.machine import Machine, rule
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import at_least, between


def vertices(size: int, **others: Any) -> float:
    """About how many vertices the model has."""
    return 75 * size**2


def palindrome_product(size: int = 3, corruption: Number = 0.01) -> RMDP:
    """The palindrome gridworld as the product of a grid and a pushdown machine.

    The rules, and so the value **41.0326**, are those of `palindrome`; only exits that can be
    reached exist, 12 for each letter and 3 lanes, where the model made by hand has 18.

    Args:
        size: Rows and columns of the grid, at least 1.
        corruption: Probability that an action becomes ``special``, in [0, 1).

    Example:
        >>> palindrome_product()
        <RMDP palindrome_product: 5 components, 549 vertices, multi-exit, recursive>
    """
    at_least("size", size, 1)
    p = between("corruption", corruption, 0, 1, closed="low")
    rows = [["."] * size for _ in range(size)]
    rows[size // 2][size // 2] = "G"
    grid = gridworld(
        "/".join(map("".join, rows)),
        start={(r, c): f"1/{size**2}" for r in range(size) for c in range(size)},
        stays={"special": ""},
        replaced={"special": p},
    )
    return product(grid, palindrome_machine(), "palindrome_product")


def palindrome_machine() -> Machine:
    """The machine that watches: letters are pushed, then matched; something wrong stays wrong.

    Example:
        >>> palindrome_machine()
        <Machine palindrome: 6 states, 5 stack symbols, 26 rules>
    """
    rules = [rule("out", move, "out", push=f"{move} _", reward=-1) for move in MOVES]
    rules.append(rule("out", "special", "back", reward=-1))
    for state in ("back", "wrong"):
        for move in MOVES:
            rules.append(rule(state, move, state, top=move, push="", reward=-1))
            rules.append(rule(state, "else", "wrong", top=move, push="", reward=-5))
        rules.append(rule(state, "!special", "moved", top="bottom", reward=-5))
    rules += [
        rule("back", "special & G", "success", top="bottom", reward=50),
        rule("back", "special & !G", "failure", top="bottom", reward=-1),
        rule("wrong", "special", "failure", top="bottom", reward=-1),
    ]
    final = ("success", "failure", "moved")
    return Machine("palindrome", rules, final=final, exclusive=[[*MOVES, "special"]])
