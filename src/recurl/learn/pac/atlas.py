"""What episodes of an unknown 1-exit environment have shown: states, outcomes, counts.

The structure is discovered: which states there are, which calls lead where, what follows them,
which pairs leave. A component is a set of states that steps and returns connect. Nothing but the
exits' number is assumed; with one exit, values do not depend on how states are grouped.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from recurl.errors import ProtocolError
from recurl.learn.pac.intervals import level_size

if TYPE_CHECKING:
    import gymnasium as gym

Outcome = tuple[str, int, int]
"""("step", state, -1), ("call", entry, state after the return) or ("exit", 0, -1)."""


@dataclass(slots=True)
class Pair:
    """A state and an action, with what it did.

    Attributes:
        state: The state.
        action: The environment's number of the action.
        outcomes: Place of each outcome in the lists below.
        rewards: Reward of each outcome.
        counts: How often each was seen.
        looked: How often each had been seen when the pair was last looked at.
        level: How often the pair was looked at.
        total: Samples of the pair.
    """

    state: int
    action: int
    outcomes: dict[Outcome, int] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)
    level: int = 0
    total: int = 0

    def add(self, outcome: Outcome, reward: float) -> None:
        """Count one sample; the pair is looked at when it reaches its next level."""
        place = self.outcomes.setdefault(outcome, len(self.rewards))
        if place == len(self.rewards):
            self.rewards.append(reward)
            self.counts.append(0)
        elif abs(self.rewards[place] - reward) > 1e-9 * max(1.0, abs(reward)):
            raise ProtocolError(
                f"the same outcome paid {self.rewards[place]:g} and {reward:g}: the reward must be "
                "a function of state, action and outcome"
            )
        self.counts[place] += 1
        self.total += 1
        if self.total == level_size(self.level + 1):
            self.level += 1
            self.looked = self.counts.copy()


class Atlas:
    """States and pairs in the order in which they were met.

    Args:
        env: The environment; its observations name the states.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        if not isinstance(env.action_space, spaces.Discrete):
            raise ProtocolError(f"learning needs Discrete actions, not {env.action_space}")
        self._space, self._n_actions = env.observation_space, int(env.action_space.n)
        self._numbers: dict[Hashable, int] = {}
        self.observations: list[Any] = []
        self.pairs: list[Pair] = []
        self.pairs_of: list[list[int]] = []
        self.starts: dict[int, int] = {}
        self.samples = 0
        self._parent: list[int] = []

    def state(self, observation: Any) -> int:
        """Number of a state; a new one has no pairs yet."""
        key = spaces.flatten(self._space, observation)
        name = np.asarray(key).tobytes()
        if name not in self._numbers:
            self._numbers[name] = len(self.observations)
            self.observations.append(observation)
            self.pairs_of.append([])
            self._parent.append(len(self._parent))
        return self._numbers[name]

    def visit(self, observation: Any, mask: np.ndarray | None) -> int:
        """Number of a state at which a run stands: its pairs are known from now on."""
        state = self.state(observation)
        if not self.pairs_of[state]:
            legal = range(self._n_actions) if mask is None else np.flatnonzero(mask).tolist()
            for action in legal:
                self.pairs_of[state].append(len(self.pairs))
                self.pairs.append(Pair(state, int(action)))
        return state

    def begin(self, observation: Any, mask: np.ndarray | None) -> int:
        """The state at which a run starts."""
        state = self.visit(observation, mask)
        self.starts[state] = self.starts.get(state, 0) + 1
        return state

    def step(self, pair: int, reward: float, target: int) -> None:
        """Count a step within a component."""
        self._join(self.pairs[pair].state, target)
        self._add(pair, ("step", target, -1), reward)

    def call(self, pair: int, reward: float, entry: int, exits: Sequence[Any]) -> None:
        """Count a call, with the observations after its exits."""
        if len(exits) != 1:
            raise ProtocolError(
                f"a call with {len(exits)} exits: episodes teach 1-exit models; models with more "
                "can be learned with a discount, or with assumptions on drift"
            )
        after = self.state(exits[0])
        self._join(self.pairs[pair].state, after)
        self._add(pair, ("call", entry, after), reward)

    def leave(self, pair: int, reward: float) -> None:
        """Count an exit."""
        self._add(pair, ("exit", 0, -1), reward)

    def _add(self, pair: int, outcome: Outcome, reward: float) -> None:
        self.pairs[pair].add(outcome, reward)
        self.samples += 1

    def _join(self, one: int, other: int) -> None:
        self._parent[self.component(one)] = self.component(other)

    def component(self, state: int) -> int:
        """A state that stands for the component of a state."""
        while self._parent[state] != state:
            self._parent[state] = self._parent[self._parent[state]]
            state = self._parent[state]
        return state
