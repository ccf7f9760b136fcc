from __future__ import annotations

import numpy as np

from recurl.automaton import LabelledMDP, Machine, Move, rule
from recurl.automaton.expansion import Expansion
from recurl.automaton.moves import ENDS, OVER, STAYS, Moves


def test_steps_come_in_the_order_of_actions() -> None:
    mdp = LabelledMDP.explore(
        "w", {"s": 1}, lambda s: ["x", "y"],
        lambda s, a: [Move("s", "1/2", 1, ["l"]), Move("s", "1/2", 2, [], a == "y")],
    )  # fmt: skip
    machine = Machine("m", [
        rule("p", "l", "p", reward=10, choice="c"),
        rule("p", "l", "end", choice="d"),
        rule("p", None, "p", reward=5, choice="e"),
    ], final="end")  # fmt: skip
    expansion = Expansion(mdp, Moves(machine))
    zero = np.zeros(1, np.int64)
    steps = expansion.steps(zero, zero, zero)
    assert expansion.action_names(0, 0, 0) == ["x / c", "y / c", "x / d", "y / d", "e"]
    assert steps.action.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    end = machine.states.index("end")
    wanted = [(STAYS, 0)] * 3 + [(ENDS, OVER), (ENDS, end), (STAYS, 0), (ENDS, end), (ENDS, OVER)]
    found = list(zip(steps.kind.tolist(), steps.control.tolist(), strict=True))
    assert found == [*wanted, (STAYS, 0)]
    paid = [int(expansion.effects[effect].reward) for effect in steps.effect.tolist()]
    assert paid == [10, 0, 10, 0, 0, 0, 0, 0, 5]
    assert steps.transition.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, -1]
