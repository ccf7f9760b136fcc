"""Whether simulated runs agree with assumptions on drift."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.policy import Policy
from recurl.simulation.walk import Walk

if TYPE_CHECKING:
    from recurl.learn.pac.drift import Drift
    from recurl.model.rmdp import RMDP

_EPISODES, _LIMIT, _POLICIES, _SURE = 200, 300, 4, 4.0
_FEW = 30


class _Runs(NamedTuple):
    """Simulated runs.

    Attributes:
        heights: Stack height by episode and step; 0 after the end.
        levels: What finished levels collected, by the vertex at which they were entered.
        cut: Entry vertices of levels that did not finish in time.
    """

    heights: np.ndarray
    levels: dict[int, list[float]]
    cut: set[int]


def contradictions(model: RMDP, drift: Drift, seed: int = 0) -> tuple[str, ...]:
    """Where simulated runs contradict the assumptions, by four standard errors.

    Under the uniform policy and some random stackless ones: the height at step t plus mu times the
    steps before it has an expectation of at most c_o, and what a level collects one of at most b in
    absolute value, the whole run being a level and so every call.

    Example:
        >>> import recurl
        >>> from recurl.learn.pac.drift import Drift
        >>> contradictions(recurl.zoo.gambler(p=0.25), Drift(height=1.1, fall=0.9, value=10))
        ('under the uniform policy the stack height at step ... above c_o = 1.1',)
    """
    random = np.random.default_rng([seed, 77])
    count = np.maximum(np.diff(model.tables.action_start), 1)
    named = [("the uniform policy", Policy.uniform(model))]
    for number in range(1, _POLICIES if count.max() > 1 else 1):
        choice = random.integers(0, count)
        named.append((f"random policy {number}", Policy.stackless(model, choice)))
    return tuple(
        f"under {name} {text}"
        for name, policy in named
        for text in _against(model, drift, _runs(model, policy, random))
    )


def _against(model: RMDP, drift: Drift, runs: _Runs) -> list[str]:
    found = []
    running = (runs.heights > 0).astype(np.int64)
    potential = runs.heights + drift.fall * (running.cumsum(axis=1) - running)
    mean, doubt = potential.mean(axis=0), potential.std(axis=0) / math.sqrt(_EPISODES)
    worst = int(np.argmax(mean - _SURE * doubt))
    if mean[worst] - _SURE * doubt[worst] > drift.height + 1e-12:
        found.append(
            f"the stack height at step {worst} plus mu times the steps before is "
            f"{mean[worst]:.4g} on average, above c_o = {drift.height:g}"
        )
    for vertex, totals in sorted(runs.levels.items()):
        if vertex in runs.cut or len(totals) < _FEW:
            continue
        total, error = float(np.mean(totals)), float(np.std(totals)) / math.sqrt(len(totals))
        if abs(total) - _SURE * error > drift.value + 1e-12:
            name = model.vertex_name(vertex)
            found.append(
                f"a level entered at {name} is worth {total:.4g}, beyond b = {drift.value:g}"
            )
    return found


def _runs(model: RMDP, policy: Policy, random: np.random.Generator) -> _Runs:
    runs = _Runs(np.zeros((_EPISODES, _LIMIT), np.int64), {}, set())
    walk = Walk(model, random)
    for episode in range(_EPISODES):
        walk.restart()
        open_levels, total = [(walk.vertex, 0.0)], 0.0
        for step in range(_LIMIT):
            runs.heights[episode, step] = walk.height
            action = policy.action(walk.vertex)
            taken = walk.step(int(random.integers(walk.n_actions)) if action < 0 else action)
            total += taken.reward
            if taken.event == "call":
                open_levels.append((walk.vertex, total))
            elif taken.event == "return" or taken.ended:
                vertex, before = open_levels.pop()
                runs.levels.setdefault(vertex, []).append(total - before)
            if taken.ended:
                break
        runs.cut.update(vertex for vertex, _ in open_levels)
    return runs
