"""Turns: of learners and tests in a shared environment, and of threads on one learner."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from recurl.errors import BusyError

P = ParamSpec("P")
Result = TypeVar("Result")


def by_one_thread(method: Callable[P, Result]) -> Callable[P, Result]:
    """Decorates a method of something with a lock ``one_thread``: a second thread is refused.

    Raises:
        BusyError: Another thread is inside.
    """

    @functools.wraps(method)
    def wrapped(*given: P.args, **named: P.kwargs) -> Result:
        owner: Any = given[0]
        inside = owner.one_thread
        if not inside.acquire(blocking=False):
            raise BusyError(
                f"another thread is using this {type(owner).__name__}, which is for one at a time: "
                "give each thread one of its own, or let threads wait for each other with a lock"
            )
        try:
            return method(*given, **named)
        finally:
            inside.release()

    return wrapped


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
