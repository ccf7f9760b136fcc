"""Learning in an environment that speaks the recursive protocol, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
from gymnasium import spaces

from recurl.env.depths import WATCHED, Depths, step_kind
from recurl.env.observation import View, exits_view
from recurl.env.protocol import (
    ENDS_INSIDE,
    NO_CALL,
    SILENT,
    Counterfactual,
    announced_exits,
    begun,
    exit_taken,
    finite_reward,
    known_event,
    most_counterfactuals,
    not_announced,
    require_single,
    required_event,
    root_as_callee,
    step_result,
    warn_of_depths,
)
from recurl.errors import LimitError, ProtocolError
from recurl.learn import loop_kernel as loop
from recurl.learn import store_kernel as k
from recurl.learn.greedy_episodes import another, play
from recurl.learn.numbering import Numbering
from recurl.learn.rule_kernel import greedy_action as kernel_action
from recurl.learn.rule_kernel import greedy_call as kernel_call
from recurl.learn.settings import Settings
from recurl.learn.store import ContextStore, StoreEngine
from recurl.learn.turns import begins_turn
from recurl.model.tables import CALLS, EXITS, STEP, Floats

WIDTH = 8
"""Exits that a new store is made for; it is widened when a call has more."""


def env_store(
    settings: Settings, flat: bool, random: np.ndarray | None = None, *, own_root: bool = False
) -> ContextStore:
    """An empty store for an environment, of which nothing is known yet."""
    subject = {
        "vertices": np.zeros(64, k.VERTEX_RECORD),
        "boxes": np.zeros(64, k.BOX_RECORD),
        "ports": np.zeros(64, np.int32),
        "n_exits": np.arange(WIDTH + 1),
    }
    return ContextStore(settings, flat, subject, own_root=own_root, random=random)


Notes = dict[str, tuple[str, int, str, list[str]]]
"""Choices of live programs, by name, as checkpoints keep them: see `LiveWorld`."""


class EnvEngine(StoreEngine):
    """A learner's work on an environment.

    Args:
        env: The environment; its actions are `Discrete`.
        settings: The settings of the learner.
        flat: Take calls and returns for ordinary steps.
        evaluation_env: A second environment for tests; made like the first if it is None.
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
        self.evaluation_env = evaluation_env
        own_root = settings.own_root and not (flat or root_as_callee(env))
        self.store = env_store(settings, flat, random, own_root=own_root)
        inherit = settings.inherit > 0
        self.numbering = Numbering(
            env.observation_space, env.action_space, self.store, inherit=inherit
        )
        self._pending: int | None = None
        # The vertex at which the pending action is taken, and what is compared by depth.
        self._at = 0
        self._depths = None if flat or root_as_callee(env) else Depths()
        self._own_root = own_root
        self._may_be_continuous = not isinstance(env.observation_space, spaces.Discrete)
        # Of each call that has not returned: its box, and the observations after its exits.
        self._calls: list[tuple[int, Sequence[Any]]] = []
        self._length, self._return = 0, 0.0
        self._silent = self._reports_events = False
        # How wrappers show counterfactual steps, and the context of the latest call.
        self._shown = exits_view(env) if most_counterfactuals(env) else None
        self._nested: int | None = None

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """Space of an observation."""
        return self.env.observation_space

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            LimitError: Memory is full, or values are not finite; everything learned is kept.
            ProtocolError: The environment does not keep the recursive protocol.
        """
        if begins_turn(self.env, self):
            self._pending = None
        try:
            self._advance(steps)
        except BaseException as error:
            # Where the environment stands is not known: the next step begins an episode.
            self._pending = None
            if isinstance(error, ProtocolError):
                raise ProtocolError(f"step {self.steps}: {error}") from None
            raise
        if self._silent and not self.numbering.boxes:
            self._silent = False
            warnings.warn(SILENT, stacklevel=2)
        if self._may_be_continuous and self.steps >= WATCHED:
            self._may_be_continuous = False
            met = len(self.numbering.vertices)
            if met > self.steps / 2:
                warnings.warn(
                    f"{met:,} different observations in {self.steps:,} steps: a table learns "
                    "nothing where hardly any comes again. Use DeepRecursiveQLearning or DQN, or "
                    "round observations by a wrapper",
                    stacklevel=3,
                )
        if self._depths is not None and self.steps >= WATCHED:
            keys = list(self.numbering.vertices)
            depths, self._depths = self._depths, None
            warn_of_depths(depths, self._own_root, lambda vertex: str(keys[vertex]))

    def _advance(self, steps: int) -> None:
        step, limit = self.env.step, self.settings.episode_limit or -1
        visit, calls, depths = self.numbering.visit, self._calls, self._depths
        for _ in range(steps):
            if self._pending is None:
                self._begin()
            action, at, depth = self._pending, self._at, len(calls)
            found = step(action)
            try:
                observation, gain, terminated, truncated, info = found
                others = info.get("counterfactuals")
            except (TypeError, ValueError, AttributeError):
                step_result(found)
                raise
            # Calls of functions count in this loop: they are made where something looks odd. What
            # is not finite differs from itself.
            reward: Any = gain
            if type(reward) is not float or reward - reward != 0.0:
                reward = finite_reward(gain)
            self._length += 1
            self._return += reward
            if others is not None:
                self._learn_counterfactuals(others)
            if terminated:
                if not self.flat:
                    known_event(info, terminated=True)
                if depths is not None:
                    depths.note(at, action, depth, reward, "leaves")
                self._act(0, EXITS, -1, reward)
                self._finish(cut=False)
                continue
            vertex = visit(observation, info.get("action_mask"))
            event = None if self.flat else info.get("event")
            if event is not None and type(event) is not str:
                event = known_event(info)
            cut = loop.CUT if truncated or self._length == limit else 0
            if event is None:
                if self._reports_events and "event" not in info:
                    required_event(info)
                self._act(vertex, STEP + cut, 0, reward)
            elif event == "call":
                calls.append(called := self._box(info))
                self._act(vertex, CALLS + cut, called[0], reward)
            elif event == "return":
                self._act(vertex, EXITS + cut, self._returned(info, vertex, observation), reward)
            else:
                known_event(info)
            if depths is not None:
                depths.note(at, action, depth, reward, step_kind(event, terminated=False))
            if cut:
                self._finish(cut=True)

    def _learn_counterfactuals(self, others: Sequence[Counterfactual]) -> None:
        """Learn from what the latest action would have done in other states."""
        context = int(self.store.arrays["place"][k.CONTEXT])
        if self._calls:
            self._nested = context
        for other in others:
            at = context if self.flat else self._nested if other.nested else self.start
            if at is not None:
                self._learn_counterfactual(other, at)

    def _learn_counterfactual(self, other: Counterfactual, context: int) -> None:
        looks: Sequence[Any] = (other.observation, other.next_observation)
        if self._shown is not None:
            looks = self._shown(looks)
        vertex = self.numbering.visit(looks[0], other.info.get("action_mask"))
        landing = self.numbering.vertex(looks[1])
        event = None if self.flat else known_event(other.next_info, other.terminated)
        move, which = STEP, 0
        if other.terminated and other.nested and self.settings.box_gamma < 1:
            raise ProtocolError(ENDS_INSIDE)
        if other.terminated:
            move, which = EXITS, -1
        elif event == "call":
            move, which = CALLS, self._box(other.next_info)[0]
        elif event == "return":
            move, which = EXITS, exit_taken(other.next_info, self.store.count_exits(context))
        action = self.numbering.actions[vertex].index(int(other.action))
        reward = finite_reward(other.reward)
        step = (context, vertex, action, move, which, landing, reward)
        while not loop.env_counterfactual(self.store.header, *step):
            self.store.grow()

    def _box(self, info: dict[str, Any]) -> tuple[int, Sequence[Any]]:
        """The box of a call, and what its exits announce."""
        exits = info.get("exits")
        if type(exits) is not tuple or not exits:
            exits = announced_exits(info)
        if self.view is not None:
            exits = self.view(exits)
        require_single(self.settings.box_gamma, len(exits))
        return self.numbering.box(exits), exits

    def _returned(self, info: dict[str, Any], vertex: int, observation: Any) -> int:
        """The exit by which the latest call returned."""
        if not self._calls:
            raise ProtocolError(NO_CALL)
        box, exits = self._calls.pop()
        vertices, exit = self.numbering.box_vertices[box], info.get("exit")
        if type(exit) is not int or not 0 <= exit < len(vertices):
            exit = exit_taken(info, len(vertices))
        if vertices[exit] != vertex:
            raise not_announced(exit, exits[exit], observation)
        return exit

    def _begin(self) -> None:
        first = self.steps == 0 and self.episodes == 0
        observation, info = begun(self.env, self.settings.seed if first else None)
        self._length, self._return = 0, 0.0
        self._calls.clear()
        self._reports_events = not self.flat and "event" in info
        if first:
            self._silent = not (self.flat or self._reports_events)
        self._act(self.numbering.visit(observation, info.get("action_mask")), loop.BEGIN, 0, 0.0)

    def _act(self, vertex: int, move: int, which: int, reward: float) -> None:
        action = loop.env_step(self.store.header, vertex, move, which, reward)
        if action < 0:
            action = self.tell(vertex, move, which, reward)
        self._pending = None if which < 0 else self.numbering.actions[vertex][action]
        self._at = vertex

    def tell(self, vertex: int, move: int, which: int, reward: float) -> int:
        """Learn from a step, with room for it; returns the next action. See `loop_kernel.env_step`.

        Raises:
            LimitError: Memory is full, or values are not finite.
            ProtocolError: A call returned that was never made.
        """
        action = loop.env_step(self.store.header, vertex, move, which, reward)
        while action == loop.FULL:
            self.store.grow()
            action = loop.env_step(self.store.header, vertex, move, which, reward)
        if action == loop.NOT_A_NUMBER:
            raise LimitError("the Q-values are no longer finite: does every episode end?")
        if action == loop.LOST:
            raise ProtocolError(NO_CALL)
        if action == loop.ENDED_INSIDE:
            raise ProtocolError(ENDS_INSIDE)
        return int(action)

    def _finish(self, cut: bool) -> None:
        self.count_episode(self._return, cut=cut)
        self._pending = None

    def count_episode(self, total: float, *, cut: bool = False) -> None:
        """Count an episode that ended, or was cut, with a return."""
        place = self.store.arrays["place"]
        place[k.EPISODES] += 1
        place[k.CUTS] += cut
        self.store.arrays["sums"][k.RETURNS] += total

    def header_fields(self) -> dict[str, Any]:
        """The text part of a checkpoint."""
        notes = getattr(self.env.unwrapped, "notes", None)
        fields = self.numbering.header_fields()
        return fields if notes is None else {**fields, "notes": notes}

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take over what a checkpoint kept; the next step begins an episode."""
        self.numbering.restore(header)
        self.store.restore(arrays)
        env: Any = self.env.unwrapped
        if hasattr(env, "notes"):
            env.notes = msgspec.convert(header.get("notes", {}), Notes)
        self._nested = None
        place = self.store.arrays["place"]
        place[[k.CONTEXT, k.HEIGHT, k.PAIR]] = 0

    def enter(self, context: int, exits: Sequence[Any], observation: Any) -> int:
        """Context that a greedy run enters by a call; -1 for one that was never met.

        Args:
            context: Context of the caller.
            exits: What the caller would observe after each exit.
            observation: What is observed first inside.
        """
        vertex, box = self.numbering.vertex(observation), self.numbering.box(exits)
        return self.greedy_call(context, box, vertex)

    def greedy_call(self, context: int, box: int, vertex: int) -> int:
        """The same, by the numbers of the box and of the vertex."""
        return int(kernel_call(self.store.header, context, box, vertex))

    def greedy_action(self, context: int, vertex: int) -> int:
        """Action of greatest value, counted among those of a vertex given by its number."""
        return int(kernel_action(self.store.header, context, vertex))

    def greedy(self, context: int, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value; any that there is where nothing is known."""
        vertex = self._known(observation, mask)
        if vertex is None:
            return self.numbering.first_number
        return self.numbering.actions[vertex][self.greedy_action(context, vertex)]

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that there are."""
        vertex = self._known(observation, mask)
        first = self.numbering.first_number
        every = list(range(first, first + self.numbering.width))
        return every if vertex is None else self.numbering.actions[vertex]

    def _known(self, observation: Any, mask: np.ndarray | None) -> int | None:
        """Number of an observation; None for one never met, if no mask says its actions."""
        if mask is not None:
            return self.numbering.visit(observation, mask)
        number = self.numbering.find(observation)
        return number if number is not None and self.numbering.actions[number] else None

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes in the environment for tests."""
        if self.evaluation_env is None:
            self.evaluation_env = another(self.env)
        seeds = np.random.default_rng([self.settings.seed, stream]).integers(2**31, size=episodes)
        s = self.settings
        return play(self, self.evaluation_env, seeds.tolist(), limit, s.gamma, s.box_gamma)
