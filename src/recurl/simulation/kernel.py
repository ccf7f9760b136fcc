"""Compiled rollouts of a chain."""

from __future__ import annotations

import numba
import numpy as np

from recurl.model.tables import CALLS, STEP
from recurl.simulation.chain import Chain
from recurl.simulation.random import next_float, seed_stream


@numba.njit(cache=True, nogil=True)
def run_episodes(
    chain: Chain,
    seed: int,
    first: int,
    last: int,
    step_limit: int,
    returns: np.ndarray,
    lengths: np.ndarray,
    depths: np.ndarray,
    truncated: np.ndarray,
) -> None:
    """Run episodes ``first`` to ``last - 1``, each from its own random stream."""
    c = chain
    state = np.empty(4, np.uint64)
    stack = np.empty(64, np.int32)
    for episode in range(first, last):
        seed_stream(state, seed, episode)
        slot = c.start[_draw(c.start_below, 0, state)]
        total = 0.0
        steps = 0
        height = deepest = 0
        running = True
        while running and steps < step_limit:
            if height == len(stack):
                stack = _doubled(stack)
            room = len(stack)
            # The stack stays the same array in here: that alone doubles the speed.
            while running and steps < step_limit and height < room:
                steps += 1
                i = c.row_start[slot]
                if c.below[i] < 1.0:
                    i = _draw(c.below, i, state)
                total += c.reward[i]
                move = c.move[i]
                if move == STEP:
                    slot = c.landing[i]
                elif move == CALLS:
                    stack[height] = c.push[i]
                    height += 1
                    deepest = max(deepest, height)
                    slot = c.landing[i]
                elif height == 0:
                    running = False
                else:
                    height -= 1
                    slot = stack[height] + c.landing[i]
        returns[episode] = total
        lengths[episode] = steps
        depths[episode] = deepest + 1
        truncated[episode] = running


@numba.njit(cache=True, nogil=True)
def trace_episode(chain: Chain, seed: int, episode: int, step_limit: int) -> tuple[int, np.ndarray]:
    """Start slot and outcomes of one episode, as `run_episodes` runs it."""
    c = chain
    state = np.empty(4, np.uint64)
    seed_stream(state, seed, episode)
    start = slot = c.start[_draw(c.start_below, 0, state)]
    stack = np.empty(64, np.int32)
    outcomes = np.empty(64, np.int32)
    height = steps = 0
    while steps < step_limit:
        i = c.row_start[slot]
        if c.below[i] < 1.0:
            i = _draw(c.below, i, state)
        if steps == len(outcomes):
            outcomes = _doubled(outcomes)
        outcomes[steps] = i
        steps += 1
        move = c.move[i]
        if move == CALLS:
            if height == len(stack):
                stack = _doubled(stack)
            stack[height] = c.push[i]
            height += 1
            slot = c.landing[i]
        elif move == STEP:
            slot = c.landing[i]
        elif height == 0:
            break
        else:
            height -= 1
            slot = stack[height] + c.landing[i]
    return start, outcomes[:steps]


@numba.njit(cache=True, inline="always")
def _draw(below: np.ndarray, i: int, state: np.ndarray) -> int:
    """The outcome that a random number falls on, in the row that begins at i."""
    u = next_float(state)
    while u >= below[i]:
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def _doubled(array: np.ndarray) -> np.ndarray:
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger
