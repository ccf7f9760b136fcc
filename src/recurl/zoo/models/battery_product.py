"""The robot with a battery again, as a grid watched by a machine."""

from __future__ import annotations

from recurl.automaton.grid import MOVES
from recurl.automaton.gridworld import gridworld
from recurl.automaton.machine import Machine, rule
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.models.battery import check_map
from recurl.zoo.values import at_least, between, number


def battery_product(
    layout: str = "S..#/.#.T/C...",
    charge: int = 2,
    *,
    breakdown: Number = 0.01,
    slip: Number = 0,
    target_reward: Number = 1,
    step_reward: Number = 0,
) -> RMDP:
    """The robot with a battery as the product of a grid and a pushdown machine.

    The rules, and so the values, are those of `battery`: 0.99^10 with the defaults. The first units
    of charge are the machine's first stack.

    The parameters, too, are those of `battery`.

    Example:
        >>> battery_product()
        <RMDP battery_product: 2 components, 48 vertices, multi-exit, recursive>
    """
    at_least("charge", charge, 0)
    check_map(layout)
    grid = gridworld(
        layout,
        slip=between("slip", slip, 0, 1, closed="low"),
        sideways=False,
        stays={"stay": "C"} if "C" in layout else {},
        breakdown=between("breakdown", breakdown, 0, 1, closed="low"),
        step_reward=step_reward,
    )
    moved = " | ".join(MOVES)
    rules = [
        rule("run", f"({moved}) & !T", "run", top="unit", push=""),
        rule("run", f"({moved}) & T", "done", top="unit", reward=number("target", target_reward)),
        rule("run", moved, "dry", top="bottom"),
    ]
    if "C" in layout:
        rules.append(rule("run", "stay", "run", push="unit _"))
    elif charge == 0:
        rules = rules[2:]  # without units, no rule reads them
    machine = Machine(
        "battery",
        rules,
        stack=("unit",) * charge + ("bottom",),
        final=sorted({r.target for r in rules} - {"run"}),
        exclusive=[[*MOVES, "stay"]],
    )
    return product(grid, machine, "battery_product")
