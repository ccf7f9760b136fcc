"""An office with errands inside errands."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from recurl.automaton.grid import MOVES, Cell, Grid
from recurl.automaton.machine import Machine, rule
from recurl.automaton.mdp import LabelledMDP, Move
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between, number


def office(
    layout: str = "C..#M/.#.../...O.",
    *,
    asked: Number = 0.3,
    breakdown: Number = 0.01,
    delivery: Number = 10,
    step_reward: Number = -0.2,
) -> RMDP:
    """Fetch coffee for the office, where whoever serves may ask you to fetch something first.

    On the map C serves coffee, M hands out mail, O is the office, where the run starts. Whoever is
    asked for coffee asks for mail first with probability `asked`, and whoever is asked for mail
    asks for coffee first: an errand inside the errand, without limit. What was asked for is on the
    stack; an errand ends where its thing is handed out, and goes on with the one below. Back in the
    office with the coffee, the run ends and pays `delivery`.

    Args:
        layout: The map, with one O and at least one C and M; # is a wall.
        asked: Probability to be asked for something first, in (0, 1).
        breakdown: Probability, per step, that the run ends, in (0, 1).
        delivery: Reward of the delivery.
        step_reward: Reward of each step.

    Example:
        >>> office()
        <RMDP office: 3 components, 66 vertices, multi-exit, recursive>
    """
    grid = Grid.read(layout, letters=".#CMO")
    offices = list(grid.cells("O"))
    if len(offices) != 1 or not all(any(grid.cells(letter)) for letter in "CM"):
        raise ValueError(f"the map {layout!r} must have one O, a C and an M")
    p = between("asked", asked, 0, 1)
    paid = number("step_reward", step_reward)

    def step(cell: Cell, action: str) -> Iterator[Move]:
        there = grid.moved(cell, action)
        letter = grid[there]
        shown = [letter] if letter in "CMO" else []
        if letter in "CM":
            yield Move(there, p, paid, [letter, "first"])
            yield Move(there, 1 - p, paid, shown)
        else:
            yield Move(there, 1, paid, shown)

    world = LabelledMDP.explore(
        "office", {offices[0]: 1}, lambda cell: list(MOVES), step, labels="CMO"
    ).with_breakdown(between("breakdown", breakdown, 0, 1), paid)
    return product(world, errand_machine(number("delivery", delivery)), "office")


def errand_machine(delivery: Fraction) -> Machine:
    """Errands on a stack; ``first`` asks for the other thing before this one.

    Example:
        >>> errand_machine(Fraction(10))
        <Machine errands: 2 states, 3 stack symbols, 5 rules>
    """
    rules = [
        rule("fetch", "C & first", "fetch", top="coffee", push="mail coffee"),
        rule("fetch", "C & !first", "fetch", top="coffee", push=""),
        rule("fetch", "M & first", "fetch", top="mail", push="coffee mail"),
        rule("fetch", "M & !first", "fetch", top="mail", push=""),
        rule("fetch", "O", "delivered", top="bottom", reward=delivery),
    ]
    return Machine("errands", rules, stack="coffee bottom", final="delivered", exclusive=["CMO"])
