"""The letter world: as many C as there were A."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from recurl.automaton.grid import MOVES, Cell, Grid
from recurl.automaton.machine import Machine, rule
from recurl.automaton.mdp import LabelledMDP, Move
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.zoo.values import at_least

GRID = Grid(("." * 7,) * 3)
FIRST, LETTER, LAST = Cell(1, 3), Cell(1, 1), Cell(1, 5)
HALF = Fraction(1, 2)


def vertices(patience: int, **others: Any) -> float:
    """About how many vertices the model has."""
    return 80 * patience


def letter_world(patience: int | None = 6) -> RMDP:
    """Read A until it turns into B, then read C once for every A, and one more time to end.

    On a grid of 3 rows and 7 columns A lies at (1, 1), C at (1, 5), and the start is (1, 3). Each
    visit to A turns it into B for good with probability 1/2, before it is read. After B, each C
    takes back one A; the C that finds none ends the run. A step costs 0.1, but the last one pays 1.

    With n times A a run takes at least 6 + 4 n steps, and n is 1 on average: the value is
    1 - 0.1 (5 + 4) = **0.1**, without any limit on n.

    A run could go on forever, so the plain world is not proper. After `patience` steps without
    the letter that is wanted, the agent is led to it on the shortest way. That changes no value,
    since the best runs need at most four steps from letter to letter.

    Args:
        patience: How many steps may pass without the letter that is wanted, at least 4; None for
            the plain world.

    Example:
        >>> letter_world()
        <RMDP letter_world: 2 components, 375 vertices, 1-exit, recursive>
    """
    if patience is not None:
        at_least("patience", patience, 4)
    world = LabelledMDP.explore(
        "letters",
        {_State(FIRST): 1},
        lambda state: state.actions(patience),
        lambda state, action: state.step(action, patience),
    )
    return product(world, letter_machine(), "letter_world")


def letter_machine() -> Machine:
    """Counts A on the stack, and C down.

    Example:
        >>> letter_machine()
        <Machine letters: 3 states, 2 stack symbols, 4 rules>
    """
    rules = [
        rule("count", "A", "count", push="A _"),
        rule("count", "B", "match"),
        rule("match", "C", "match", top="A", push=""),
        rule("match", "C", "done", top="bottom", reward=Fraction(11, 10)),
    ]
    return Machine("letters", rules, final="done", exclusive=["ABC"])


class _State(NamedTuple):
    """Where the agent is, whether A has turned into B, and for how long it found no letter."""

    cell: Cell
    turned: bool = False
    idle: int = 0

    def __str__(self) -> str:
        return f"{self.cell}{'B' if self.turned else 'A'}{self.idle}"

    def actions(self, patience: int | None) -> list[str]:
        if self.idle != patience:
            return list(MOVES)
        wanted = LAST if self.turned else LETTER
        if wanted.column != self.cell.column:
            return ["east" if wanted.column > self.cell.column else "west"]
        return ["south" if wanted.row > self.cell.row else "north"]

    def step(self, action: str, patience: int | None) -> Iterator[Move]:
        there, cost = GRID.moved(self.cell, action), Fraction(-1, 10)
        idle = 0 if patience is None else min(self.idle + 1, patience)
        if there == LETTER and not self.turned:
            yield Move(_State(there, True, 0), HALF, cost, ["B"])
            yield Move(_State(there, False, 0), HALF, cost, ["A"])
        elif there == LAST:
            yield Move(_State(there, self.turned, 0 if self.turned else idle), 1, cost, ["C"])
        else:
            shown = ["B"] if there == LETTER else []
            yield Move(_State(there, self.turned, idle), 1, cost, shown)
