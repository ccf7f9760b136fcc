"""Compiled learning, one step at a time, in an environment that somebody else steps.

The same rule as in a model, but vertices, boxes and contexts are numbered as they are met.
"""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from recurl.learn.foreign_rows_kernel import (
    ahead_of,
    find,
    hopes,
    intern,
    is_full,
    make_row,
    nearest,
    row_slot,
)
from recurl.learn.notes_kernel import (
    CONTEXT,
    EXPLORATION,
    FLAT,
    GRAIN,
    HEIGHT,
    INHERIT,
    INITIAL,
    LOGGED,
    PAIR,
    QUANTUM,
    REPLAY,
    STEP_SIZE,
    STEPS,
    VERTEX,
    Notes,
    open_notes,
    schedule_at,
)
from recurl.learn.rule_kernel import choose, exploration, greedy, improve, normalise, target
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.simulation.jit import compiled
from recurl.simulation.random import next_below

BEGIN, CUT = 3, 8
"""In place of a move: an episode begins; added to a move: the episode is cut after it."""

FULL, DIVERGED, LOST = -1, -2, -3
"""In place of an action: room must be made before this step; values are not finite; there is no
such exit, or nothing to return to."""


@compiled
def _repeat(n: Notes, entry: int, step: int) -> None:
    """Repeat the update of a logged step with the Q-values of today."""
    at = 5 * entry
    context, move, which, vertex = n.log[at + 1], n.log[at + 2], n.log[at + 3], n.log[at + 4]
    ahead = other = 0.0
    if move == STEP:
        ahead = ahead_of(n, context, vertex)
    elif move == CALLS:
        exits = hopes(n, context, which)
        other = normalise(n.vector, exits, n.numbers[QUANTUM], int(n.numbers[GRAIN]))
        callee = find(n, exits)
        if callee < 0 or n.row_slots[row_slot(n, callee, vertex)] < 0:
            return
        ahead = ahead_of(n, callee, vertex)
    goal = target(move, n.log_rewards[entry], ahead, other)
    improve(n.q, n.visits, n.log[at], goal, schedule_at(n.numbers, STEP_SIZE), step)


@compiled
def _log(n: Notes, home: int, move: int, which: int, vertex: int, worth: float) -> None:
    """Keep a step for replay, and learn again from some that were kept."""
    place, room = n.place, len(n.log_rewards)
    entry = place[LOGGED] % room
    at = 5 * entry
    n.log[at], n.log[at + 1], n.log[at + 2] = place[PAIR], home, move
    n.log[at + 3], n.log[at + 4] = which, vertex
    n.log_rewards[entry] = worth
    place[LOGGED] += 1
    for _ in range(int(n.numbers[REPLAY])):
        _repeat(n, next_below(n.random, min(place[LOGGED], room)), place[STEPS])


@compiled
def _enter(n: Notes, box: int, vertex: int) -> float:
    """Push the context and enter that of a call; returns what was taken off its exit values."""
    place = n.place
    exits = hopes(n, place[CONTEXT], box)
    off = normalise(n.vector, exits, n.numbers[QUANTUM], int(n.numbers[GRAIN]))
    if np.isfinite(off):
        n.stack[place[HEIGHT]] = place[CONTEXT]
        place[HEIGHT] += 1
        n.offsets[place[HEIGHT]] = n.offsets[place[HEIGHT] - 1] + off
        place[CONTEXT] = intern(n, exits, vertex)
        # Replay learns from calls into contexts that have the row where the call lands.
        make_row(n, place[CONTEXT], vertex, n.numbers[INITIAL])
    return off


@compiled
def _leave(n: Notes, exit: int) -> float:
    """Pop the context; returns what the exit was worth in it, or nan if there is no such exit."""
    place = n.place
    context = place[CONTEXT]
    if place[HEIGHT] == 0 or (context > 0 and exit >= n.exits[context]):
        return np.nan
    place[HEIGHT] -= 1
    place[CONTEXT] = n.stack[place[HEIGHT]]
    return n.values[n.value_start[context] + exit] if context > 0 else 0.0


@compiled
def _learn(n: Notes, vertex: int, move: int, which: int, reward: float) -> int:
    """Learn from a step; returns 0, or why it cannot be."""
    place = n.place
    home, ahead, other = place[CONTEXT], 0.0, 0.0
    if which < 0:
        # The end is worth 0 in all; this context counts from what was taken off before.
        other = -n.offsets[place[HEIGHT]]
    elif n.numbers[FLAT] == 1.0:
        move = STEP
    elif move == CALLS:
        other = _enter(n, which, vertex)
        if not np.isfinite(other):
            return DIVERGED
    elif move == EXITS:
        other = _leave(n, which)
        if np.isnan(other):
            return LOST
    if move != EXITS:
        ahead = ahead_of(n, place[CONTEXT], vertex)
    goal = target(move, reward, ahead, other)
    size = schedule_at(n.numbers, STEP_SIZE)
    improve(n.q, n.visits, place[PAIR], goal, size, place[STEPS])
    if n.numbers[REPLAY] > 0.0:
        _log(n, home, move, which, vertex, goal if move == EXITS else reward)
    place[STEPS] += 1
    return 0


@compiled
def _act(n: Notes, vertex: int) -> int:
    """Choose an action at a vertex, and note the pair."""
    row = make_row(n, n.place[CONTEXT], vertex, n.numbers[INITIAL])
    count, rate = n.count[vertex], schedule_at(n.numbers, EXPLORATION)
    explore = exploration(rate, n.visits, row, count, n.place[STEPS])
    action = choose(n.q, row, count, explore, n.random)
    n.place[VERTEX], n.place[PAIR] = vertex, row + action
    return action


@compiled
def foreign_step(header: np.ndarray, vertex: int, move: int, which: int, reward: float) -> int:
    """Learn from a step and choose the next action.

    Args:
        header: See `Notes`.
        vertex: Vertex that the step led to.
        move: STEP, CALLS, EXITS or BEGIN; plus CUT if nothing is to be chosen.
        which: The box of a call; the index of an exit, or -1 if the whole run ended: then
            nothing is chosen.
        reward: Reward of the step.

    Returns:
        The action, counted among those that the vertex has; or why there is none.
    """
    n = open_notes(header)
    if is_full(n):
        return FULL
    if move == BEGIN:
        n.place[CONTEXT] = n.place[HEIGHT] = 0
        n.offsets[0] = 0.0
    else:
        trouble = _learn(n, vertex, move % CUT, which, reward)
        if trouble < 0:
            return trouble
    return _act(n, vertex) if which >= 0 and move < CUT else 0


@compiled
def greedy_action(header: np.ndarray, context: int, vertex: int) -> int:
    """First action of greatest value, counted among those of the vertex; nothing is changed."""
    n = open_notes(header)
    row = n.row_slots[row_slot(n, context, vertex)] if context >= 0 else -1
    return greedy(n.q, n.row_begin[row], n.count[vertex]) if row >= 0 else 0


@compiled
def greedy_call(header: np.ndarray, context: int, box: int, vertex: int) -> int:
    """Context that a greedy run enters by a box; -1 if it was never met. Nothing is changed."""
    n = open_notes(header)
    exits = n.box_start[box + 1] - n.box_start[box]
    n.vector[:] = 0.0
    if context >= 0:
        hopes(n, context, box)
        normalise(n.vector, exits, n.numbers[QUANTUM], int(n.numbers[GRAIN]))
    found = find(n, exits)
    if found < 0 and n.numbers[INHERIT] > 0:
        found = nearest(n, exits, vertex)
    return found
