"""Peers: agents of stable-baselines3 and sb3-contrib, with their own training loops."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.env.flat import FlatView
from recurl.errors import MissingExtraError
from recurl.policy import Policy
from recurl.suite.agents import (
    Look,
    SampledTrainee,
    Stopping,
    played_episode,
    stackless_policy,
)
from recurl.suite.gains import PlayedEpisode

if TYPE_CHECKING:
    import torch

    from recurl.model.rmdp import RMDP
    from recurl.suite.tasks import Setting

    LstmStates = tuple[torch.Tensor, torch.Tensor]

PEERS = {
    "sb3-dqn": ("stable_baselines3", "DQN", "MlpPolicy"),
    "sb3-ppo": ("stable_baselines3", "PPO", "MlpPolicy"),
    "sb3-recurrent-ppo": ("sb3_contrib", "RecurrentPPO", "MlpLstmPolicy"),
}
"""Module, class and kind of network of each peer."""


def peer_class(name: str) -> Any:
    """The class of a peer.

    Raises:
        MissingExtraError: Its package is not installed.
    """
    module, kind, _ = PEERS[name]
    try:
        return getattr(importlib.import_module(module), kind)
    except ImportError as error:
        raise MissingExtraError(f"The agent {name}", "bench") from error


class PeerTrainee(SampledTrainee):
    """A peer with its default settings, but without a discount: totals are not discounted.

    It sees the flat environment, in which calls and returns are ordinary steps. DQN and PPO have no
    memory, so that their policies are evaluated exactly; the recurrent one is tested on episodes.

    Args:
        name: Name of the peer.
        setting: What it trains on.
        model: Model of the setting.
        seed: Its seed.
    """

    def __init__(self, name: str, setting: Setting, model: RMDP, seed: int) -> None:
        super().__init__(setting, model, seed)
        self.recurrent = "recurrent" in name
        kind = peer_class(name)
        import torch
        from stable_baselines3.common.logger import Logger

        # Two threads take twice the processor time of one for networks of this size, and runs are
        # made side by side.
        torch.set_num_threads(1)
        self.peer = kind(PEERS[name][2], FlatView(self.env), gamma=1.0, seed=seed, device="cpu")
        # Its own logger would leave a folder behind for every run.
        self.peer.set_logger(Logger(None, []))

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Steps that it has taken."""
        return int(self.peer.num_timesteps)

    def train(self, points: Sequence[int], look: Look, stopping: Stopping) -> None:
        """Train in one call, so that its schedules see the whole budget."""
        from stable_baselines3.common.callbacks import BaseCallback

        left = list(points)
        while left and left[0] <= self.steps:
            look(left.pop(0))

        class Watcher(BaseCallback):  # type: ignore[misc]
            def _on_step(self) -> bool:
                while left and left[0] <= self.num_timesteps:
                    look(left.pop(0))
                return bool(left) and not stopping()

        if left:
            self.peer.learn(left[-1], callback=Watcher())

    def policy(self) -> Policy | None:
        """The stackless policy of a peer without memory."""
        if self.recurrent:
            return None

        def choose(observations: list[Any], masks: list[np.ndarray]) -> Sequence[int]:
            actions, _ = self.peer.predict(np.array(observations), deterministic=True)
            return np.asarray(actions).tolist()  # type: ignore[no-any-return]

        return stackless_policy(self.env, self.model, choose)

    def test_episodes(self, seeds: Sequence[int]) -> list[PlayedEpisode]:
        """Test episodes, played side by side: the network is asked for all at once."""
        envs = [FlatView(self.setting.env(self.model)) for _ in seeds]
        resets = zip(envs, seeds, strict=True)
        observations: list[Any] = [env.reset(seed=seed)[0] for env, seed in resets]
        transitions: list[list[int]] = [[] for _ in seeds]
        ended, on = np.zeros(len(seeds), bool), np.arange(len(seeds))
        state: Any = None
        first = True
        while len(on):
            actions, state = self.peer.predict(
                np.array(observations), state, np.full(len(on), first), deterministic=True
            )
            results = [envs[i].step(action) for i, action in zip(on, actions, strict=True)]
            for i in on:
                inner: Any = envs[i].unwrapped
                transitions[i].append(inner.last_step.transition)
            ended[on] = [result[2] for result in results]
            goes_on = np.array([not (result[2] or result[3]) for result in results])
            observations = [
                result[0] for result, more in zip(results, goes_on, strict=True) if more
            ]
            # States are layers x episodes x units.
            state, on, first = tuple(part[:, goes_on] for part in state), on[goes_on], False
        return [PlayedEpisode(*one) for one in zip(transitions, ended.tolist(), strict=True)]

    def episode(self) -> list[int]:
        """The transitions of a test episode, if it has a memory."""
        if not self.recurrent:
            return []
        return played_episode(self.setting.env(self.model), self._begin(), self.seed).transitions

    def _begin(self) -> Callable[..., int]:
        state: Any = None

        def act(observation: Any, info: dict[str, Any], explore: bool = False) -> int:
            nonlocal state
            start = np.array([info["step"] == 0])
            action, state = self.peer.predict(
                observation, state, episode_start=start, deterministic=True
            )
            return int(action)

        return act
