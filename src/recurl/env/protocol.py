"""The recursive protocol: how an environment tells of calls and returns.

Any Gymnasium environment is recursive if its ``info`` says what each step did to the call stack.
An agent that ignores it sees an ordinary environment.

- ``info["event"]``: ``"call"``, ``"return"`` or None, on every step; None on reset.
- With a call, ``info["exits"]``: a sequence with the observation that the caller would have after
  each exit of what it called, in order. The step's own observation is the callee's first one.
- With a return, ``info["exit"]``: the index of the exit that was taken. The observation is the one
  that the call announced for it.
- ``info["action_mask"]`` (int8, 1 for each action that exists here): on reset and every step, or
  never. Every action exists where there is none.
- ``terminated`` ends the whole run, pending calls included; its event is None.

Generative access is optional: ``reset(options={"state": observation})`` begins a run at a state
that was observed, or announced by a call, with no call pending; ``metadata["generative"] = True``
says that an environment does so.

`check_recursive_env` plays and checks all of it.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.errors import ProtocolError

EVENTS = (None, "call", "return")
"""What ``info["event"]`` may be."""


def check_recursive_env(env: gym.Env[Any, Any], steps: int = 1000, seed: int = 0) -> None:
    """Play an environment at random and check that it keeps the recursive protocol.

    Args:
        env: The environment; it is reset.
        steps: How many steps to play.
        seed: Seed of the environment and of the actions.

    Raises:
        ProtocolError: Something does not keep it; the message says at which step and what.

    Example:
        >>> import recurl
        >>> check_recursive_env(recurl.ModelEnv(recurl.zoo.cloud()))
    """
    check = _Check(env, seed)
    for number in range(steps):
        check.step(number)


class _Check:
    """A random run with the exits announced by the calls that are pending."""

    def __init__(self, env: gym.Env[Any, Any], seed: int) -> None:
        self.env, self.where = env, "reset"
        env.action_space.seed(seed)
        self._reset(seed)

    def _demand(self, holds: bool, message: str) -> None:
        if not holds:
            raise ProtocolError(f"{self.where}: {message}")

    def _reset(self, seed: int | None = None) -> None:
        self.where = "reset"
        self.pending: list[tuple[Any, ...]] = []
        _, info = self.env.reset(seed=seed)
        event = info.get("event")
        self._demand(event is None, f"info['event'] must be None, not {event!r}")
        self.masks = "action_mask" in info
        self._check_mask(info)

    def step(self, number: int) -> None:
        """One step, and a reset when the episode is over."""
        observation, _, terminated, truncated, info = self.env.step(self._action())
        self.where = f"step {number}"
        self._check_event(observation, info, terminated)
        if terminated or truncated:
            self._reset()
        else:
            self._check_mask(info)

    def _action(self) -> Any:
        space = self.env.action_space
        if isinstance(space, spaces.Discrete) and self.mask is not None:
            return space.sample(self.mask)
        return space.sample()

    def _check_event(self, observation: Any, info: dict[str, Any], terminated: bool) -> None:
        self._demand("event" in info, "info has no 'event': give 'call', 'return' or None")
        event = info["event"]
        self._demand(event in EVENTS, f"info['event'] must be one of {EVENTS}, not {event!r}")
        for key, wanted in (("exits", "call"), ("exit", "return")):
            self._demand((key in info) == (event == wanted), f"info[{key!r}] comes with a {wanted}")
        self._demand(not terminated or event is None, "a run ends with the event None")
        if event == "call":
            self._check_call(info["exits"])
        elif event == "return":
            self._check_return(observation, info["exit"])

    def _check_call(self, exits: Any) -> None:
        sized = isinstance(exits, tuple | list | np.ndarray) and len(exits) > 0
        self._demand(sized, "info['exits'] must list an observation for each exit")
        for k, observation in enumerate(exits):
            inside = observation in self.env.observation_space
            self._demand(inside, f"info['exits'][{k}] is not in the observation space")
        self.pending.append(tuple(exits))

    def _check_return(self, observation: Any, index: Any) -> None:
        self._demand(bool(self.pending), "a return without a pending call")
        exits = self.pending.pop()
        valid = isinstance(index, int | np.integer) and bool(0 <= index < len(exits))
        self._demand(valid, f"info['exit'] must be below {len(exits)}, not {index!r}")
        space = self.env.observation_space
        seen: Any = spaces.flatten(space, observation)
        same = np.array_equal(seen, spaces.flatten(space, exits[index]))  # type: ignore[arg-type]
        message = f"exit {index} was announced as {exits[index]!r}"
        self._demand(same, f"{message}, but the observation is {observation!r}")

    def _check_mask(self, info: dict[str, Any]) -> None:
        self.mask = info.get("action_mask")
        given = self.mask is not None
        self._demand(given == self.masks, "info['action_mask'] comes always or never")
        if self.mask is None:
            return
        shape = (int(getattr(self.env.action_space, "n", -1)),)
        good = isinstance(self.mask, np.ndarray) and self.mask.dtype == np.int8
        good = good and self.mask.shape == shape
        self._demand(good, f"info['action_mask'] must be an int8 array of shape {shape}")
        self._demand(bool(self.mask.any()), "info['action_mask'] leaves no action")
