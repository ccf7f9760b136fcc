"""Greedy episodes in an environment, for tests of what was learned there."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from recurl.model.tables import Floats

_VECTOR_ONLY = {"num_envs", "vectorization_mode", "vector_kwargs"}


class Player(Protocol):
    """Who plays: an engine on an environment."""

    flat: bool

    @property
    def start(self) -> Any:
        """Context in which an episode begins."""

    def enter(self, context: Any, exits: Sequence[Any], observation: Any) -> Any:
        """Context that a greedy run enters by a call."""

    def greedy(self, context: Any, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value."""


def another(env: Any) -> gym.Env[Any, Any]:
    """A second environment like the one given, for tests.

    Raises:
        ValueError: It does not say how it was made.
    """
    if env.spec is None:
        raise ValueError("tests need an environment of their own: give evaluation_env=")
    spec = copy.copy(env.spec)
    spec.kwargs = {key: x for key, x in spec.kwargs.items() if key not in _VECTOR_ONLY}
    return gym.make(spec)


def play(
    player: Player, env: gym.Env[Any, Any], seeds: Sequence[int], limit: int
) -> tuple[Floats, np.ndarray, np.ndarray]:
    """Returns, lengths and cuts of an episode for each seed."""
    returns, lengths, cut = zip(*(_episode(player, env, s, limit) for s in seeds), strict=True)
    return np.array(returns), np.array(lengths), np.array(cut)


def _episode(
    player: Player, env: gym.Env[Any, Any], seed: int, limit: int
) -> tuple[float, int, bool]:
    observation, info = env.reset(seed=seed)
    stack, total = [player.start], 0.0
    for length in range(1, limit + 1):
        action = player.greedy(stack[-1], observation, info.get("action_mask"))
        observation, reward, terminated, truncated, info = env.step(action)
        total += float(reward)
        if terminated or truncated:
            return total, length, not terminated
        _follow(player, stack, observation, info)
    return total, limit, True


def _follow(player: Player, stack: list[Any], observation: Any, info: dict[str, Any]) -> None:
    """Move a stack of contexts along a call or a return."""
    if player.flat:
        return
    if info.get("event") == "call":
        stack.append(player.enter(stack[-1], info["exits"], observation))
    elif info.get("event") == "return":
        stack.pop()
