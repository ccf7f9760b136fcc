"""Gymnasium's frozen lake, with a context-free side condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import gymnasium as gym

from recurl.automaton.machine import Machine, rule
from recurl.automaton.mdp import LabelledMDP
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between

ACTIONS = ("left", "down", "right", "up")


def frozen_lake(map_name: Literal["4x4", "8x8"] = "4x4", breakdown: Number = 0.05) -> RMDP:
    """Cross Gymnasium's frozen lake so that the moves right and down are balanced like brackets.

    The goal pays 1, but only if every chosen ``down`` closes an earlier ``right``, and every
    ``right`` is closed: where the ice leads does not matter. A ``down`` with nothing to close ends
    the run. Each step first breaks down with a small probability, since one could stay on safe ice
    forever.

    Args:
        map_name: Gymnasium's map.
        breakdown: Probability, per step, that the run ends, in (0, 1).

    Example:
        >>> frozen_lake()
        <RMDP frozen_lake: 3 components, 159 vertices, multi-exit, recursive>
    """
    p = between("breakdown", breakdown, 0, 1)
    env = gym.make("FrozenLake-v1", map_name=map_name)
    goal = {"4x4": 15, "8x8": 63}[map_name]

    def labels(state: int, action: int, there: int) -> Iterator[str]:
        yield ACTIONS[action]
        if there == goal:
            yield "goal"

    def cell(state: int) -> str:
        row, column = divmod(state, int(map_name[0]))
        return f"r{row}c{column}"

    lake = LabelledMDP.from_env(env, labels, actions=ACTIONS, known=ACTIONS, state_name=cell)
    return product(lake.with_breakdown(p), balance_machine(), "frozen_lake")


def balance_machine() -> Machine:
    """Moves right and down as brackets; the goal's reward is taken back unless all are closed.

    The lowest open bracket is called ``first``, so that the machine sees whether a ``down`` closes
    the last one that is open.

    Example:
        >>> balance_machine()
        <Machine balance: 3 states, 3 stack symbols, 13 rules>
    """
    other, lost = "(left | up) & goal", "unbalanced"
    rules = [
        rule("walk", "right & goal", lost, reward=-1),
        rule("walk", "right & !goal", "walk", top="bottom", push="first _"),
        rule("walk", "down & !goal", lost, top="bottom"),
        rule("walk", "down & goal", lost, top="bottom", reward=-1),
        rule("walk", other, "balanced", top="bottom"),
        rule("walk", "down & goal", "balanced", top="first"),
        rule("walk", "down & goal", lost, top="more", reward=-1),
    ]
    for top in ("first", "more"):
        rules += [
            rule("walk", "right & !goal", "walk", top=top, push="more _"),
            rule("walk", "down & !goal", "walk", top=top, push=""),
            rule("walk", other, lost, top=top, reward=-1),
        ]
    return Machine("balance", rules, final=("balanced", lost), exclusive=[ACTIONS])
