"""A machine watching any environment, by the recursive protocol: products without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from recurl.automaton.machine import Machine
from recurl.automaton.mdp import Labels
from recurl.automaton.moves import CALLS, ENDS, LEAVES, Effect, Moves
from recurl.automaton.wrapper_spaces import Actions, encoder
from recurl.errors import ModelError, Problem


class MachineEnv(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment watched by a machine: a push is a call, a pop is a return.

    An observation shows the environment's, the state of the machine and the top of its stack: as
    one number if the environment's are `Discrete`, else as a vector with both one-hot. Rewards are
    the environment's plus the machine's; the run ends with either.

    A call announces what the caller would see after each exit. An exit is a state that the machine
    may be in after a pop, together with one of the `exits`, observations of the environment that
    stand for the places where pops happen. If the environment's observations are `Discrete`, all
    of them are exits unless some are named. Others are told apart by the nearest exit: after a
    return the observation shows that exit, for one step, in place of the exact one, as the call
    announced it. So choose exits that lie where pops do happen.

    Where the run ends inside calls, each of them is left through its last exit, ``over``, one step
    at a time: what is lost with the calls that are pending has to be told, too. These steps pay
    nothing, whatever the action.

    If the machine leaves choices to the agent, actions are numbered choice by choice, epsilon moves
    last, and ``info["action_mask"]`` says which exist. An action that does not exist counts on from
    the first that does.

    Args:
        env: The environment.
        machine: The machine.
        labels: Labels of a step, by (observation, action, next observation).
        exits: Observations that stand for the places where pops happen.
        which: The exit nearest to an observation, as an index; by distance if not given.

    Example:
        >>> import recurl
        >>> from recurl.automaton import Machine, rule
        >>> machine = Machine("rows", [
        ...     rule("walk", "down", "walk", push="row _"),
        ...     rule("walk", "up", "walk", top="row", push=""),
        ... ], exclusive=[["up", "down"]])
        >>> def labels(here, action, there):
        ...     return ["down"] if there == here + 4 else ["up"] if there == here - 4 else []
        >>> env = MachineEnv(gym.make("FrozenLake-v1", is_slippery=False), machine, labels)
        >>> _ = env.reset(seed=0)
        >>> observation, *_, info = env.step(1)
        >>> observation, info["event"], len(info["exits"])
        (9, 'call', 17)
        >>> recurl.check_recursive_env(env)
    """

    exits_as_observed = True

    def __init__(
        self,
        env: gym.Env[Any, Any],
        machine: Machine,
        labels: Labels,
        *,
        exits: Sequence[Any] | None = None,
        which: Callable[[Any], int] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, machine=machine, labels=labels, exits=exits, which=which, _disable_deepcopy=True
        )
        gym.Wrapper.__init__(self, env)
        self.machine, self._labels, self._moves = machine, labels, Moves(machine)
        self._actions = Actions(env.action_space, self._moves)
        self.action_space = self._actions.space
        self.observation_space, self._encode, self._over = encoder(
            env.observation_space, self._moves
        )
        self._exits = _exits(env.observation_space, exits)
        self._which = which or _nearest(env.observation_space, self._exits, exits is None)
        self._after_pop = self._moves.states_after_pops() or [0]
        self._raw: Any = None
        self._control, self._string = 0, 0
        self._pending: list[int] = []
        self._running = self._lost = False

    @property
    def stack(self) -> tuple[str, ...]:
        """The machine's stack, topmost symbol first."""
        strings = self._moves.strings
        below = [symbol for string in reversed(self._pending) for symbol in strings[string]]
        return (*strings[self._string], *below)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a run: the machine in its first state, with its first stack."""
        self._raw, info = self.env.reset(seed=seed, options=options)
        self._control, self._string, self._pending = 0, 0, []
        self._running, self._lost = True, False
        return self._shown(self._raw), {**info, "event": None, **self._mask(info)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action of the environment, or an epsilon move of the machine."""
        if not self._running:
            raise ResetNeeded("the run is over: call reset()")
        if self._lost:
            return self._unwind(0.0, {})
        kind, choice = self._actions.decode(action, self._control, self._string)
        if kind is None:
            effect = dict(self._moves.silent(self._control, self._string))[choice]
            return self._apply(effect, 0.0, False, truncated=False, info={})
        there, reward, ended, truncated, info = self.env.step(kind)
        labels = frozenset(self._labels(self._raw, kind, there))
        self._raw = there
        effect = self._moves.read(self._control, self._string, choice, labels)
        return self._apply(effect, float(reward), ended, truncated=truncated, info=info)

    def _apply(
        self, effect: Effect, reward: float, ended: bool, *, truncated: bool, info: dict[str, Any]
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The step that an effect makes of what the environment did."""
        paid = reward + float(effect.reward)
        if ended or effect.kind == ENDS:
            return self._unwind(paid, info)
        observation, self._control = self._raw, effect.state
        told: dict[str, Any] = {"event": None}
        if effect.kind == CALLS:
            self._pending.append(effect.left)
            self._string = effect.callee
            told = {"event": "call", "exits": self._announced(effect.left)}
        elif effect.kind == LEAVES:
            self._string = self._pending.pop()
            place = int(self._which(self._raw))
            number = place * len(self._after_pop) + self._after_pop.index(effect.state)
            observation = self._exits[place]
            told = {"event": "return", "exit": number}
        else:
            self._string = effect.left
        self._running = not truncated
        told = {**info, **told, **self._mask(info)}
        return self._shown(observation), paid, False, bool(truncated), told

    def _unwind(
        self, paid: float, info: dict[str, Any]
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The run is over: leave one of the calls that are pending, or end."""
        self._lost = True
        told: dict[str, Any] = {"event": None}
        ended = not self._pending
        if not ended:
            self._string = self._pending.pop()
            told = {"event": "return", "exit": len(self._exits) * len(self._after_pop)}
        self._running = not ended
        return self._shown(None), paid, ended, False, {**info, **told, **self._mask(info)}

    def _announced(self, left: int) -> tuple[Any, ...]:
        """The caller's observation after each exit, given the string it is left with."""
        places = [
            self._encode(place, control, left)
            for place in self._exits
            for control in self._after_pop
        ]
        return (*places, copy(self._over))

    def _shown(self, raw: Any) -> Any:
        if self._lost:
            return copy(self._over)
        return self._encode(raw, self._control, self._string)

    def _mask(self, info: dict[str, Any]) -> dict[str, Any]:
        given = info.get("action_mask")
        control = -1 if self._lost else self._control
        mask = self._actions.mask(given, control, self._string)
        return {} if mask is None else {"action_mask": mask}


def _exits(space: spaces.Space[Any], exits: Sequence[Any] | None) -> list[Any]:
    """Observations that stand for the places where pops happen."""
    if exits is None and not isinstance(space, spaces.Discrete):
        fix = "give `exits`: observations that stand for the places where pops happen"
        raise ModelError([Problem("MachineEnv", f"cannot list the observations of {space}", fix)])
    if exits is None:
        assert isinstance(space, spaces.Discrete)
        return [int(space.start) + i for i in range(int(space.n))]
    return list(exits)


def _nearest(space: spaces.Space[Any], exits: list[Any], every: bool) -> Callable[[Any], int]:
    """The index of the exit nearest to an observation."""
    if every and isinstance(space, spaces.Discrete):
        first = int(space.start)
        return lambda observation: int(observation) - first
    flat = np.array([spaces.flatten(space, place) for place in exits], np.float64)

    def which(observation: Any) -> int:
        here = np.asarray(spaces.flatten(space, observation), np.float64)
        return int(np.argmin(((flat - here) ** 2).sum(axis=1)))

    return which
