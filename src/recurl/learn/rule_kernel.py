"""The update rule of Recursive Q-learning, written once and compiled.

A table of Q-values, a row of them per state in its context. On a sampled step (s, a, r, s') the
value Q(s, v, a) moves towards a target, of which there are three cases:

- the step entered a box: ``r + max Q(s', v', .) + m``, where v' holds what each return port is
  worth to the caller, less its minimum m, and rounded to the quantum;
- it left through exit k: ``r + v[k]``;
- otherwise: ``r + max Q(s', v, .)``.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math

import numpy as np

from recurl.learn.schedules import CONSTANT, EXPONENTIAL, LINEAR, Schedule
from recurl.model.tables import CALLS, EXITS
from recurl.simulation.jit import compiled
from recurl.simulation.random import next_below, next_float


@compiled
def scheduled(schedule: Schedule, step: int, visits: int) -> float:
    """Value of a schedule at a step of the run, for the so-many-th visit of a pair."""
    if schedule.code == CONSTANT:
        return schedule.first
    if schedule.code == LINEAR:
        share = min(1.0, step / schedule.scale)
        return schedule.first + share * (schedule.last - schedule.first)
    if schedule.code == EXPONENTIAL:
        return schedule.last + (schedule.first - schedule.last) * 2.0 ** (-step / schedule.scale)
    ratio = (1.0 + schedule.scale) / (max(1, visits) + schedule.scale)
    if schedule.omega != 1.0:
        ratio = math.exp(schedule.omega * math.log(ratio))
    return max(schedule.last, schedule.first * ratio)


@compiled
def best(q: np.ndarray, row: int, count: int) -> float:
    """Greatest value of a row."""
    value = q[row]
    for i in range(row + 1, row + count):
        if q[i] > value:
            value = q[i]
    return value


@compiled
def greedy(q: np.ndarray, row: int, count: int) -> int:
    """First action of greatest value."""
    action = 0
    for i in range(1, count):
        if q[row + i] > q[row + action]:
            action = i
    return action


@compiled
def choose(q: np.ndarray, row: int, count: int, exploration: float, random: np.ndarray) -> int:
    """An action of a row: greedy, or with the probability given any; one action needs no draw."""
    if count == 1:
        return 0
    if next_float(random) < exploration:
        return next_below(random, count)
    return greedy(q, row, count)


@compiled
def exploration(rate: Schedule, visits: np.ndarray, row: int, count: int, step: int) -> float:
    """Probability to explore at a row of so many actions; n counts all its visits, and this one."""
    if count == 1 or rate.code == CONSTANT:
        return rate.first
    seen = 1
    for i in range(row, row + count):
        seen += visits[i]
    return scheduled(rate, step, seen)


@compiled
def normalise(vector: np.ndarray, count: int, quantum: float, grain: int) -> float:
    """Make exit values relative to their minimum and round them; returns the minimum, exactly.

    The step of rounding is the quantum, doubled until the greatest value is at most ``grain`` steps
    (if that is not 0): small values are told apart finely, large ones coarsely.
    """
    least = greatest = vector[0]
    if count == 1:
        vector[0] = 0.0
        return least
    for i in range(1, count):
        least, greatest = min(least, vector[i]), max(greatest, vector[i])
    if grain > 0 and quantum > 0.0:
        while grain * quantum < greatest - least < np.inf:
            quantum *= 2.0
    for i in range(count):
        vector[i] -= least
        if quantum > 0.0:
            vector[i] = np.rint(vector[i] / quantum) * quantum
    return least


@compiled
def target(move: int, reward: float, ahead: float, other: float) -> float:
    """The three cases.

    Args:
        move: STEP, CALLS or EXITS.
        reward: Reward of the step.
        ahead: Greatest Q-value where the step landed.
        other: With a call the minimum m that was taken off v'; with an exit its worth v[k].
    """
    if move == CALLS:
        return reward + ahead + other
    if move == EXITS:
        return reward + other
    return reward + ahead


@compiled
def improve(
    q: np.ndarray, visits: np.ndarray, pair: int, goal: float, step_size: Schedule, step: int
) -> None:
    """Count a visit of a pair and move its value towards the target."""
    visits[pair] += 1
    q[pair] += scheduled(step_size, step, visits[pair]) * (goal - q[pair])
