"""Experience in an unknown environment: states, outcomes and their counts.

The structure is discovered: which states there are, which calls lead where, what follows them,
which pairs leave. A component is a set of states that steps and returns connect. Only the
number of exits is assumed; with one exit, values do not depend on how states are grouped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.env.observation import exits_view
from recurl.env.protocol import (
    NO_CALL,
    NOT_OBSERVATIONS,
    allowed_actions,
    announced_exits,
    changed_mask,
    check_form,
    exit_taken,
    finite_reward,
    known_event,
    not_announced,
    not_in_space,
    required_event,
    step_result,
)
from recurl.errors import ProtocolError
from recurl.learn.pac.confidence import level_size

Outcome = tuple[str, int, int]
"""("step", state, -1), ("call", entry, number of what follows its exits), ("exit", index, -1), and
("end", 0, -1) if the run ends with calls pending. A run begins with ("start", state, -1)."""
Size = Callable[[int, int], int]
"""Samples at which pair number i reaches level j."""


def by_level(number: int, level: int) -> int:
    """The sizes of the adaptive version: the same for all pairs."""
    return level_size(level)


def flat(space: Any, observation: Any) -> np.ndarray:
    """An observation of a space as an array of numbers, equal ones bit for bit.

    Raises:
        ProtocolError: It is not an observation of the space.
    """
    try:
        if isinstance(space, spaces.Discrete):
            return np.array([index(observation)], np.int64)
        return np.asarray(spaces.flatten(space, observation)) + 0  # -0.0 is 0.0
    except NOT_OBSERVATIONS:
        raise not_in_space(observation, space) from None


@dataclass(slots=True)
class Pair:
    """A state and an action, with their outcomes.

    Attributes:
        state: The state.
        action: The environment's number of the action.
        due: Samples at which the pair reaches its next level.
        outcomes: Place of each outcome in the lists below.
        rewards: Reward of each outcome.
        counts: How often each was seen.
        at_level: How often each had been seen when the pair reached its level.
        level: The level that the pair has reached.
        total: Samples of the pair.
    """

    state: int
    action: int
    due: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    at_level: list[int] = field(default_factory=list)
    level: int = 0
    total: int = 0

    def add(self, outcome: Outcome, reward: float, times: int = 1) -> None:
        """Count a sample, or several with the same outcome."""
        place = self.outcomes.setdefault(outcome, len(self.rewards))
        if place == len(self.rewards):
            self.rewards.append(reward)
            self.counts.append(0)
        elif abs(self.rewards[place] - reward) > 1e-9 * max(1.0, abs(reward)):
            raise ProtocolError(
                f"the same outcome paid {self.rewards[place]:g} and {reward:g}: the reward must be "
                "a function of state, action and outcome"
            )
        self.counts[place] += times
        self.total += times

    def reach_level(self) -> None:
        """Take over the counts for the next level."""
        self.level += 1
        self.at_level = self.counts.copy()


class Experience:
    """States and pairs in the order in which they were met.

    Args:
        env: The environment; its observations name the states.
        size: Sizes of levels. The start has number 0, pairs count from 1.
        several: Whether calls may have several exits. Then states with no call pending, where it
            does not matter which exit ends the run, are kept apart from those within calls.

    Attributes:
        reports_events: Whether the run has reported an event, or None, when it began: then it must
            with every step.
    """

    reports_events = False

    def __init__(
        self, env: gym.Env[Any, Any], size: Size = by_level, *, several: bool = False
    ) -> None:
        if isinstance(env, gym.vector.VectorEnv):
            raise ProtocolError("samples are taken in one environment, not in a vector environment")
        if not isinstance(env.action_space, spaces.Discrete):
            raise ProtocolError(f"learning needs Discrete actions, not {env.action_space}")
        self.space, self._n_actions = env.observation_space, int(env.action_space.n)
        self._first_action, self._view = int(env.action_space.start), exits_view(env)
        self.size, self.several = size, several
        self._numbers: dict[Hashable, int] = {}
        self.observations: list[Any] = []
        self.pairs: list[Pair] = []
        self.pairs_of: list[list[int]] = []
        self.start = Pair(-1, -1, size(0, 1))
        self.samples = 0
        self._last: tuple[int, Outcome, float] = (-1, ("", -1, -1), 0.0)
        self.parent: list[int] = []
        self.bottom: list[bool] = []
        self.returns: dict[tuple[int, ...], int] = {}
        # Of each call that has not returned: the states after its exits.
        self._calls: list[Sequence[int]] = []

    @property
    def starts(self) -> dict[int, int]:
        """How often runs had begun at each state, at the level of the start if it has one."""
        counts = self.start.at_level if self.start.level else self.start.counts
        counts = [*counts, *([0] * len(self.start.counts))]
        return {state: counts[i] for (_, state, _), i in self.start.outcomes.items()}

    @property
    def complete(self) -> bool:
        """Whether every pair has reached a level, and a run has stood at every state."""
        reached = all(pair.level > 0 for pair in self.pairs)
        return reached and self.start.level > 0 and all(self.pairs_of)

    def _exits_taken(self) -> tuple[list[set[int]], list[int]]:
        """By component: exits that were taken, and how many there are by what calls announced."""
        returns = list(self.returns)
        taken: dict[int, set[int]] = {}
        known: dict[int, int] = {}
        for pair in self.pairs:
            own = self.component(pair.state)
            taken.setdefault(own, set())
            for kind, target, after in pair.outcomes:
                if kind == "exit":
                    taken[own].add(target)
                elif kind == "call":
                    callee = self.component(target)
                    known[callee] = max(known.get(callee, 1), len(returns[after]))
        return list(taken.values()), [known.get(own, 1) for own in taken]

    def exit_counts(self) -> tuple[int, int]:
        """The number of exits that were discovered, and of those that were taken."""
        taken, known = self._exits_taken()
        return sum(known), sum(map(len, taken))

    def flat(self, observation: Any) -> np.ndarray:
        """An observation as an array of numbers."""
        return flat(self.space, observation)

    def state(self, observation: Any, bottom: bool = False) -> int:
        """Number of a state; a new one has no pairs yet."""
        name = (self.flat(observation).tobytes(), bottom and self.several)
        if name not in self._numbers:
            check_form(observation, self.space)
            self._numbers[name] = len(self.observations)
            self.observations.append(observation)
            self.bottom.append(name[1])
            self.pairs_of.append([])
            self.parent.append(len(self.parent))
        return self._numbers[name]

    def visit(self, observation: Any, mask: np.ndarray | None, depth: int = 0) -> int:
        """Number of a state at which a run stands: its pairs are known from now on.

        Args:
            observation: The observation.
            mask: The actions that exist there.
            depth: Number of pending calls.
        """
        del self._calls[depth:]
        state = self.state(observation, depth == 0)
        if mask is None and self.pairs_of[state]:
            return state
        marked = allowed_actions(mask, self._n_actions)
        legal = [self._first_action + action for action in marked]
        known = [self.pairs[pair].action for pair in self.pairs_of[state]]
        if not known:
            for action in legal:
                self.new_pair(state, action)
        elif legal != known:
            raise changed_mask(observation, legal, known)
        return state

    def new_pair(self, state: int, action: int) -> Pair:
        """A new pair without samples."""
        self.pairs_of[state].append(len(self.pairs))
        self.pairs.append(Pair(state, action, self.size(len(self.pairs) + 1, 1)))
        return self.pairs[-1]

    def begin(self, observation: Any, mask: np.ndarray | None) -> int:
        """The state at which a run starts."""
        state = self.visit(observation, mask)
        self._count(self.start, 0, ("start", state, -1), 0.0)
        self._join(next(iter(self.starts)), state)
        return state

    def record(self, pair: int, result: tuple[Any, Any, bool, bool, dict[str, Any]]) -> int | None:
        """Count the outcome of a step of the environment; the state after it, None at the end.

        Raises:
            ProtocolError: The environment does not keep the recursive protocol.
        """
        observation, gain, ended, _, info = step_result(result)
        reward, mask = finite_reward(gain), info.get("action_mask")
        event = (required_event if self.reports_events else known_event)(info, ended)
        if ended:
            self._end(pair, reward)
            return None
        if event == "return":
            exit = self._exit_taken(info, observation)
            target = self.visit(observation, mask, len(self._calls) - 1)
            self.leave(pair, reward, exit)
        elif event == "call":
            seen, outermost = announced_exits(info, self._view), not self._calls
            target = self.visit(observation, mask, len(self._calls) + 1)
            self._calls.append([self.state(exit_seen, outermost) for exit_seen in seen])
            self.call(pair, reward, target, self._calls[-1])
        else:
            target = self.visit(observation, mask, len(self._calls))
            self.step(pair, reward, target)
        return target

    def _exit_taken(self, info: dict[str, Any], observation: Any) -> int:
        """The exit by which the latest call returned."""
        if not self._calls:
            raise ProtocolError(NO_CALL)
        after = self._calls[-1]
        exit = exit_taken(info, len(after))
        announced = self.observations[after[exit]]
        if self.flat(observation).tobytes() != self.flat(announced).tobytes():
            check_form(observation, self.space)
            raise not_announced(exit, announced, observation)
        return exit

    def record_many(
        self, pair: int, result: tuple[Any, Any, bool, bool, dict[str, Any]], times: int
    ) -> None:
        """Count an outcome that came up several times, each from the state of the pair."""
        self.visit(self.observations[self.pairs[pair].state], None)
        self.record(pair, result)
        if times > 1:
            self._add(*self._last, times - 1)

    def _end(self, pair: int, reward: float) -> None:
        if not self._calls:
            self.leave(pair, reward)
        elif self.several:
            self._add(pair, ("end", 0, -1), reward)
        else:
            raise ProtocolError(
                f"a run ended with {len(self._calls)} calls pending: with one exit every call "
                "returns. Learn with a discount (gamma below 1), which allows it"
            )

    def step(self, pair: int, reward: float, target: int) -> None:
        """Count a step within a component."""
        self._join(self.pairs[pair].state, target)
        self._add(pair, ("step", target, -1), reward)

    def call(self, pair: int, reward: float, entry: int, after: Sequence[int]) -> None:
        """Count a call, with the states after its exits."""
        if len(after) != 1 and not self.several:
            raise ProtocolError(
                f"a call with {len(after)} exits: learn with a discount (gamma below 1), which "
                "allows several"
            )
        for state in after:
            self._join(self.pairs[pair].state, state)
        number = self.returns.setdefault(tuple(after), len(self.returns))
        self._add(pair, ("call", entry, number), reward)

    def leave(self, pair: int, reward: float, index: int = 0) -> None:
        """Count an exit, of the given index."""
        self._add(pair, ("exit", index, -1), reward)

    def _add(self, pair: int, outcome: Outcome, reward: float, times: int = 1) -> None:
        self._last = pair, outcome, reward
        self._count(self.pairs[pair], pair + 1, outcome, reward, times)
        self.samples += times

    def _count(
        self, pair: Pair, number: int, outcome: Outcome, reward: float, times: int = 1
    ) -> None:
        pair.add(outcome, reward, times)
        if pair.total == pair.due:
            pair.reach_level()
            pair.due = self.size(number, pair.level + 1)

    def _join(self, one: int, other: int) -> None:
        self.parent[self.component(one)] = self.component(other)

    def component(self, state: int) -> int:
        """A state that stands for the component of a state."""
        while self.parent[state] != state:
            self.parent[state] = self.parent[self.parent[state]]
            state = self.parent[state]
        return state
