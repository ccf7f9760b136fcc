"""Compiled learning and testing in a model."""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.learn.contexts_kernel import (
    CONTEXTS,
    LARGEST,
    PAIRS,
    VALUES,
    WIDEST,
    Contexts,
    create,
    find,
    nearest,
)
from recurl.learn.rule_kernel import (
    best,
    choose,
    exploration,
    improve,
    normalise,
    target,
)
from recurl.learn.schedules import Schedule
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.jit import compiled
from recurl.simulation.random import next_below, next_float

VERTEX, CONTEXT, HEIGHT, LENGTH, STEPS, EPISODES, CUT, RUNNING, LOGGED, REPORTED, PLACES = range(11)
"""What ``place`` holds: where the run stands, and what it has done so far."""

DONE, ROOM, DIVERGED = 0, 1, 2
"""Why the kernel returned: steps done; the table or the stack is full; values are not finite."""


class World(NamedTuple):
    """What the kernel needs of a model.

    Attributes:
        action_start: First action of each vertex. ``[V + 1]``
        row: First entry of each vertex in a table; lookalikes may share it. ``[V]``
        row_start: First outcome of each action. ``[A + 1]``
        outcomes: The transitions, packed; see `recurl.model.outcomes`.
        box_component: Component that each box calls. ``[B]``
        box_return: First return port of each box. ``[B]``
        start: Entries at which a run may start.
        start_below: Running sums of their probabilities.
    """

    action_start: np.ndarray
    row: np.ndarray
    row_start: np.ndarray
    outcomes: np.ndarray
    box_component: np.ndarray
    box_return: np.ndarray
    start: np.ndarray
    start_below: np.ndarray


class Rule(NamedTuple):
    """What the kernel needs of the settings."""

    step_size: Schedule
    exploration: Schedule
    quantum: float
    grain: int
    initial: float
    episode_limit: int
    flat: bool
    replay: int
    inherit: int


class Run(NamedTuple):
    """Where a run stands.

    Attributes:
        random: State of the generator.
        place: See `VERTEX` and so on.
        sums: Reward of the episode so far, and of all that ended since the last report.
        contexts: The stack of contexts.
        boxes: The stack of boxes.
        log: For replay, of each of the last steps: entry of q, outcome, context,
            and the vertex where it landed, or -1 for the end. Small numbers keep it in the cache.
        vector: Scratch for exit values.
    """

    random: np.ndarray
    place: np.ndarray
    sums: np.ndarray
    contexts: np.ndarray
    boxes: np.ndarray
    log: np.ndarray
    vector: np.ndarray


@compiled
def draw(outcomes: np.ndarray, i: int, random: np.ndarray) -> int:
    """The outcome that a random number falls on, in the row that begins at i."""
    if outcomes[i].below < 1.0:
        u = next_float(random)
        while u >= outcomes[i].below:
            i += 1
    return i


@compiled
def start_vertex(start: np.ndarray, below: np.ndarray, random: np.ndarray) -> int:
    """Where an episode starts."""
    i = 0
    if len(start) > 1:
        u = next_float(random)
        while u >= below[i]:
            i += 1
    return np.int64(start[i])


@compiled
def _ahead(w: World, q: np.ndarray, block: int, vertex: int) -> float:
    """Greatest Q-value of a vertex in the context whose block of q begins there."""
    return best(q, block + w.row[vertex], w.action_start[vertex + 1] - w.action_start[vertex])


@compiled
def _exit_values(
    w: World, q: np.ndarray, block: int, box: int, exits: int, vector: np.ndarray
) -> None:
    """Worth of each exit of a box to the caller, into the vector."""
    port = w.box_return[box]
    for k in range(exits):
        vector[k] = _ahead(w, q, block, port + k)


@compiled
def enter_greedily(
    w: World, x: Contexts, rule: Rule, context: int, box: int, vector: np.ndarray
) -> int:
    """Context that a greedy run enters by a box; -1 for one that was never met."""
    component = np.int64(w.box_component[box])
    exits = x.n_exits[component]
    for k in range(exits):
        vector[k] = 0.0
    if context >= 0:
        _exit_values(w, x.q, x.block[context], box, exits, vector)
        normalise(vector, exits, rule.quantum, rule.grain)
    found = find(x, component, vector)
    if found < 0 and rule.inherit > 0:
        found = nearest(x, component, vector)
    return found


@compiled
def _has_room(x: Contexts) -> bool:
    """Whether one more context fits."""
    used = x.used
    return (
        used[CONTEXTS] < len(x.block)
        and used[PAIRS] + used[LARGEST] <= len(x.q)
        and used[VALUES] + used[WIDEST] <= len(x.values)
        and 2 * used[CONTEXTS] + 2 <= len(x.slots)
    )


@compiled
def learn_steps(w: World, x: Contexts, run: Run, rule: Rule, steps: int) -> int:
    """Take steps, learning; returns why it stopped. It stops between steps only.

    Each step is learned from, and then, for replay, logged steps drawn at random, with the
    Q-values of today. One loop, so that where the run stands stays in registers.
    """
    place, random, outcomes, log, vector = run.place, run.random, w.outcomes, run.log, run.vector
    q, flat = x.q, rule.flat
    vertex, context, height = place[VERTEX], place[CONTEXT], place[HEIGHT]
    length, step, logged = place[LENGTH], place[STEPS], place[LOGGED]
    running, total = place[RUNNING] == 1, run.sums[0]
    end = step + steps
    reason = DONE if _has_room(x) and height < len(run.boxes) else ROOM
    while step < end and reason == DONE:
        if not running:
            vertex = start_vertex(w.start, w.start_below, random)
            context = height = length = np.int64(0)
            running, total = True, 0.0
        begin = w.action_start[vertex]
        row, count = x.block[context] + w.row[vertex], w.action_start[vertex + 1] - begin
        explore = exploration(rule.exploration, x.visits, row, count, step)
        action = choose(q, row, count, explore, random)
        i = draw(outcomes, np.int64(w.row_start[begin + action]), random)
        pair, home, landing = row + action, context, np.int64(outcomes[i].landing)
        if outcomes[i].move == EXITS:
            running = height > 0
            if running:
                height -= 1
                vertex = w.box_return[run.boxes[height]] + landing
                context = np.int64(run.contexts[height])
        else:
            vertex = landing
            if outcomes[i].move == CALLS:
                run.boxes[height], run.contexts[height] = outcomes[i].box, context
                height += 1
                reason = ROOM if height == len(run.boxes) else reason
        reward, met = outcomes[i].reward, vertex if running else np.int64(-1)
        for repeat in range(rule.replay + 1):
            if repeat > 0:
                entry = next_below(random, min(logged, len(log)))
                pair, i = np.int64(log[entry, 0]), np.int64(log[entry, 1])
                home, met = np.int64(log[entry, 2]), np.int64(log[entry, 3])
            outcome = outcomes[i]
            move, ahead, other = outcome.move, 0.0, 0.0
            if flat:
                move = STEP
                ahead = _ahead(w, q, x.block[home], met) if met >= 0 else 0.0
            elif move == STEP:
                ahead = _ahead(w, q, x.block[home], outcome.landing)
            elif move == EXITS:
                other = x.values[x.value_start[home] + outcome.landing]
            else:
                component = np.int64(w.box_component[outcome.box])
                exits = x.n_exits[component]
                _exit_values(w, q, x.block[home], outcome.box, exits, vector)
                other = normalise(vector, exits, rule.quantum, rule.grain)
                callee = find(x, component, vector)
                if repeat == 0:
                    if callee < 0:
                        callee = create(x, component, vector, rule.initial, rule.inherit)
                        reason = reason if _has_room(x) else ROOM
                    reason = reason if np.isfinite(other) else DIVERGED
                    context = callee
                elif callee < 0:
                    continue
                ahead = _ahead(w, q, x.block[callee], outcome.landing)
            goal = target(move, outcome.reward, ahead, other)
            improve(q, x.visits, pair, goal, rule.step_size, step)
            if repeat == 0 and rule.replay > 0:
                entry = logged % len(log)
                log[entry, 0], log[entry, 1], log[entry, 2], log[entry, 3] = pair, i, home, met
                logged += 1
        step += 1
        length += 1
        total += reward
        if not running or length == rule.episode_limit:
            place[EPISODES] += 1
            place[CUT] += running
            run.sums[1] += total
            running = False
    place[VERTEX], place[CONTEXT], place[HEIGHT] = vertex, context, height
    place[LENGTH], place[STEPS], place[LOGGED] = length, step, logged
    place[RUNNING], run.sums[0] = running, total
    return reason
