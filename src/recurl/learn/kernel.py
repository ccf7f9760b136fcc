"""Compiled learning and testing in a model."""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.learn.contexts_kernel import (
    CONTEXTS,
    LARGEST,
    PAIRS,
    VALUES,
    Contexts,
    create,
    find,
    nearest,
)
from recurl.learn.jit import compiled, inlined
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
from recurl.simulation.random import next_below, next_float

OUTCOME = np.dtype(
    [("below", "f8"), ("reward", "f8"), ("landing", "i4"), ("box", "i4"), ("move", "i8")]
)
"""One transition, packed, so that a step touches one line of cache: the sum of the probabilities
in its row up to and with it, its reward, where it lands, the box it enters, and its kind."""

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
        outcomes: The transitions, as `OUTCOME`.
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
            and the vertex where it landed, or -1 for the end.
        vector: Scratch for exit values.
    """

    random: np.ndarray
    place: np.ndarray
    sums: np.ndarray
    contexts: np.ndarray
    boxes: np.ndarray
    log: np.ndarray
    vector: np.ndarray


@inlined
def draw(outcomes: np.ndarray, i: int, random: np.ndarray) -> int:
    """The outcome that a random number falls on, in the row that begins at i."""
    if outcomes[i].below >= 1.0:
        return i
    u = next_float(random)
    while u >= outcomes[i].below:
        i += 1
    return i


@compiled
def start_vertex(w: World, random: np.ndarray) -> int:
    """Where an episode starts."""
    if len(w.start) == 1:
        return w.start[0]
    u = next_float(random)
    i = 0
    while u >= w.start_below[i]:
        i += 1
    return w.start[i]


@inlined
def _ahead(w: World, x: Contexts, context: int, vertex: int) -> float:
    """Greatest Q-value of a vertex in a context."""
    count = w.action_start[vertex + 1] - w.action_start[vertex]
    return best(x.q, x.block[context] + w.row[vertex], count)


@inlined
def _hopes(w: World, x: Contexts, context: int, box: int, vector: np.ndarray) -> int:
    """What each exit of a box is worth to the caller; returns the component called."""
    component = w.box_component[box]
    for k in range(x.n_exits[component]):
        vector[k] = _ahead(w, x, context, w.box_return[box] + k)
    return component


@compiled
def enter_greedily(
    w: World, x: Contexts, rule: Rule, context: int, box: int, vector: np.ndarray
) -> int:
    """Context that a greedy run enters by a box; -1 for one that was never met."""
    component = w.box_component[box]
    vector[:] = 0.0
    if context >= 0:
        _hopes(w, x, context, box, vector)
        normalise(vector, x.n_exits[component], rule.quantum, rule.grain)
    found = find(x, component, vector)
    if found < 0 and rule.inherit > 0:
        found = nearest(x, component, vector)
    return found


@compiled
def _room(x: Contexts, run: Run) -> bool:
    """Whether one more context fits; with one more level of the stack, any step does."""
    used = x.used
    return (
        used[CONTEXTS] < len(x.block)
        and used[PAIRS] + used[LARGEST] <= len(x.q)
        and used[VALUES] + len(run.vector) <= len(x.values)
        and 2 * used[CONTEXTS] + 2 <= len(x.slots)
    )


@compiled
def _repeat(w: World, x: Contexts, run: Run, rule: Rule, entry: int, step: int) -> None:
    """Repeat the update of a logged step with the Q-values of today."""
    log = run.log
    context = log[entry, 2]
    outcome = w.outcomes[log[entry, 1]]
    move = outcome.move
    ahead = other = 0.0
    if rule.flat and log[entry, 3] >= 0:
        move = STEP
        ahead = _ahead(w, x, context, log[entry, 3])
    elif move == STEP:
        ahead = _ahead(w, x, context, outcome.landing)
    elif move == EXITS:
        other = x.values[x.value_start[context] + outcome.landing]
    else:
        component = _hopes(w, x, context, outcome.box, run.vector)
        other = normalise(run.vector, x.n_exits[component], rule.quantum, rule.grain)
        callee = find(x, component, run.vector)
        if callee < 0:
            return
        ahead = _ahead(w, x, callee, outcome.landing)
    goal = target(move, outcome.reward, ahead, other)
    improve(x.q, x.visits, log[entry, 0], goal, rule.step_size, step)


@inlined
def _enter(
    w: World, x: Contexts, run: Run, rule: Rule, context: int, box: int
) -> tuple[int, float]:
    """Context that a call enters, made if it is new, and what was taken off its exit values."""
    component = _hopes(w, x, context, box, run.vector)
    off = normalise(run.vector, x.n_exits[component], rule.quantum, rule.grain)
    callee = find(x, component, run.vector)
    if callee < 0:
        callee = create(x, component, run.vector, rule.initial, rule.inherit)
    return callee, off


@compiled
def _replay(w: World, x: Contexts, run: Run, rule: Rule, logged: int, step: int) -> None:
    """Learn again from steps that were logged, drawn at random."""
    for _ in range(rule.replay):
        _repeat(w, x, run, rule, next_below(run.random, min(logged, len(run.log))), step)


@inlined
def _note(entry: np.ndarray, cell: int, outcome: int, context: int, vertex: int) -> None:
    """Log a step: what it changed, what came of it, from which context, and where it led."""
    entry[0], entry[1], entry[2], entry[3] = cell, outcome, context, vertex


@compiled
def learn_steps(w: World, x: Contexts, run: Run, rule: Rule, steps: int) -> int:
    """Take steps, learning; returns why it stopped. It stops between steps only.

    One loop, so that where the run stands stays in registers.
    """
    place, random, outcomes = run.place, run.random, w.outcomes
    vertex, context, height = place[VERTEX], place[CONTEXT], place[HEIGHT]
    length, step, logged = place[LENGTH], place[STEPS], place[LOGGED]
    running, total = place[RUNNING] == 1, run.sums[0]
    end = step + steps
    reason = DONE if _room(x, run) and height < len(run.boxes) else ROOM
    while step < end and reason == DONE:
        if not running:
            vertex, context, height, length = start_vertex(w, random), 0, 0, 0
            running, total = True, 0.0
        begin = w.action_start[vertex]
        row = x.block[context] + w.row[vertex]
        count = w.action_start[vertex + 1] - begin
        explore = exploration(rule.exploration, x.visits, row, count, step)
        action = choose(x.q, row, count, explore, random)
        i = draw(outcomes, w.row_start[begin + action], random)
        outcome = outcomes[i]
        move, home, ahead, other = outcome.move, context, 0.0, 0.0
        if move == STEP:
            vertex = outcome.landing
        elif move == CALLS:
            vertex = outcome.landing
            run.boxes[height], run.contexts[height] = outcome.box, context
            height += 1
            if not rule.flat:
                context, other = _enter(w, x, run, rule, context, outcome.box)
                if not np.isfinite(other):
                    reason = DIVERGED
            is_newest = context == x.used[CONTEXTS] - 1
            if height == len(run.boxes) or (is_newest and not _room(x, run)):
                reason = max(reason, ROOM)
        else:
            other = 0.0 if rule.flat else x.values[x.value_start[context] + outcome.landing]
            running = height > 0
            if running:
                height -= 1
                vertex = w.box_return[run.boxes[height]] + outcome.landing
                context = run.contexts[height]
        if rule.flat and running:
            move = STEP
        if move != EXITS:
            ahead = _ahead(w, x, context, vertex)
        goal = target(move, outcome.reward, ahead, other)
        improve(x.q, x.visits, row + action, goal, rule.step_size, step)
        if rule.replay > 0:
            _note(run.log[logged % len(run.log)], row + action, i, home, vertex if running else -1)
            logged += 1
            _replay(w, x, run, rule, logged, step)
        step += 1
        length += 1
        total += outcome.reward
        if not running or length == rule.episode_limit:
            place[EPISODES] += 1
            place[CUT] += running
            run.sums[1] += total
            running = False
    place[VERTEX], place[CONTEXT], place[HEIGHT] = vertex, context, height
    place[LENGTH], place[STEPS], place[LOGGED] = length, step, logged
    place[RUNNING], run.sums[0] = running, total
    return reason
