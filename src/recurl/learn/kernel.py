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
from recurl.learn.rule_kernel import best, choose, greedy, improve, normalise, scheduled, target
from recurl.learn.schedules import CONSTANT, Schedule
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
        row_start: First outcome of each action. ``[A + 1]``
        outcomes: The transitions, as `OUTCOME`.
        box_component: Component that each box calls. ``[B]``
        box_return: First return port of each box. ``[B]``
        start: Entries at which a run may start.
        start_below: Running sums of their probabilities.
    """

    action_start: np.ndarray
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
def _draw(outcomes: np.ndarray, i: int, random: np.ndarray) -> int:
    """The outcome that a random number falls on, in the row that begins at i."""
    if outcomes[i].below >= 1.0:
        return i
    u = next_float(random)
    while u >= outcomes[i].below:
        i += 1
    return i


@compiled
def _start(w: World, random: np.ndarray) -> int:
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
    begin = w.action_start[vertex]
    return best(x.q, x.block[context] + begin, w.action_start[vertex + 1] - begin)


@inlined
def _hopes(w: World, x: Contexts, context: int, box: int, vector: np.ndarray) -> int:
    """What each exit of a box is worth to the caller; returns the component called."""
    component = w.box_component[box]
    for k in range(x.n_exits[component]):
        vector[k] = _ahead(w, x, context, w.box_return[box] + k)
    return component


@compiled
def _callee(w: World, x: Contexts, rule: Rule, context: int, box: int, vector: np.ndarray) -> int:
    """Context that a greedy run enters by a box; -1 for one that was never met."""
    component = w.box_component[box]
    vector[:] = 0.0
    if context >= 0:
        _hopes(w, x, context, box, vector)
        normalise(vector, x.n_exits[component], rule.quantum)
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
        other = normalise(run.vector, x.n_exits[component], rule.quantum)
        callee = find(x, component, run.vector)
        if callee < 0:
            return
        ahead = _ahead(w, x, callee, outcome.landing)
    goal = target(move, outcome.reward, ahead, other)
    improve(x.q, x.visits, log[entry, 0], goal, rule.step_size, step)


@compiled
def learn_steps(w: World, x: Contexts, run: Run, rule: Rule, steps: int) -> int:
    """Take steps, learning; returns why it stopped. It stops between steps only."""
    place, random, outcomes = run.place, run.random, w.outcomes
    vertex, context, height = place[VERTEX], place[CONTEXT], place[HEIGHT]
    length, step, logged = place[LENGTH], place[STEPS], place[LOGGED]
    running = place[RUNNING] == 1
    end = step + steps
    reason = DONE if _room(x, run) and height < len(run.boxes) else ROOM
    while step < end and reason == DONE:
        if not running:
            vertex, context, height, length = _start(w, random), 0, 0, 0
            run.sums[0] = 0.0
            running = True
        begin = w.action_start[vertex]
        row = x.block[context] + begin
        count = w.action_start[vertex + 1] - begin
        explore = rule.exploration.first
        if count > 1 and rule.exploration.code != CONSTANT:
            seen = 0
            for i in range(row, row + count):
                seen += x.visits[i]
            explore = scheduled(rule.exploration, step, seen + 1)
        action = choose(x.q, row, count, explore, random)
        i = _draw(outcomes, w.row_start[begin + action], random)
        outcome = outcomes[i]
        move = outcome.move
        ahead = other = 0.0
        home = context
        if move == STEP:
            vertex = outcome.landing
            ahead = _ahead(w, x, context, vertex)
        elif move == CALLS:
            box = outcome.box
            vertex = outcome.landing
            run.boxes[height] = box
            if rule.flat:
                move = STEP
            else:
                component = _hopes(w, x, context, box, run.vector)
                other = normalise(run.vector, x.n_exits[component], rule.quantum)
                run.contexts[height] = context
                if not np.isfinite(other):
                    reason = DIVERGED
                context = find(x, component, run.vector)
                if context < 0:
                    context = create(x, component, run.vector, rule.initial, rule.inherit)
                    if not _room(x, run):
                        reason = max(reason, ROOM)
            height += 1
            ahead = _ahead(w, x, context, vertex)
            if height == len(run.boxes):
                reason = max(reason, ROOM)
        else:
            if not rule.flat:
                other = x.values[x.value_start[context] + outcome.landing]
            if height == 0:
                running = False
            else:
                height -= 1
                vertex = w.box_return[run.boxes[height]] + outcome.landing
                if rule.flat:
                    move = STEP
                    ahead = _ahead(w, x, context, vertex)
                else:
                    context = run.contexts[height]
        goal = target(move, outcome.reward, ahead, other)
        improve(x.q, x.visits, row + action, goal, rule.step_size, step)
        if rule.replay > 0:
            entry = logged % len(run.log)
            run.log[entry, 0], run.log[entry, 1], run.log[entry, 2] = row + action, i, home
            run.log[entry, 3] = vertex if running else -1
            logged += 1
        for _ in range(rule.replay):
            _repeat(w, x, run, rule, next_below(random, min(logged, len(run.log))), step)
        step += 1
        length += 1
        run.sums[0] += outcome.reward
        if not running or length == rule.episode_limit:
            place[EPISODES] += 1
            place[CUT] += running
            run.sums[1] += run.sums[0]
            running = False
    place[VERTEX], place[CONTEXT], place[HEIGHT] = vertex, context, height
    place[LENGTH], place[STEPS], place[LOGGED] = length, step, logged
    place[RUNNING] = 1 if running else 0
    return reason


@compiled
def enter_greedily(
    w: World, x: Contexts, rule: Rule, context: int, box: int, vector: np.ndarray
) -> int:
    """Context that a greedy run enters by a box; -1 for one that was never met."""
    return _callee(w, x, rule, context, box, vector)


@compiled
def test_episodes(
    w: World,
    x: Contexts,
    rule: Rule,
    random: np.ndarray,
    stack: np.ndarray,
    vector: np.ndarray,
    limit: int,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> None:
    """Run greedy episodes without learning; in contexts never met the first action is taken."""
    for episode in range(len(returns)):
        vertex, context, height, length, total = _start(w, random), 0, 0, 0, 0.0
        running = True
        while running and length < limit:
            begin = w.action_start[vertex]
            count = w.action_start[vertex + 1] - begin
            action = greedy(x.q, x.block[context] + begin, count) if context >= 0 else 0
            outcome = w.outcomes[_draw(w.outcomes, w.row_start[begin + action], random)]
            length += 1
            total += outcome.reward
            if outcome.move == STEP:
                vertex = outcome.landing
            elif outcome.move == CALLS:
                stack[0, height], stack[1, height] = outcome.box, context
                height += 1
                vertex = outcome.landing
                if not rule.flat:
                    context = _callee(w, x, rule, context, outcome.box, vector)
            elif height == 0:
                running = False
            else:
                height -= 1
                vertex = w.box_return[stack[0, height]] + outcome.landing
                context = stack[1, height]
        returns[episode], lengths[episode], cut[episode] = total, length, running


class Walked(NamedTuple):
    """What a greedy run can meet, by slot: a vertex in a context.

    The contexts are those of the table, then one per component for contexts never met.

    Attributes:
        slot_start: First slot of each context. ``[X + C + 1]``
        component: Component of each context. ``[X + C]``
        component_start: First vertex of each component. ``[C + 1]``
        box_call: First call port of each box. ``[B]``
        seen: Whether a slot was met.
        actions: Greedy action of each slot.
        callees: Context entered at the slot of a call port, or -1.
        todo: Scratch: slots whose outcomes are to be followed.
    """

    slot_start: np.ndarray
    component: np.ndarray
    component_start: np.ndarray
    box_call: np.ndarray
    seen: np.ndarray
    actions: np.ndarray
    callees: np.ndarray
    todo: np.ndarray


@compiled
def _meet(g: Walked, context: int, vertex: int, waiting: int) -> int:
    slot = g.slot_start[context] + vertex - g.component_start[g.component[context]]
    if g.seen[slot]:
        return waiting
    g.seen[slot] = 1
    g.todo[waiting, 0], g.todo[waiting, 1] = context, vertex
    return waiting + 1


@compiled
def follow_greedy(w: World, x: Contexts, rule: Rule, g: Walked, vector: np.ndarray) -> None:
    """Mark every slot that a greedy run can meet, with its action and the contexts it calls."""
    known = x.used[CONTEXTS]
    waiting = 0
    for i in range(len(w.start)):
        waiting = _meet(g, 0, w.start[i], waiting)
    while waiting > 0:
        waiting -= 1
        context, vertex = g.todo[waiting, 0], g.todo[waiting, 1]
        shift = g.slot_start[context] - g.component_start[g.component[context]]
        begin = w.action_start[vertex]
        count = w.action_start[vertex + 1] - begin
        action = greedy(x.q, x.block[context] + begin, count) if context < known else 0
        g.actions[shift + vertex] = action
        for i in range(w.row_start[begin + action], w.row_start[begin + action + 1]):
            outcome = w.outcomes[i]
            if outcome.move == STEP:
                waiting = _meet(g, context, outcome.landing, waiting)
            elif outcome.move == CALLS:
                box = outcome.box
                component = w.box_component[box]
                home = context if context < known else -1
                callee = _callee(w, x, rule, home, box, vector)
                if callee < 0:
                    callee = known + component
                port = outcome.landing - g.component_start[component]
                g.callees[shift + g.box_call[box] + port] = callee
                waiting = _meet(g, callee, outcome.landing, waiting)
                for k in range(x.n_exits[component]):
                    waiting = _meet(g, context, w.box_return[box] + k, waiting)
