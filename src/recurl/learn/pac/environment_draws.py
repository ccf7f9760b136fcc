"""Draws from pairs of an environment by many workers: each takes a fixed share, counts are merged.

A worker has a copy of the environment and a seed of its own. Equal outcomes are counted where they
are drawn, so that few of them travel.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.env.observation import exits_view
from recurl.env.protocol import (
    announced_exits,
    finite_reward,
    known_event,
    reset_result,
    step_result,
)
from recurl.errors import ProtocolError
from recurl.execution.engine import PieceLink, Stopped
from recurl.learn.pac.experience import flat

if TYPE_CHECKING:
    import gymnasium as gym

TOLD = ("event", "exit", "exits", "action_mask")
"""Entries of ``info`` that an outcome consists of."""

Drawn = tuple[int, tuple[Any, Any, bool, bool, dict[str, Any]], int]
"""Place of a pair in the request, the result of a step, and how often it came up."""


class Draws(NamedTuple):
    """The share of one worker in a round.

    Attributes:
        places: State, as it is observed, and action of each pair.
        times: How often each is drawn.
        seed: Seed of the worker in this round.
    """

    places: list[tuple[Any, int]]
    times: list[int]
    seed: list[int]


def draw_outcomes(env: gym.Env[Any, Any], draws: Draws, link: PieceLink) -> list[Drawn]:
    """Draw each pair a number of times, as a piece for `recurl.execution.pieces`."""
    own = copy.deepcopy(env)
    seed = int(np.random.SeedSequence(draws.seed).generate_state(1)[0])
    own.reset(seed=seed)
    found: list[Drawn] = []
    for place, times in enumerate(draws.times):
        if link.stopping():
            raise Stopped
        found += [(place, *each) for each in _outcomes(own, *draws.places[place], times)]
    return found


def _outcomes(env: gym.Env[Any, Any], state: Any, action: int, times: int) -> list[Any]:
    """The different results of a pair, in the order in which they came up, with their numbers."""
    found: dict[Hashable, list[Any]] = {}
    space, view = env.observation_space, exits_view(env)
    wanted = flat(space, state).tobytes()
    for _ in range(times):
        observation, _ = reset_result(env.reset(options={"state": state}))
        if flat(space, observation).tobytes() != wanted:
            raise ProtocolError("reset(options={'state': ...}) did not begin at the state given")
        seen, gain, ended, cut, info = step_result(env.step(action))
        reward, event = finite_reward(gain), known_event(info, ended)
        announced = announced_exits(info, view) if event == "call" else ()
        exits = tuple(flat(space, one).tobytes() for one in announced)
        name = flat(space, seen).tobytes(), reward, ended, event, exits
        told = {key: info[key] for key in TOLD if key in info}
        entry = found.setdefault(
            (*name, repr(info.get("exit"))), [(seen, reward, ended, cut, told), 0]
        )
        entry[1] += 1
    return [tuple(entry) for entry in found.values()]
