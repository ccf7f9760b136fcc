"""The update rule of Recursive Q-learning, written once and compiled.

On a sampled step (s, a, r, s') the value Q(s, v, a), in the context v, moves towards a target, of
which there are three cases:

- the step entered a box: ``r + gamma max Q(s', v', .) + m``, where v' holds what each return port
  is worth to the caller, less m, and rounded to the quantum;
- it left through exit k: ``r + gamma v[k]``;
- otherwise: ``r + gamma max Q(s', v, .)``.

With gamma = 1 exit values count relative to the worst exit: m is their minimum. With gamma < 1 a
constant that is promised later is worth less, so that exit values must not be shifted: m = 0.

With a discount by boxes, of one exit each, v is 0 and m what the return port is worth. Both what
follows in the same component and m count ``box_gamma`` times: a call has the target
``r + box_gamma (max Q(s', 0, .) + m)``, an exit r, another step ``r + box_gamma max Q(s', 0, .)``.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="arg-type, assignment, no-any-return, no-untyped-call, return-value"

from __future__ import annotations

import math

import numpy as np

from recurl.learn.schedules import CONSTANT, EXPONENTIAL, LINEAR
from recurl.learn.store_kernel import (
    BOX_GAMMA,
    BOXES,
    DRAWN,
    EXPLORATION,
    GAMMA,
    GRAIN,
    INHERIT,
    LOG,
    LOGGED,
    N_EXITS,
    NUMBERS,
    OFFSET,
    PLACE,
    PORTS,
    QUANTUM,
    RANDOM,
    REPLAY,
    STEP_SIZE,
    SUMS,
    VECTOR,
    VERTICES,
    VISITS,
    Q,
    best_at,
    box_records,
    create,
    find,
    floats,
    ints,
    logged_steps,
    longs,
    make_row,
    nearest,
    row_of,
    size_of,
    vertex_records,
    words,
)
from recurl.simulation.jit import compiled, inlined, inner
from recurl.simulation.random import next_below, next_float

STEPPED, LEFT = -1, -2
"""In place of a box: the step stayed in its context; it left, or ended the run."""

DIVERGED = -1
"""In place of a context: exit values are not finite."""


@inner
def scheduled(numbers: np.ndarray, at: int, step: int, visits: int) -> float:
    """Value of the schedule whose numbers begin there, at a step and a number of visits."""
    code, first = numbers[at], numbers[at + 1]
    last, scale = numbers[at + 2], numbers[at + 3]
    if code == CONSTANT:
        return first
    if code == LINEAR:
        share = step / scale if step < scale else 1.0
        return first + share * (last - first)
    if code == EXPONENTIAL:
        return last + (first - last) * 2.0 ** (-step / scale)
    ratio = (1.0 + scale) / ((visits if visits > 1 else 1) + scale)
    omega = numbers[at + 4]
    if omega != 1.0:
        ratio = math.exp(omega * math.log(ratio))
    value = first * ratio
    return value if value > last else last


@inner
def choose(h: np.ndarray, row: int, count: int, step: int) -> int:
    """An action of a row of q: any with the exploration rate, else a best one, ties at random."""
    if count == 1:
        return 0
    numbers, random, q = floats(h, NUMBERS), words(h, RANDOM), floats(h, Q)
    rate = numbers[EXPLORATION + 1]
    if numbers[EXPLORATION] != CONSTANT:
        visits, seen = longs(h, VISITS), np.int64(1)
        for i in range(row, row + count):
            seen += visits[i]
        rate = scheduled(numbers, np.int64(EXPLORATION), step, seen)
    if next_float(random) < rate:
        return next_below(random, count)
    action, ties = np.int64(0), np.int64(1)
    for i in range(1, count):
        if q[row + i] > q[row + action]:
            action, ties = np.int64(i), np.int64(1)
        elif q[row + i] == q[row + action]:
            ties += 1
    return action if ties == 1 else _tied(q, row, action, next_below(random, ties))


@inner
def _tied(q: np.ndarray, row: int, action: int, number: int) -> int:
    """The action of a number, counted from 0, among those with the value of a first one."""
    value = q[row + action]
    while number > 0:
        action += 1
        if q[row + action] == value:
            number -= 1
    return action


@inner
def greedy(h: np.ndarray, context: int, vertex: int) -> int:
    """First action of greatest value; 0 where nothing is known. Nothing is changed."""
    row = row_of(h, context, vertex) if context >= 0 else np.int64(-1)
    if row < 0:
        return 0
    q, action = floats(h, Q), 0
    for i in range(1, vertex_records(h, VERTICES)[vertex].count):
        if q[row + i] > q[row + action]:
            action = i
    return action


LEVELS = 64
"""Steps of rounding from 0 to the farthest exit value, at most, where values are not shifted."""


@inner
def normalise(h: np.ndarray, kind: int) -> float:
    """Round the exit values in the vector, relative to m, which is returned.

    The step of rounding is the quantum, doubled until the values span at most ``grain`` steps (if
    that is not 0): small differences are resolved finely, large ones coarsely. With a discount
    values are not shifted, and the least of them is rounded apart, in steps of which `LEVELS` or
    fewer lead from 0 to the farthest: a common level matters less than what exits differ by,
    because it seldom changes which action is best, and its error fades with each call.
    """
    vector, numbers, count = floats(h, VECTOR), floats(h, NUMBERS), longs(h, N_EXITS)[kind]
    quantum, grain, shifted = numbers[QUANTUM], numbers[GRAIN], numbers[GAMMA] == 1.0
    least, greatest, size = np.inf, -np.inf, 0.0
    if count == 0:
        return 0.0
    for i in range(count):
        least = vector[i] if vector[i] < least else least
        greatest = vector[i] if vector[i] > greatest else greatest
        size += abs(vector[i])
    off, level = least if shifted else 0.0, 0.0
    if quantum > 0.0:
        if not shifted:
            step, far = quantum, greatest if greatest > -least else -least
            while LEVELS * step < far < np.inf:
                step *= 2.0
            level = np.rint(least / step) * step
        while 0.0 < grain * quantum < greatest - least < np.inf:
            quantum *= 2.0
    for i in range(count):
        if quantum > 0.0:
            # Adding 0 turns -0 into 0, which has other bits.
            vector[i] = level + np.rint((vector[i] - least) / quantum) * quantum + 0.0
        else:
            vector[i] -= off
    return off if size < np.inf else np.nan


@inner
def exit_values(h: np.ndarray, context: int, box: int) -> float:
    """Put what each exit of a box is worth to the caller into the vector, normalised; returns m."""
    called, vector, ports = box_records(h, BOXES)[box], floats(h, VECTOR), ints(h, PORTS)
    kind, port = np.int64(called.kind), np.int64(called.port)
    for k in range(longs(h, N_EXITS)[kind]):
        vector[k] = best_at(h, context, np.int64(ports[port + k])) if context >= 0 else 0.0
    return normalise(h, kind)


@inlined
def entered_greedily(h: np.ndarray, context: int, box: int, entry: int) -> int:
    """Context that a greedy run enters by a box; -1 for one that was never met."""
    exit_values(h, context, box)
    kind = np.int64(box_records(h, BOXES)[box].kind)
    found = find(h, kind)
    if found < 0 and floats(h, NUMBERS)[INHERIT] > 0.0:
        found = nearest(h, kind, entry)
    return found


@inner
def _log(h: np.ndarray, context: int, pair: int, box: int, landing: int, reward: float) -> None:
    """Keep a step for replay, in place of the oldest one if the log is full."""
    place = longs(h, PLACE)
    entry = logged_steps(h, LOG)[place[LOGGED] % size_of(h, LOG)]
    entry.reward, entry.pair, entry.context = reward, pair, context
    entry.landing, entry.box = landing, box
    place[LOGGED] += 1


@inner
def _draw_logged(h: np.ndarray, count: int) -> bool:
    """Draw steps from the log; returns whether it holds any.

    All are copied before the first is used: memory delivers many lines at once as fast as one.
    """
    log, drawn, logged = logged_steps(h, LOG), logged_steps(h, DRAWN), longs(h, PLACE)[LOGGED]
    kept = logged if logged < size_of(h, LOG) else size_of(h, LOG)
    for i in range(count if kept > 0 else 0):
        drawn[i] = log[next_below(words(h, RANDOM), kept)]
    return kept > 0


@inlined
def learn_from(
    h: np.ndarray,
    context: int,
    pair: int,
    box: int,
    landing: int,
    reward: float,
    step: int,
    taken: bool,
) -> int:
    """Learn from a step, and again from steps drawn from the log, with the Q-values of today.

    Args:
        h: The header of a store.
        context: The context in which the action was taken.
        pair: Entry of q of the vertex and the action.
        box: The box that was entered, or STEPPED, or LEFT: then the reward is the whole target.
        landing: Vertex that the step led to.
        reward: Reward of the step.
        step: Steps of the run so far.
        taken: Whether the run took the step. A call that it did not take makes no context: where
            that of the callee is not known, nothing is learned.

    Returns:
        The context of a call, made if it is new; else the context given; DIVERGED if exit values
        are not finite.
    """
    numbers, q, visits = floats(h, NUMBERS), floats(h, Q), longs(h, VISITS)
    drawn, entered = logged_steps(h, DRAWN), context
    gamma, by_boxes = numbers[GAMMA] * numbers[BOX_GAMMA], numbers[BOX_GAMMA]
    replay = np.int64(numbers[REPLAY])
    for repeat in range(replay + 1):
        if repeat == 1 and not _draw_logged(h, replay):
            break
        if repeat > 0:
            old = drawn[repeat - 1]
            pair, context, box = np.int64(old.pair), np.int64(old.context), np.int64(old.box)
            landing, reward = np.int64(old.landing), old.reward
        goal = reward
        if box == STEPPED:
            goal += gamma * best_at(h, context, landing)
        elif box >= 0:
            off = exit_values(h, context, box)
            kind = np.int64(box_records(h, BOXES)[box].kind)
            callee = find(h, kind)
            if repeat == 0 and taken:
                if off != off:
                    return DIVERGED
                if callee < 0:
                    callee = create(h, kind, landing)
                make_row(h, callee, landing)
                entered, floats(h, SUMS)[OFFSET] = callee, off
            elif callee < 0 or row_of(h, callee, landing) < 0:
                continue
            goal = goal + gamma * best_at(h, callee, landing) + by_boxes * off
        visits[pair] += 1
        rate = scheduled(numbers, np.int64(STEP_SIZE), step, visits[pair])
        q[pair] += rate * (goal - q[pair])
        if repeat == 0 and replay > 0:
            _log(h, context, pair, box, landing, reward)
    return entered


@compiled
def greedy_action(h: np.ndarray, context: int, vertex: int) -> int:
    """First action of greatest value, counted among those of the vertex."""
    return greedy(h, context, vertex)


@compiled
def greedy_call(h: np.ndarray, context: int, box: int, entry: int) -> int:
    """Context that a greedy run enters by a box; -1 for one that was never met."""
    return entered_greedily(h, context, box, entry)


@compiled
def context_of(h: np.ndarray, kind: int, make: bool) -> int:
    """Context of the exit values in the vector, normalised; made if asked for, else -1 if new."""
    normalise(h, kind)
    found = find(h, kind)
    return create(h, kind, np.int64(-1)) if found < 0 and make else found
