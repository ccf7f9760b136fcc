"""Learning in an environment that speaks the recursive protocol, step by step."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.env.observation import View, exits_view
from recurl.env.protocol import (
    NO_CALL,
    SILENT,
    announced_exits,
    exit_taken,
    finite_reward,
    known_event,
    not_announced,
)
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
        if isinstance(env, gym.vector.VectorEnv):
            raise ProtocolError(
                "a table learns in one environment, not in a vector environment: learn_many runs "
                "many seeds, DeepRecursiveQLearning and DQN take vector environments"
            )
        if not isinstance(env.action_space, spaces.Discrete):
            raise ProtocolError(f"tabular learning needs Discrete actions, not {env.action_space}")
        self.env, self.settings, self.flat = env, settings, flat
        self.view: View | None = None if flat else exits_view(env)
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
        # Of each call that has not returned: vertices and observations after its exits.
        self._calls: list[tuple[list[int], Sequence[Any]]] = []
        self._length, self._return, self._ended, self._returns = 0, 0.0, 0, 0.0
        self._silent = False

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """Space of an observation."""
        return self.env.observation_space

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
        try:
            self._advance(steps)
        except ProtocolError as error:
            # Where the environment stands is not known: the next step begins an episode.
            self._pending = None
            raise ProtocolError(f"step {self.steps}: {error}") from None
        if self._silent and not self.table.boxes:
            self._silent = False
            warnings.warn(SILENT, stacklevel=2)

    def _advance(self, steps: int) -> None:
        step, limit = self.env.step, self.settings.episode_limit or -1
        for _ in range(steps):
            if self._pending is None:
                self._begin()
            observation, gain, terminated, truncated, info = step(self._pending)
            # Calls of functions count in this loop: they are made where something looks odd. What
            # is not finite differs from itself.
            reward: Any = gain
            if type(reward) is not float or reward - reward != 0.0:
                reward = finite_reward(gain)
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
                self._act(vertex, CALLS + cut, self._called(info), reward)
            elif event == "return":
                self._act(vertex, EXITS + cut, self._returned(info, vertex, observation), reward)
            else:
                known_event(info)
            if cut:
                self._finish(cut=True)

    def _called(self, info: dict[str, Any]) -> int:
        """The box of a call, which is pending from now on."""
        exits = info.get("exits")
        if type(exits) is not tuple or not exits:
            exits = announced_exits(info)
        if self.view is not None:
            exits = self.view(exits)
        box = self.table.box(exits)
        self._calls.append((self.table.box_vertices[box], exits))
        return box

    def _returned(self, info: dict[str, Any], vertex: int, observation: Any) -> int:
        """The exit by which the latest call returned."""
        if not self._calls:
            raise ProtocolError(NO_CALL)
        vertices, exits = self._calls.pop()
        exit = info.get("exit")
        if type(exit) is not int or not 0 <= exit < len(vertices):
            exit = exit_taken(info, len(vertices))
        if vertices[exit] != vertex:
            raise not_announced(exit, exits[exit], observation)
        return exit

    def _begin(self) -> None:
        first = self.steps == 0 and self.episodes == 0
        observation, info = self.env.reset(seed=self.settings.seed if first else None)
        self._length, self._return = 0, 0.0
        self._calls.clear()
        if first:
            self._silent = not self.flat and "event" not in info
        self._act(self.table.visit(observation, info.get("action_mask")), k.BEGIN, 0, 0.0)

    def _act(self, vertex: int, move: int, which: int, reward: float) -> None:
        action = k.foreign_step(self.table.header, vertex, move, which, reward)
        while action == k.FULL:
            self.table.grow()
            action = k.foreign_step(self.table.header, vertex, move, which, reward)
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

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `training_mean` was last asked, and the sum of their returns."""
        return self._ended, self._returns

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
        """Context that a greedy run enters by a call; -1 for one that was never met.

        Args:
            context: Context of the caller.
            exits: What the caller would observe after each exit.
            observation: What is observed first inside.
        """
        vertex, box = self.table.vertex(observation), self.table.box(exits)
        return int(k.greedy_call(self.table.header, context, box, vertex))

    def greedy(self, context: int, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value; any that there is where nothing is known."""
        vertex = self._known(observation, mask)
        if vertex is None:
            return self.table.first_number
        return self.table.actions[vertex][int(k.greedy_action(self.table.header, context, vertex))]

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that there are."""
        vertex = self._known(observation, mask)
        first = self.table.first_number
        every = list(range(first, first + self.table.width))
        return every if vertex is None else self.table.actions[vertex]

    def _known(self, observation: Any, mask: np.ndarray | None) -> int | None:
        """Number of an observation; None for one never met, if no mask tells its actions."""
        if mask is not None:
            return self.table.visit(observation, mask)
        number = self.table.find(observation)
        return number if number is not None and self.table.actions[number] else None

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes in the environment for tests."""
        if self._evaluation_env is None:
            self._evaluation_env = another(self.env)
        seeds = np.random.default_rng([self.settings.seed, stream]).integers(2**31, size=episodes)
        return play(self, self._evaluation_env, seeds.tolist(), limit)
