"""The flat view of a recursive environment, for agents without recursion."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

_RECURSION = ("event", "exits", "exit")


class FlatView(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A recursive environment in which calls and returns are ordinary steps.

    Only the observation is left to the agent: the keys of the recursive protocol are taken out of
    ``info``. The call stack goes on unseen, so that what the agent sees is not Markov.

    Args:
        env: A recursive environment.

    Example:
        >>> import recurl
        >>> env = FlatView(recurl.ModelEnv(recurl.zoo.cloud()))
        >>> _ = env.reset(seed=0)
        >>> observation, reward, *_, info = env.step(1)
        >>> observation, reward, info["action_mask"].tolist(), "event" in info
        (8, -0.5, [1, 1], False)
    """

    exits_as_observed = True

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a run."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, _flat(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, _flat(info)


def _flat(info: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in info.items() if key not in _RECURSION}
