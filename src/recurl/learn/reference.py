"""Recursive Q-learning on one screen: algorithm 1 of the paper, in plain Python.

Read this file first. `recurl.RecursiveQLearning` does the same in compiled code, with schedules,
presets and checkpoints; the tests compare the two to the bit.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from recurl.simulation.walk import Walk

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Context = tuple[float, ...]
QTable = dict[tuple[int, Context, int], float]


def recursive_q_learning(
    model: RMDP,
    steps: int,
    random: np.random.Generator,
    alpha: float = 0.1,
    epsilon: float = 0.1,
    quantum: float = 0.001,
) -> QTable:
    """Learn Q(s, v, a): vertex s, context v (what each exit is worth, relative to the worst).

    Args:
        model: The model to learn in.
        steps: Number of steps.
        random: Source of randomness.
        alpha: Step size.
        epsilon: Probability of a random action.
        quantum: Exit values are rounded to multiples of this.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> Q = recursive_q_learning(model, 20_000, np.random.default_rng(0))
        >>> start = model.find("T.u1")
        >>> Q[start, (0.0,), 1] > Q[start, (0.0,), 0]  # to divide beats mono
        True
    """
    Q: QTable = defaultdict(float)
    walk = Walk(model, random)

    def actions(s: int) -> range:
        return range(len(model.action_names(s)))

    def best(s: int, v: Context) -> float:
        return max(Q[s, v, a] for a in actions(s))

    def epsilon_greedy(s: int, v: Context) -> int:
        if len(actions(s)) == 1:
            return 0
        if random.random() < epsilon:
            return int(random.integers(len(actions(s))))
        ties = [a for a in actions(s) if Q[s, v, a] == best(s, v)]
        return ties[0] if len(ties) == 1 else ties[int(random.integers(len(ties)))]

    root: Context = (0.0,) * int(model.tables.n_exits[model.tables.start_component])
    v, stack = root, []
    for _ in range(steps):
        s, here = walk.vertex, v
        a = epsilon_greedy(s, v)
        step = walk.step(a)

        if step.event == "call" and step.box is not None:
            worth = [best(port, v) for port in model.return_ports(step.box)]
            m = min(worth)
            stack.append(v)
            v = tuple(round((w - m) / quantum) * quantum for w in worth)
            target = step.reward + best(walk.vertex, v) + m
        elif step.exit is not None:
            target = step.reward + v[step.exit]
            v = stack.pop() if stack else root
        else:
            target = step.reward + best(walk.vertex, v)

        Q[s, here, a] += alpha * (target - Q[s, here, a])
        if step.ended:
            walk.restart()
    return Q
