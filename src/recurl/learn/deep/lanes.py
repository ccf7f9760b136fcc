"""One environment or several side by side, seen alike: lanes, each with its own episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from recurl.env.protocol import begun, finite_reward, step_result
from recurl.errors import ProtocolError

Look = tuple[Any, dict[str, Any]]
"""An observation and its ``info``."""


class Moment(NamedTuple):
    """The result of a step in one lane.

    Attributes:
        observation: What is seen after the step, even if it is the last.
        info: Its ``info``.
        reward: The reward.
        terminated: Whether the run is over.
        truncated: Whether it was cut.
        fresh: First look at the next episode, if one began.
        real: False if the step only began an episode: then nothing else means anything.
    """

    observation: Any
    info: dict[str, Any]
    reward: float
    terminated: bool
    truncated: bool
    fresh: Look | None
    real: bool = True


_MOST = float(np.finfo(np.float32).max)


def single_reward(reward: Any) -> float:
    """The reward of a step, which a network takes in single precision.

    Raises:
        ProtocolError: It is not a finite number of single precision.

    Example:
        >>> single_reward(-1)
        -1.0
    """
    value = finite_reward(reward)
    if abs(value) > _MOST:
        raise ProtocolError(f"the reward must be at most {_MOST:.2g} for a network, not {value!r}")
    return value


Result = TypeVar("Result")


def in_lane(lane: int, work: Callable[..., Result], *given: Any) -> Result:
    """Do something for one of several lanes.

    Raises:
        ProtocolError: As the work raised it, with the number of the environment.
    """
    try:
        return work(*given)
    except ProtocolError as error:
        raise ProtocolError(f"environment {lane}: {error}") from None


class Lanes(Protocol):
    """Environments side by side."""

    count: int
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]

    def reset(self, seed: int | None) -> list[Look]:
        """Begin an episode in every lane."""

    def step(self, actions: np.ndarray) -> list[Moment]:
        """Take a step in every lane."""


def lanes_of(env: Any, episode_limit: int | None) -> Lanes:
    """The lanes of an environment, or of a vector environment."""
    if not isinstance(env, gym.vector.VectorEnv):
        return OneLane(env, episode_limit)
    if episode_limit is not None:
        raise ValueError("a vector environment cuts its own episodes: give max_episode_steps there")
    return ManyLanes(env)


class OneLane:
    """A single environment."""

    count = 1

    def __init__(self, env: gym.Env[Any, Any], limit: int | None) -> None:
        self.env, self._limit, self._length = env, limit, 0
        self.observation_space, self.action_space = env.observation_space, env.action_space

    def reset(self, seed: int | None) -> list[Look]:
        """Begin an episode."""
        self._length = 0
        return [begun(self.env, seed)]

    def step(self, actions: np.ndarray) -> list[Moment]:
        """Take a step; after the last of an episode the next one begins."""
        found = step_result(self.env.step(int(actions[0])))
        observation, reward, terminated, truncated, info = found
        self._length += 1
        truncated = not terminated and (truncated or self._length == self._limit)
        fresh = self.reset(None)[0] if terminated or truncated else None
        return [Moment(observation, info, single_reward(reward), terminated, truncated, fresh)]


class ManyLanes:
    """A vector environment, in whose ``info`` the lanes are laid over each other."""

    def __init__(self, env: Any) -> None:
        self.env, self.count = env, int(env.num_envs)
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space
        mode = env.metadata.get("autoreset_mode")
        if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            raise ProtocolError(f"a vector environment must begin episodes itself, not {mode}")
        self._ended = np.zeros(self.count, bool)

    def reset(self, seed: int | None) -> list[Look]:
        """Begin an episode in every lane."""
        observations, info = self.env.reset(seed=seed)
        self._ended[:] = False
        return [(seen, _of_lane(info, i)) for i, seen in enumerate(self._each(observations))]

    def step(self, actions: np.ndarray) -> list[Moment]:
        """Take a step in every lane."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        before, self._ended = self._ended, terminated | truncated
        gains = [in_lane(i, single_reward, reward) for i, reward in enumerate(rewards)]
        return [
            self._moment(seen, _of_lane(info, i), gains[i], terminated[i], truncated[i],
                         waits=bool(before[i]))
            for i, seen in enumerate(self._each(observations))
        ]  # fmt: skip

    def _moment(
        self,
        observation: Any,
        info: dict[str, Any],
        reward: float,
        terminated: bool,
        truncated: bool,
        *,
        waits: bool,
    ) -> Moment:
        if waits and self.env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP:
            return Moment(observation, info, 0.0, False, False, (observation, info), real=False)
        if "final_obs" in info:
            last, about = info.pop("final_obs"), info.pop("final_info", {})
            fresh = (observation, info)
            return Moment(last, about, reward, bool(terminated), bool(truncated), fresh)
        return Moment(observation, info, reward, bool(terminated), bool(truncated), None)

    def _each(self, observations: Any) -> list[Any]:
        space = self.env.observation_space
        return list(gym.vector.utils.iterate(space, observations))


def _of_lane(info: dict[str, Any], lane: int) -> dict[str, Any]:
    """The ``info`` of one lane: a key counts where the mask ``_key`` says so."""
    named = {key: value for key, value in info.items() if not key.startswith("_")}
    return {
        key: _of_lane(value, lane) if isinstance(value, dict) else value[lane]
        for key, value in named.items()
        if f"_{key}" not in info or info[f"_{key}"][lane]
    }
