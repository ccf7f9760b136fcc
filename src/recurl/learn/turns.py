"""Turns of learners and tests in a shared environment: each begins where it knows that it is."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_latest: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Who stepped an environment last, by its number."""


def begins_turn(env: Any, player: object) -> bool:
    """Whether another one has stepped an environment since this one did.

    If so, this one must begin an episode. An environment that has no hash is not watched.

    Args:
        env: The environment, which this one steps from now on.
        player: The engine of a learner; for tests, the environment itself.

    Example:
        >>> import gymnasium as gym
        >>> env, one, other = gym.make("CartPole-v1"), object(), object()
        >>> begins_turn(env, one), begins_turn(env, one), begins_turn(env, other)
        (False, False, True)
    """
    try:
        before = _latest.setdefault(env.unwrapped, id(player))
        _latest[env.unwrapped] = id(player)
    except (AttributeError, TypeError):
        return False
    return before != id(player)
