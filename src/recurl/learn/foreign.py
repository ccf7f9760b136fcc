"""Learning in an environment that speaks the recursive protocol, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.errors import LimitError, ProtocolError
from recurl.learn import foreign_kernel as k
from recurl.learn.foreign_table import ForeignTable
from recurl.learn.greedy_episodes import another, play
from recurl.learn.settings import Settings
from recurl.model.tables import CALLS, EXITS, STEP, Floats
from recurl.simulation.random import new_stream


class ForeignEngine:
    """A learner's work on an environment.

    Args:
        env: The environment; its actions are `Discrete`.
        settings: What the learner was told.
        flat: Take calls and returns for ordinary steps.
        evaluation_env: A second environment for tests; made from ``env.spec`` if it is None.
        random: State of the random generator; a fresh stream of the seed if it is None.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        settings: Settings,
        flat: bool,
        *,
        evaluation_env: gym.Env[Any, Any] | None = None,
        random: np.ndarray | None = None,
    ) -> None:
        if not isinstance(env.action_space, spaces.Discrete):
            raise ProtocolError(f"tabular learning needs Discrete actions, not {env.action_space}")
        self.env, self.settings, self.flat = env, settings, flat
        self._evaluation_env = evaluation_env
        self.table = ForeignTable(
            env.observation_space,
            env.action_space,
            settings,
            flat=flat,
            random=new_stream(settings.seed) if random is None else random,
        )
        self.episodes = self.cut = 0
        self._pending: int | None = None
        self._length, self._return, self._ended, self._returns = 0, 0.0, 0, 0.0

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return self.table.steps

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            LimitError: Memory is full, or values are not finite; everything learned is kept.
            ProtocolError: The environment does not keep the recursive protocol.
        """
        step, limit = self.env.step, self.settings.episode_limit or -1
        for _ in range(steps):
            if self._pending is None:
                self._begin()
            observation, gain, terminated, truncated, info = step(self._pending)
            reward = float(gain)
            self._length += 1
            self._return += reward
            if terminated:
                self._act(0, EXITS, -1, reward)
                self._finish(cut=False)
                continue
            vertex = self.table.visit(observation, info.get("action_mask"))
            event = None if self.flat else info.get("event")
            cut = k.CUT if truncated or self._length == limit else 0
            if event is None:
                self._act(vertex, STEP + cut, 0, reward)
            elif event == "call":
                self._act(vertex, CALLS + cut, self.table.box(info["exits"]), reward)
            else:
                self._act(vertex, EXITS + cut, int(info["exit"]), reward)
            if cut:
                self._finish(cut=True)

    def _begin(self) -> None:
        first = self.steps == 0 and self.episodes == 0
        observation, info = self.env.reset(seed=self.settings.seed if first else None)
        self._length, self._return = 0, 0.0
        self._act(self.table.visit(observation, info.get("action_mask")), k.BEGIN, 0, 0.0)

    def _act(self, vertex: int, move: int, which: int, reward: float) -> None:
        action = k.foreign_step(self.table.header, vertex, move, which, reward)
        while action == k.FULL:
            self.table.grow()
            action = k.foreign_step(self.table.header, vertex, move, which, reward)
        if action == k.LOST:
            raise ProtocolError(f"a return through exit {which}, but no pending call has it")
        if action == k.DIVERGED:
            raise LimitError("the Q-values are no longer finite: does every episode end?")
        self._pending = None if which < 0 else self.table.actions[vertex][action]

    def _finish(self, cut: bool) -> None:
        self.episodes += 1
        self.cut += cut
        self._ended += 1
        self._returns += self._return
        self._pending = None

    @property
    def start(self) -> int:
        """Context in which an episode begins."""
        return 0

    def training_mean(self) -> float:
        """Mean return of the episodes that ended since this was last asked; nan if none did."""
        mean = self._returns / self._ended if self._ended else math.nan
        self._returns, self._ended = 0.0, 0
        return mean

    def header_fields(self) -> dict[str, Any]:
        """What a checkpoint says in words."""
        return {**self.table.header_fields(), "episodes": [self.episodes, self.cut]}

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep; steps that were logged for replay are not."""
        return self.table.arrays()

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take over what a checkpoint kept; the next step begins an episode."""
        self.table.restore(header, arrays)
        self.episodes, self.cut = map(int, header["episodes"])

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""
        return self.table.n_contexts

    def enter(self, context: int, exits: Sequence[Any], observation: Any) -> int:
        """Context that a greedy run enters by a call; -1 for one that was never met."""
        vertex, box = self.table.vertex(observation), self.table.box(exits)
        return int(k.greedy_call(self.table.header, context, box, vertex))

    def greedy(self, context: int, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value."""
        vertex = self.table.visit(observation, mask)
        return self.table.actions[vertex][int(k.greedy_action(self.table.header, context, vertex))]

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that there are."""
        return self.table.actions[self.table.visit(observation, mask)]

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes in the environment for tests."""
        if self._evaluation_env is None:
            self._evaluation_env = another(self.env)
        seeds = np.random.default_rng([self.settings.seed, stream]).integers(2**31, size=episodes)
        return play(self, self._evaluation_env, seeds.tolist(), limit)
