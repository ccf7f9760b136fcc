"""Compiled rollouts of a model under a policy."""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from recurl.model.tables import CALLS, STEP
from recurl.simulation.jit import compiled, inlined
from recurl.simulation.random import next_float


@compiled
def run_episodes(
    row_start: np.ndarray,
    outcomes: np.ndarray,
    start: np.ndarray,
    start_below: np.ndarray,
    random: np.ndarray,
    stack: np.ndarray,
    levels: np.ndarray,
    step_limit: int,
    gamma: float,
    box_gamma: float,
    totals: np.ndarray,
    counts: np.ndarray,
    log: np.ndarray,
) -> int:
    """Run episodes, each from its own random stream.

    Args:
        row_start: First outcome of each slot; see `recurl.model.outcomes`.
        outcomes: What can happen, as packed records.
        start: Slots at which a run may start.
        start_below: Running sums of their probabilities.
        random: A state of the generator for each episode. ``[n, 4]``
        stack: Scratch for pending calls.
        levels: The same, for what the rewards after their returns count. As long as the stack.
        step_limit: Steps after which an episode is cut.
        gamma: The reward of step t counts gamma to the power t.
        box_gamma: Within a call, what follows a step counts this much: a call is one step to its
            caller.
        totals: Return of each episode. ``[n]``
        counts: Of each episode: length, greatest depth, and whether it was cut. ``[n, 3]``
        log: Takes the outcomes of the first episode, as far as it goes.

    Returns:
        How many episodes were run: all, or those before one that needs a longer stack.
    """
    for episode in range(len(totals)):
        state = random[episode]
        slot = start[draw(start_below, 0, state)]
        total, weight, level = 0.0, 1.0, 1.0
        steps = height = deepest = 0
        running = True
        while running and steps < step_limit:
            i = np.int64(row_start[slot])
            if outcomes[i].below < 1.0:
                u = next_float(state)
                while u >= outcomes[i].below:
                    i += 1
            outcome = outcomes[i]
            if steps < len(log) and episode == 0:
                log[steps] = i
            steps += 1
            total += weight * level * outcome.reward
            weight *= gamma
            level *= box_gamma
            if outcome.move == STEP:
                slot = outcome.landing
            elif outcome.move == CALLS:
                if height == len(stack):
                    return episode
                stack[height], levels[height] = outcome.push, level
                height += 1
                if height > deepest:
                    deepest = height
                slot = outcome.landing
            elif height == 0:
                running = False
            else:
                height -= 1
                slot = stack[height] + outcome.landing
                level = levels[height]
        totals[episode] = total
        counts[episode, 0], counts[episode, 1], counts[episode, 2] = steps, deepest + 1, running
    return len(totals)


@inlined
def draw(below: np.ndarray, i: int, random: np.ndarray) -> int:
    """The entry that a random number falls on, in the row of running sums that begins at i."""
    u = next_float(random)
    while u >= below[i]:
        i += 1
    return i
