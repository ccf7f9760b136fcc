"""Observation wrappers around a recursive environment, and what a call announces.

A call announces observations (``info["exits"]``) as the environment itself makes them. A wrapper
that changes observations leaves ``info`` alone, so readers of the announcement apply the same
changes to it: `exits_view` finds them.

A wrapper that itself gives ``info["exits"]`` as observations of its own says so by the class
attribute ``exits_as_observed = True``; wrappers below it do not matter then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium as gym

from recurl.errors import ProtocolError

View = Callable[[Sequence[Any]], Sequence[Any]]
"""From the exits that ``info`` announces to what an agent outside all wrappers would observe."""

_STATEFUL = {"AddRenderObservation", "NormalizeObservation"}
"""Gymnasium's wrappers that look like functions of the observation and are not."""

_SKIPPING = {"AtariPreprocessing", "MaxAndSkipObservation", "RepeatAction"}
"""Gymnasium's wrappers that take several steps in one."""


def exits_view(env: Any) -> View | None:
    """The function that shows announced exits as the outermost wrapper shows observations.

    It is None if no wrapper changes observations.

    Args:
        env: An environment or a vector environment, wrapped in any way.

    Raises:
        ProtocolError: A wrapper shows more than a function of the observation, so it is
            unknown how it would show an exit.

    Example:
        >>> import recurl
        >>> env = gym.wrappers.FlattenObservation(recurl.ModelEnv(recurl.zoo.gambler()))
        >>> exits_view(env)((2,))[0].tolist()
        [0, 0, 1, 0, 0, 0]
    """
    changes = [wrapper.observation for wrapper in _observation_wrappers(single_env(env))]
    if not changes:
        return None

    def view(exits: Sequence[Any]) -> Sequence[Any]:
        for change in reversed(changes):
            exits = [change(observation) for observation in exits]
        return exits

    return view


def single_env(env: Any) -> gym.Env[Any, Any]:
    """The environment itself, or one like those in a vector environment.

    Raises:
        ProtocolError: A vector environment hides what is inside, or is wrapped as a whole.
    """
    while isinstance(env, gym.vector.VectorWrapper):
        if env.single_observation_space != env.env.single_observation_space:
            fix = "wrap each environment instead: make_vec(..., wrappers=[...])"
            raise ProtocolError(f"{_refusal(env)}; {fix}")
        env = env.env
    if not isinstance(env, gym.vector.VectorEnv):
        single: gym.Env[Any, Any] = env
        return single
    inner = getattr(env, "envs", None) or [make() for make in getattr(env, "env_fns", ())[:1]]
    if not inner:
        raise ProtocolError(f"{type(env).__name__} does not show the environments inside it")
    return inner[0]  # type: ignore[no-any-return]


def _observation_wrappers(env: gym.Env[Any, Any]) -> Iterator[Any]:
    """The wrappers that change observations, outermost first."""
    while isinstance(env, gym.Wrapper) and not getattr(type(env), "exits_as_observed", False):
        if type(env).__name__ in _SKIPPING:
            name = type(env).__name__
            raise ProtocolError(f"the wrapper {name} takes several steps in one and loses calls")
        if isinstance(env, gym.ObservationWrapper) and not _keeps_state(env):
            yield env
        elif isinstance(env, gym.ObservationWrapper) or _changes_space(env):
            fix = "leave it out, or learn without recursion (QLearning, DQN, FlatView)"
            raise ProtocolError(f"{_refusal(env)}; {fix}")
        env = env.env


def _keeps_state(wrapper: Any) -> bool:
    kind = type(wrapper)
    follows = kind.step is not gym.ObservationWrapper.step
    return follows or kind.reset is not gym.ObservationWrapper.reset or kind.__name__ in _STATEFUL


def _changes_space(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> bool:
    return wrapper.observation_space != wrapper.env.observation_space


def _refusal(wrapper: Any) -> str:
    return (
        f"the wrapper {type(wrapper).__name__} shows more than a function of the observation, so "
        "that the exits of a call cannot be shown as it would show them"
    )
