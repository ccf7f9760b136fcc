"""The compiled loops of tabular learners: steps in a model, a step in an environment, tests."""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="arg-type, assignment, no-any-return, no-untyped-call, return-value"

from __future__ import annotations

import numpy as np

from recurl.learn.rule_kernel import (
    DIVERGED,
    LEFT,
    STEPPED,
    choose,
    entered_greedily,
    greedy,
    learn_from,
)
from recurl.learn.store_kernel import (
    BLOCK,
    BOX_GAMMA,
    BOXES,
    CONTEXT,
    CONTEXTS,
    CUTS,
    EPISODE_LIMIT,
    EPISODES,
    FLAT,
    FRAMES,
    GAMMA,
    HEIGHT,
    KIND,
    LENGTH,
    N_EXITS,
    NUMBERS,
    OFFSET,
    OUTCOMES,
    PAIR,
    PLACE,
    RANDOM,
    RETURNS,
    ROW_START,
    RUNNING,
    START,
    START_BELOW,
    STEPS,
    SUMS,
    TOTAL,
    USED,
    VALUE_START,
    VALUES,
    VERTEX,
    VERTICES,
    box_records,
    floats,
    frames,
    has_room,
    ints,
    longs,
    make_row,
    outcome_records,
    size_of,
    vertex_records,
    words,
)
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.jit import compiled, inner
from recurl.simulation.random import next_float

DONE, ROOM, NOT_FINITE = 0, 1, 2
"""Why learning in a model stopped: steps done; the store or the stack is full; values are not
finite."""

BEGIN, CUT = 3, 8
"""In place of a move: an episode begins; added to a move: the episode is cut after it."""

FULL, NOT_A_NUMBER, LOST, ENDED_INSIDE = -1, -2, -3, -4
"""In place of an action: room must be made before this step; values are not finite; an exit
that does not exist, or no call is pending; the run ended in a call, with a discount by boxes."""


@inner
def _start(h: np.ndarray, random: np.ndarray) -> int:
    """Vertex at which an episode of a model starts."""
    start, below, i = ints(h, START), floats(h, START_BELOW), 0
    if size_of(h, START) > 1:
        u = next_float(random)
        while u >= below[i]:
            i += 1
    return np.int64(start[i])


@inner
def _draw(h: np.ndarray, vertex: int, action: int, random: np.ndarray) -> int:
    """The outcome of an action that a random number falls on."""
    outcomes = outcome_records(h, OUTCOMES)
    i = np.int64(ints(h, ROW_START)[vertex_records(h, VERTICES)[vertex].action + action])
    if outcomes[i].below < 1.0:
        u = next_float(random)
        while u >= outcomes[i].below:
            i += 1
    return i


@compiled
def learn_steps(h: np.ndarray, steps: int) -> int:
    """Take steps in a model, learning; returns why it stopped. It stops between steps only.

    Where the run stands is kept in variables, not in arrays, so that it stays in registers.
    """
    place, random, sums = longs(h, PLACE), words(h, RANDOM), floats(h, SUMS)
    stack, outcomes = frames(h, FRAMES), outcome_records(h, OUTCOMES)
    numbers, vertices, blocks = floats(h, NUMBERS), vertex_records(h, VERTICES), longs(h, BLOCK)
    flat, limit = numbers[FLAT] == 1.0, np.int64(numbers[EPISODE_LIMIT])
    vertex, context, height = place[VERTEX], place[CONTEXT], place[HEIGHT]
    length, step = place[LENGTH], place[STEPS]
    running, total = place[RUNNING] == 1, sums[TOTAL]
    end, known = step + steps, longs(h, USED)[CONTEXTS]
    reason = DONE if has_room(h) and height < size_of(h, FRAMES) else ROOM
    while step < end and reason == DONE:
        if not running:
            vertex = _start(h, random)
            context = height = length = np.int64(0)
            running, total = True, 0.0
        row = blocks[context] + vertices[vertex].row
        action = choose(h, row, np.int64(vertices[vertex].count), step)
        outcome = outcomes[_draw(h, vertex, action, random)]
        move, landing, reward = outcome.move, np.int64(outcome.landing), outcome.reward
        home, box = context, np.int64(STEPPED)
        push, target = outcome.push, reward
        if move == EXITS:
            if not flat:
                values = floats(h, VALUES)
                worth = values[longs(h, VALUE_START)[context] + landing]
                target += numbers[GAMMA] * worth
                box = np.int64(LEFT)
            running = height > 0
            if running:
                height -= 1
                landing += stack[height].push
                context = np.int64(stack[height].context)
            else:
                box, landing = np.int64(LEFT), np.int64(0)
        elif move == CALLS:
            stack[height].context, stack[height].push = context, push
            height += 1
            reason = ROOM if height == size_of(h, FRAMES) else reason
            box = box if flat else np.int64(outcome.box)
        entered = learn_from(h, home, row + action, box, landing, target, step, True)
        vertex = landing
        if box >= 0:
            if entered == DIVERGED:
                reason, height = NOT_FINITE, height - 1
                running = False
                break
            context = entered
            if entered >= known:
                known = entered + 1
                reason = reason if has_room(h) else ROOM
        step += 1
        length += 1
        total += reward
        if not running or length == limit:
            place[EPISODES] += 1
            place[CUTS] += running
            sums[RETURNS] += total
            running = False
    place[VERTEX], place[CONTEXT], place[HEIGHT] = vertex, context, height
    place[LENGTH], place[STEPS] = length, step
    place[RUNNING], sums[TOTAL] = running, total
    return reason


@inner
def _learn(h: np.ndarray, vertex: int, move: int, which: int, reward: float) -> int:
    """Learn from a step of an environment; returns 0, or why it cannot be."""
    place, numbers, stack = longs(h, PLACE), floats(h, NUMBERS), frames(h, FRAMES)
    context, height, box, target = place[CONTEXT], place[HEIGHT], np.int64(STEPPED), reward
    if which < 0 and height > 0 and numbers[BOX_GAMMA] < 1.0:
        return ENDED_INSIDE
    if which < 0:
        # The end is worth 0 in all; this context counts from what was taken off before.
        target, box = reward - stack[height].offset, np.int64(LEFT)
    elif numbers[FLAT] == 1.0 or move == STEP:
        pass
    elif move == CALLS:
        box = np.int64(which)
    else:
        kind = ints(h, KIND)[context]
        if height == 0 or (context > 0 and which >= longs(h, N_EXITS)[kind]):
            return LOST
        worth = floats(h, VALUES)[longs(h, VALUE_START)[context] + which]
        target, box = reward + numbers[GAMMA] * worth, np.int64(LEFT)
        place[HEIGHT] = height - 1
        place[CONTEXT] = np.int64(stack[height - 1].context)
    entered = learn_from(h, context, place[PAIR], box, vertex, target, place[STEPS], True)
    if box >= 0:
        if entered == DIVERGED:
            return NOT_A_NUMBER
        stack[height].context = context
        place[HEIGHT], place[CONTEXT] = height + 1, entered
        stack[height + 1].offset = stack[height].offset + floats(h, SUMS)[OFFSET]
    place[STEPS] += 1
    return 0


@compiled
def env_step(h: np.ndarray, vertex: int, move: int, which: int, reward: float) -> int:
    """Learn from a step of an environment and choose the next action.

    Args:
        h: The header of a store.
        vertex: Vertex that the step led to.
        move: STEP, CALLS, EXITS or BEGIN; plus CUT if nothing is to be chosen.
        which: The box of a call; the index of an exit, or -1 if the whole run ended: then
            nothing is chosen.
        reward: Reward of the step.

    Returns:
        The action, counted among those that the vertex has; or why there is none.
    """
    place, stack = longs(h, PLACE), frames(h, FRAMES)
    if not has_room(h) or place[HEIGHT] + 2 > size_of(h, FRAMES):
        return FULL
    if move == BEGIN:
        place[CONTEXT] = place[HEIGHT] = 0
        stack[0].offset = 0.0
    else:
        trouble = _learn(h, vertex, move % CUT, which, reward)
        if trouble < 0:
            return trouble
    if which < 0 or move >= CUT:
        return 0
    row = make_row(h, place[CONTEXT], vertex)
    action = choose(h, row, np.int64(vertex_records(h, VERTICES)[vertex].count), place[STEPS])
    place[VERTEX], place[PAIR] = vertex, row + action
    return action


@compiled
def env_counterfactual(
    h: np.ndarray,
    context: int,
    vertex: int,
    action: int,
    move: int,
    which: int,
    landing: int,
    reward: float,
) -> bool:
    """Learn from a step that an environment says would have been made in another state.

    Args:
        h: The header of a store.
        context: Context in which the action would have been taken.
        vertex: Vertex of the other state.
        action: The action, counted among those of the vertex.
        move: STEP, CALLS or EXITS.
        which: The box of a call; the index of an exit, or -1 if the whole run would have ended.
        landing: Vertex that the step would have led to.
        reward: Its reward.

    Returns:
        Whether there was room; if not, nothing has changed.
    """
    if not has_room(h):
        return False
    pair, box, target = make_row(h, context, vertex) + action, np.int64(STEPPED), reward
    if move == EXITS:
        box = np.int64(LEFT)
        if which >= 0:
            worth = floats(h, VALUES)[longs(h, VALUE_START)[context] + which]
            target += floats(h, NUMBERS)[GAMMA] * worth
    elif move == CALLS:
        box = np.int64(which)
    learn_from(h, context, pair, box, landing, target, longs(h, PLACE)[STEPS], False)
    return True


@compiled
def test_episodes(
    h: np.ndarray,
    random: np.ndarray,
    stack: np.ndarray,
    limit: int,
    gamma: float,
    levels: np.ndarray,
    found: np.ndarray,
) -> None:
    """Run greedy episodes of a model; nothing is learned.

    Args:
        h: The header of a store.
        random: State of the generator.
        stack: Scratch for pending calls: contexts and first return ports. ``[2, limit + 1]``
        limit: Steps after which an episode is cut.
        gamma: The reward of step t counts gamma to the power t.
        levels: Scratch for what counts after the returns of pending calls. ``[limit + 1]``
        found: Return, length and cut of each episode. ``[n, 3]``
    """
    outcomes, flat = outcome_records(h, OUTCOMES), floats(h, NUMBERS)[FLAT] == 1.0
    by_boxes = floats(h, NUMBERS)[BOX_GAMMA]
    for episode in range(len(found)):
        vertex = _start(h, random)
        context = height = length = np.int64(0)
        total, weight, level, running = 0.0, 1.0, 1.0, True
        while running and length < limit:
            outcome = outcomes[_draw(h, vertex, greedy(h, context, vertex), random)]
            length += 1
            total += weight * level * outcome.reward
            weight *= gamma
            level *= by_boxes
            landing = np.int64(outcome.landing)
            if outcome.move == STEP:
                vertex = landing
            elif outcome.move == CALLS:
                stack[0, height], stack[1, height] = context, outcome.push
                levels[height] = level
                height += 1
                vertex = landing
                if not flat:
                    context = entered_greedily(h, context, np.int64(outcome.box), landing)
            elif height == 0:
                running = False
            else:
                height -= 1
                vertex = stack[1, height] + landing
                context, level = np.int64(stack[0, height]), levels[height]
        found[episode, 0], found[episode, 1], found[episode, 2] = total, length, running


@inner
def _meet(
    slot: int, context: int, vertex: int, seen: np.ndarray, todo: np.ndarray, waiting: int
) -> int:
    if seen[slot]:
        return waiting
    seen[slot] = 1
    todo[waiting, 0], todo[waiting, 1] = context, vertex
    return waiting + 1


@compiled
def follow_greedy(
    h: np.ndarray,
    slot_start: np.ndarray,
    component: np.ndarray,
    component_start: np.ndarray,
    box_call: np.ndarray,
    seen: np.ndarray,
    actions: np.ndarray,
    callees: np.ndarray,
    todo: np.ndarray,
) -> None:
    """Mark every slot that a greedy run can meet, with its action and the contexts it calls.

    The arrays are those of `recurl.learn.extract.Walked`, and ``todo`` is scratch.
    """
    known, vertices = longs(h, USED)[CONTEXTS], vertex_records(h, VERTICES)
    outcomes, row_start, start = outcome_records(h, OUTCOMES), ints(h, ROW_START), ints(h, START)
    first = component_start[component[0]]
    waiting = np.int64(0)
    for i in range(size_of(h, START)):
        waiting = _meet(start[i] - first, np.int64(0), np.int64(start[i]), seen, todo, waiting)
    while waiting > 0:
        waiting -= 1
        context, vertex = np.int64(todo[waiting, 0]), np.int64(todo[waiting, 1])
        shift = slot_start[context] - component_start[component[context]]
        home = context if context < known else np.int64(-1)
        action = greedy(h, home, vertex)
        actions[shift + vertex] = action
        row = vertices[vertex].action + action
        for i in range(row_start[row], row_start[row + 1]):
            landing, box = np.int64(outcomes[i].landing), np.int64(outcomes[i].box)
            if outcomes[i].move == STEP:
                waiting = _meet(shift + landing, context, landing, seen, todo, waiting)
            elif outcomes[i].move == CALLS:
                kind = np.int64(box_records(h, BOXES)[box].kind)
                callee = entered_greedily(h, home, box, landing)
                if callee < 0:
                    callee = known + kind
                inside = landing - component_start[kind]
                callees[shift + box_call[box] + inside] = callee
                waiting = _meet(slot_start[callee] + inside, callee, landing, seen, todo, waiting)
                for k in range(longs(h, N_EXITS)[kind]):
                    port = outcomes[i].push + k
                    waiting = _meet(shift + port, context, np.int64(port), seen, todo, waiting)
