"""Greedy episodes in an environment, for tests of what was learned there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from recurl.env.observation import View, exits_view
from recurl.env.protocol import (
    NO_CALL,
    announced_exits,
    begun,
    finite_reward,
    known_event,
    step_result,
)
from recurl.errors import ProtocolError
from recurl.learn.turns import begins_turn
from recurl.model.tables import Floats

_VECTOR_ONLY = {"num_envs", "vectorization_mode", "vector_kwargs"}


class GreedyPlayer(Protocol):
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

    It is made from ``env.spec``. An environment that has none, as it was not made by its id, or
    that is wrapped in a way that the spec does not say, is copied. Of a vector environment, it is
    one lane.

    Raises:
        ValueError: It does not say how it was made, and cannot be copied.
    """
    wrappers = () if env.spec is None else env.spec.additional_wrappers
    if env.spec is None or any(wrapper.kwargs is None for wrapper in wrappers):
        return _copied(env)
    spec = copy.copy(env.spec)
    spec.kwargs = {key: x for key, x in spec.kwargs.items() if key not in _VECTOR_ONLY}
    # An argument of gymnasium.make, which make_vec counts among those of the environment.
    return gym.make(spec, max_episode_steps=spec.kwargs.pop("max_episode_steps", None))


def _copied(env: Any) -> gym.Env[Any, Any]:
    """A copy of an environment, or of the first of those that a vector environment steps."""
    problem: object = "its lanes are in other processes"
    try:
        if not isinstance(env, gym.vector.VectorEnv):
            return copy.deepcopy(env)
        if isinstance(env.unwrapped, gym.vector.SyncVectorEnv):
            return copy.deepcopy(env.unwrapped.envs[0])
    except Exception as error:
        problem = error
    raise ValueError(
        f"tests need an environment of their own, and {type(env).__name__} cannot be copied "
        f"({problem}): give evaluation_env=, a second environment like it"
    ) from None


def play(
    player: GreedyPlayer,
    env: gym.Env[Any, Any],
    seeds: Sequence[int],
    limit: int,
    gamma: float = 1.0,
    box_gamma: float = 1.0,
) -> tuple[Floats, np.ndarray, np.ndarray]:
    """Discounted returns, lengths and cuts of an episode for each seed."""
    begins_turn(env, env)
    view = None if player.flat else exits_view(env)
    rates = (gamma, box_gamma)
    episodes = (_episode(player, env, seed, limit, rates, view) for seed in seeds)
    returns, lengths, cut = zip(*episodes, strict=True)
    return np.array(returns), np.array(lengths), np.array(cut)


def _episode(
    player: GreedyPlayer,
    env: gym.Env[Any, Any],
    seed: int,
    limit: int,
    rates: tuple[float, float],
    view: View | None,
) -> tuple[float, int, bool]:
    one = _Episode(player, env, 0, seed)
    with _named(one):
        while one.running:
            action = player.greedy(one.stack.context, one.observation, one.mask)
            one.step(action, limit, rates, view)
    return one.total, one.length, one.cut


class TogetherPlayer(GreedyPlayer, Protocol):
    """Who plays several episodes side by side."""

    def greedy_together(
        self, contexts: Sequence[Any], observations: Sequence[Any], masks: Sequence[Any]
    ) -> list[int]:
        """Actions of greatest value in several states."""


def play_together(
    player: TogetherPlayer,
    envs: Sequence[gym.Env[Any, Any]],
    seeds: Sequence[int],
    limit: int,
    gamma: float = 1.0,
) -> tuple[Floats, np.ndarray, np.ndarray]:
    """The same as `play`, with an episode at a time in each of several environments."""
    for env in envs:
        begins_turn(env, env)
    view = None if player.flat else exits_view(envs[0])
    waiting = list(enumerate(seeds))[::-1]
    found = np.zeros((3, len(seeds)))
    playing = [_Episode(player, env, *waiting.pop()) for env in envs]
    while any(one.running for one in playing):
        looks = [(one.stack.context, one.observation, one.mask) for one in playing]
        actions = player.greedy_together(*zip(*looks, strict=True))
        for i, (one, action) in enumerate(zip(playing, actions, strict=True)):
            if not one.running:
                continue
            with _named(one):
                one.step(action, limit, (gamma, 1.0), view)
            if not one.running:
                found[:, one.number] = one.total, one.length, one.cut
                playing[i] = _Episode(player, one.env, *waiting.pop()) if waiting else one
    return found[0], found[1].astype(int), found[2].astype(bool)


class _Episode:
    """An episode of `play_together`."""

    def __init__(
        self, player: GreedyPlayer, env: gym.Env[Any, Any], number: int, seed: int
    ) -> None:
        self.env, self.number, self.stack = env, number, CallStack(player)
        self.total, self.length, self.cut, self.running = 0.0, 0, False, True
        # What rewards count by the steps so far, and by those of the call that runs and of callers.
        self._weight, self._levels = 1.0, [1.0]
        with _named(self):
            self.observation, info = begun(env, seed)
        self.mask = info.get("action_mask")

    def step(self, action: int, limit: int, rates: tuple[float, float], view: View | None) -> None:
        """Take an action; the episode ends with the run, or is cut at the limit."""
        found = step_result(self.env.step(action))
        self.observation, reward, terminated, truncated, info = found
        self.total += self._weight * self._levels[-1] * finite_reward(reward)
        self._weight *= rates[0]
        self._levels[-1] *= rates[1]
        self.running = not (terminated or truncated or self.length + 1 == limit)
        self.cut, self.mask = not terminated, info.get("action_mask")
        if self.running:
            self.stack.follow(self.observation, info, view)
            if len(self.stack.contexts) > len(self._levels):
                self._levels.append(self._levels[-1])
            elif len(self.stack.contexts) < len(self._levels):
                self._levels.pop()
        self.length += 1


@contextmanager
def _named(episode: _Episode) -> Iterator[None]:
    """Say in errors that an episode is a test, and at which step it is."""
    try:
        yield
    except ProtocolError as error:
        raise ProtocolError(f"step {episode.length} of a test episode: {error}") from None


class CallStack:
    """Contexts of the calls that are pending and, last, of the one that runs.

    Args:
        player: The owner of the contexts.
        contexts: Where the run stands; at its beginning if not given.
    """

    def __init__(self, player: GreedyPlayer, contexts: Sequence[Any] = ()) -> None:
        self._player, self.contexts = player, list(contexts) or [player.start]

    @property
    def context(self) -> Any:
        """The context of the call that runs."""
        return self.contexts[-1]

    def follow(self, observation: Any, info: dict[str, Any], view: View | None) -> None:
        """Move along a call or a return.

        Raises:
            ProtocolError: The event is unknown, or no call is pending.
        """
        event = None if self._player.flat else known_event(info)
        if event == "call":
            exits = announced_exits(info, view)
            self.contexts.append(self._player.enter(self.context, exits, observation))
        elif event == "return":
            if len(self.contexts) == 1:
                raise ProtocolError(NO_CALL)
            self.contexts.pop()
