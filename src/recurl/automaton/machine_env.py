"""A machine watching any environment, by the recursive protocol: products without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from recurl.arguments import with_known_names
from recurl.automaton.machine import Machine
from recurl.automaton.mdp import Labels
from recurl.automaton.moves import CALLS, ENDS, LEAVES, Effect, Moves
from recurl.env.protocol import Counterfactual, finite_reward
from recurl.errors import ModelError, Problem, ProtocolError


class MachineEnv(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment watched by a machine: a push is a call, a pop is a return.

    An observation shows the environment's, the state of the machine and the top of its stack: as
    one number if the environment's are `Discrete`, else as a vector with both one-hot. Rewards are
    the environment's plus the machine's; the run ends with either.

    A call announces what the caller would see after each exit. An exit is a state that the machine
    may be in after a pop, together with one of the `exits`, observations of the environment that
    stand for the places where pops happen. If the environment's observations are `Discrete`, all
    of them are exits unless some are named. Others are assigned to the nearest exit: after a
    return the observation shows that exit, for one step, in place of the exact one, as the call
    announced it. So choose exits that lie where pops do happen.

    Where the run ends inside calls, each of them is left through its last exit, ``over``, one step
    at a time: what is lost with the calls that are pending has to be learned, too. These steps pay
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
        counterfactual: Whether ``info["counterfactuals"]`` reports, with each step, what the same
            action would have done in all other states of the machine and below all other tops of
            its stack. Learners learn from these steps as well.

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

    @with_known_names
    def __init__(
        self,
        env: gym.Env[Any, Any],
        machine: Machine,
        labels: Labels,
        *,
        exits: Sequence[Any] | None = None,
        which: Callable[[Any], int] | None = None,
        counterfactual: bool = False,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, machine=machine, labels=labels, exits=exits, which=which,
            counterfactual=counterfactual, _disable_deepcopy=True,
        )  # fmt: skip
        gym.Wrapper.__init__(self, env)
        # The observation shows whether the stack is empty.
        self.metadata = {**env.metadata, "root_as_callee": True}
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
        self._places = self._moves.places() if counterfactual else []
        # The string that the latest call was left with, and the environment's own action mask.
        self._below, self._given = -1, None

    @property
    def counterfactuals(self) -> int:
        """Counterfactual steps that are reported with a step, at most."""
        return max(0, len(self._places) - 1)

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
        self._given = info.get("action_mask")
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
        there, gain, ended, truncated, info = self.env.step(kind)
        reward = finite_reward(gain)
        labels = self._labels(self._raw, kind, there)
        if labels is None:
            raise TypeError("labels must give the labels of a step, () if it has none, not None")
        labels = frozenset(labels)
        here, self._raw = self._raw, there
        if self._places:
            number = self._actions.number(kind, choice)
            read = partial(self._moves.read, choice=choice, labels=labels)
            others = self._counterfactuals(here, number, reward, ended, info=info, read=read)
            info = {**info, "counterfactuals": tuple(others)}
        effect = self._moves.read(self._control, self._string, choice, labels)
        return self._apply(effect, reward, ended, truncated=truncated, info=info)

    def _counterfactuals(
        self,
        here: Any,
        action: Any,
        reward: float,
        ended: bool,
        *,
        info: dict[str, Any],
        read: Callable[[int, int], Effect],
    ) -> Iterator[Counterfactual]:
        """The step of the environment, seen by the machine in its other states."""
        given, self._given = self._given, info.get("action_mask")
        below = self._pending[-1] if self._pending else self._below
        for control, string in self._places:
            nested = not self._moves.is_outermost(string)
            same = (control, string) == (self._control, self._string)
            mask = self._actions.mask(given, control, string)
            if same or (nested and below < 0) or not (mask is None or mask[int(action)]):
                continue
            effect = read(control, string)
            yield Counterfactual(
                self._encode(here, control, string),
                {} if mask is None else {"action_mask": mask},
                action,
                reward + float(effect.reward),
                (ended or effect.kind == ENDS) and not nested,
                *self._counterfactual_end(effect, below, ended=ended, nested=nested),
                nested,
            )

    def _counterfactual_end(
        self, effect: Effect, below: int, *, ended: bool, nested: bool
    ) -> tuple[Any, dict[str, Any]]:
        """Observation and ``info`` after an effect, where a call would resume a given string."""
        if ended or effect.kind == ENDS:
            reported: dict[str, Any] = {"event": None}
            if nested:
                reported = {"event": "return", "exit": len(self._exits) * len(self._after_pop)}
            control, string, observation = -1, 0, copy(self._over)
        else:
            place, reported, string = self._moved(effect, below)
            control, observation = effect.state, self._encode(place, effect.state, string)
        mask = self._actions.mask(self._given, control, string)
        return observation, reported if mask is None else {**reported, "action_mask": mask}

    def _moved(self, effect: Effect, below: int) -> tuple[Any, dict[str, Any], int]:
        """Where an effect leads: the environment's place, event and string.

        Args:
            effect: The effect; the run goes on.
            below: The string that a call would be left to.
        """
        if effect.kind == CALLS:
            reported = {"event": "call", "exits": self._announced(effect.left)}
            return self._raw, reported, effect.callee
        if effect.kind == LEAVES:
            place = self._exit_here()
            number = place * len(self._after_pop) + self._after_pop.index(effect.state)
            return self._exits[place], {"event": "return", "exit": number}, below
        return self._raw, {"event": None}, effect.left

    def _exit_here(self) -> int:
        """The exit that stands for the place where the environment is."""
        place, last = self._which(self._raw), len(self._exits) - 1
        if not isinstance(place, int | np.integer) or not 0 <= place <= last:
            found = f"not {place!r} (for the observation {self._raw!r})"
            raise ProtocolError(f"`which` must give the index of an exit, 0 to {last}, {found}")
        return int(place)

    def _apply(
        self, effect: Effect, reward: float, ended: bool, *, truncated: bool, info: dict[str, Any]
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The step that an effect makes of what the environment did."""
        paid = reward + float(effect.reward)
        if ended or effect.kind == ENDS:
            return self._unwind(paid, info)
        below = self._pending[-1] if self._pending else -1
        place, reported, self._string = self._moved(effect, below)
        self._control = effect.state
        if effect.kind == CALLS:
            self._pending.append(effect.left)
        elif effect.kind == LEAVES:
            self._below = self._pending.pop()
        self._running = not truncated
        reported = {**info, **reported, **self._mask(info)}
        return self._shown(place), paid, False, bool(truncated), reported

    def _unwind(
        self, paid: float, info: dict[str, Any]
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The run is over: leave one of the calls that are pending, or end."""
        self._lost = True
        reported: dict[str, Any] = {"event": None}
        ended = not self._pending
        if not ended:
            self._string = self._below = self._pending.pop()
            reported = {"event": "return", "exit": len(self._exits) * len(self._after_pop)}
        self._running = not ended
        return self._shown(None), paid, ended, False, {**info, **reported, **self._mask(info)}

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
    if len(exits) == 0:
        raise ModelError([Problem("MachineEnv", "`exits` is empty", "name at least one place")])
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


Encoder = Callable[[Any, int, int], Any]
"""From an observation of the environment, a machine state and a string to an observation."""


def encoder(space: spaces.Space[Any], moves: Moves) -> tuple[spaces.Space[Any], Encoder, Any]:
    """The space of observations of both, the function that puts them together, and what is over.

    Discrete observations stay so: ``(observation * states + state) * symbols + top``, and one more
    for a run that is over. Others are flattened, and the machine's state and top follow, one-hot,
    and a 1 at the end if the run is over.
    """
    machine = moves.machine
    states, symbols = len(machine.states) - len(machine.final), machine.symbols
    tops = [symbols.index(string[0]) for string in moves.strings]
    if isinstance(space, spaces.Discrete):
        first = int(space.start)

        def number(raw: Any, control: int, string: int) -> int:
            return ((int(raw) - first) * states + control) * len(symbols) + tops[string]

        count = int(space.n) * states * len(symbols)
        return spaces.Discrete(count + 1), number, count
    return _vectors(space, states, len(symbols), tops=tops)


def _vectors(
    space: spaces.Space[Any], states: int, symbols: int, *, tops: list[int]
) -> tuple[spaces.Space[Any], Encoder, Any]:
    flat = spaces.flatten_space(space)
    if not isinstance(flat, spaces.Box):
        fix = "wrap it so that its observations are vectors"
        raise ModelError([Problem("MachineEnv", f"cannot flatten {space}", fix)])
    extra = np.zeros(states + symbols + 1)
    low = np.concatenate([flat.low, extra]).astype(np.float32)
    high = np.concatenate([flat.high, extra + 1]).astype(np.float32)

    def vector(raw: Any, control: int, string: int) -> npt.NDArray[np.float32]:
        rest = extra.copy()
        rest[control] = rest[states + tops[string]] = 1
        return np.concatenate([spaces.flatten(space, raw), rest]).astype(np.float32)

    over = np.clip(np.zeros(len(low), np.float32), low, high)
    over[-1] = 1
    return spaces.Box(low, high, dtype=np.float32), vector, over


class Actions:
    """Actions of the environment under each choice of the machine, then its epsilon moves.

    Args:
        space: Actions of the environment.
        moves: The machine.
    """

    def __init__(self, space: spaces.Space[Any], moves: Moves) -> None:
        self._moves, places = moves, moves.places()
        named = [name for place in places for name in moves.choices(*place)]
        silent = [name for place in places for name, _ in moves.silent(*place)]
        self._choices = list(dict.fromkeys(named)) or [""]
        self._silent = list(dict.fromkeys(silent))
        self._plain = self._choices == [""] and not self._silent
        if not self._plain and not isinstance(space, spaces.Discrete):
            fix = "use a machine without choices and epsilon moves, or Discrete actions"
            message = f"the machine's choices cannot be added to {space}"
            raise ModelError([Problem("MachineEnv", message, fix)])
        self._own = int(space.n) if isinstance(space, spaces.Discrete) else 0
        self._first = int(space.start) if isinstance(space, spaces.Discrete) else 0
        self._total = self._own * len(self._choices) + len(self._silent)
        self.space = space if self._plain else spaces.Discrete(self._total)

    def decode(self, action: Any, control: int, string: int) -> tuple[Any, str]:
        """The environment's action and the choice; None and a name for an epsilon move."""
        if action not in self.space:
            raise InvalidAction(f"action {action!r} is not in {self.space}")
        if self._plain:
            return action, ""
        mask = self._exists(control, string)
        number = int(action)
        if not mask[number]:
            known = np.flatnonzero(mask)
            number = int(known[number % len(known)])
        reading = self._own * len(self._choices)
        if number >= reading:
            return None, self._silent[number - reading]
        choice, own = divmod(number, self._own)
        return own + self._first, self._choices[choice]

    def number(self, kind: Any, choice: str) -> Any:
        """The action that is decoded as an action of the environment and a choice."""
        if self._plain:
            return kind
        return self._choices.index(choice) * self._own + int(kind) - self._first

    def mask(self, given: Any, control: int, string: int) -> npt.NDArray[np.int8] | None:
        """Which actions exist; None if all do, always. Control -1 leaves nothing to choose."""
        if self._plain:
            return None if given is None else np.asarray(given, np.int8)
        if control < 0:
            return np.eye(1, self._total, dtype=np.int8).reshape(-1)
        mask = self._exists(control, string)
        if given is not None:
            reading = self._own * len(self._choices)
            mask[:reading] *= np.tile(np.asarray(given, np.int8), len(self._choices))
        return mask

    def _exists(self, control: int, string: int) -> npt.NDArray[np.int8]:
        choices = self._moves.choices(control, string)
        silent = [name for name, _ in self._moves.silent(control, string)]
        reading = np.repeat([name in choices for name in self._choices], self._own)
        return np.concatenate([reading, [name in silent for name in self._silent]]).astype(np.int8)
