"""Writing closing brackets from memory: a recursive environment with continuous observations."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.zoo.values import at_least

KINDS = 3
EMBEDDING = 6
READ = KINDS
"""The action that reads on; the actions before it write a closing bracket of their number."""
NEXT, OPENED, END, CLOSED = range(4)
"""Phases: before the next token, an opening bracket is shown, nothing is left, one was closed."""

Observation = np.ndarray[Any, np.dtype[np.float32]]


class _Body(NamedTuple):
    """A text inside brackets: how deep it is, how many brackets it had, whether it is empty."""

    level: int
    read: int
    empty: bool


class BracketWriting(gym.Env[Observation, np.int64]):
    """Read a text of nested brackets of three kinds, and write every closing bracket.

    An opening bracket is shown once, as a noisy point in six dimensions; reading on is a call.
    When the text inside has ended, one of three closing brackets has to be written, which returns
    through the exit of its number. By then the opening bracket has disappeared: which closing
    bracket is right has to be known from what the exits are worth.

    - A text on a level above the last holds one pair of brackets, with the next level inside, and
      with probability 1/2 another one with nothing inside. The text of the last level is empty.
    - Reading on after a closing bracket pays ``reward`` if it was the right one, else ``-reward``.
    - An action that does not fit (writing before the end of a text, reading at its end) pays
      ``-reward`` and changes nothing.

    Whoever closes every bracket rightly earns `oracle`, which is 1.5 ``depth * reward`` on average.

    Observations have 16 numbers: the opening bracket (6, shown when it is opened and again when it
    was closed), the closing bracket that was written (3, one-hot), the phase (4, one-hot) and how
    many brackets the text had so far (3, one-hot). The level is not shown.

    Args:
        depth: Levels of brackets, at least 1.
        noise: Standard deviation of the noise in each of the six dimensions; kinds are sqrt(2)
            apart, so that 0.2 hides one in 2,500.
        reward: Size of the rewards.

    Example:
        >>> env = BracketWriting(depth=3)
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, env.oracle
        ((16,), 4.5)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, depth: int = 3, noise: float = 0.2, reward: float = 1.0) -> None:
        at_least("depth", depth, 1)
        self.depth, self.noise, self.reward = depth, noise, reward
        self.observation_space = spaces.Box(-np.inf, np.inf, (EMBEDDING + KINDS + 7,), np.float32)
        self.action_space = spaces.Discrete(KINDS + 1)

    @property
    def oracle(self) -> float:
        """Expected return of a writer who closes every bracket rightly."""
        return 1.5 * self.depth * self.reward

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a text."""
        super().reset(seed=seed)
        # Of each pending bracket: its kind, how it looked, and the text around it.
        self._pending: list[tuple[int, Observation, _Body]] = []
        self._body, self._phase = _Body(0, 0, False), NEXT
        self._kind, self._closer = 0, 0
        self._shown = np.zeros(EMBEDDING, np.float32)
        return self._observation(), {"event": None}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Read on, or write a closing bracket."""
        phase = self._phase
        if (action == READ) == (phase == END):
            return self._observation(), -self.reward, False, False, {"event": None}
        if phase == NEXT:
            return self._next()
        if phase == OPENED:
            return self._call()
        if phase == END:
            return self._return(int(action))
        reward = self.reward if self._kind == self._closer else -self.reward
        self._phase = NEXT
        return self._observation(), reward, False, False, {"event": None}

    def _next(self) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """The next opening bracket, or the end of the text."""
        body = self._body
        another = body.read == 0 or (body.read == 1 and self.np_random.random() < 0.5)
        if body.level < self.depth and not body.empty and another:
            self._kind = int(self.np_random.integers(KINDS))
            noise = self.np_random.normal(0.0, self.noise, EMBEDDING)
            # The kinds are the first three unit vectors.
            self._shown = (np.eye(EMBEDDING)[self._kind] + noise).astype(np.float32)
            self._body, self._phase = body._replace(read=body.read + 1), OPENED
        else:
            self._phase = END
        over = self._phase == END and not self._pending
        return self._observation(), 0.0, over, False, {"event": None}

    def _call(self) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Into the brackets."""
        body, shown = self._body, self._shown
        exits = tuple(self._look(CLOSED, body, shown, closer) for closer in range(KINDS))
        self._pending.append((self._kind, shown, body))
        self._body, self._phase = _Body(body.level + 1, 0, body.read == 2), NEXT
        return self._observation(), 0.0, False, False, {"event": "call", "exits": exits}

    def _return(self, closer: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Out of the brackets."""
        self._kind, self._shown, self._body = self._pending.pop()
        self._closer, self._phase = closer, CLOSED
        return self._observation(), 0.0, False, False, {"event": "return", "exit": closer}

    def _observation(self) -> Observation:
        return self._look(self._phase, self._body, self._shown, self._closer)

    def _look(self, phase: int, body: _Body, shown: Observation, closer: int) -> Observation:
        seen = np.zeros(EMBEDDING + KINDS + 7, np.float32)
        if phase in (OPENED, CLOSED):
            seen[:EMBEDDING] = shown
        if phase == CLOSED:
            seen[EMBEDDING + closer] = 1.0
        seen[EMBEDDING + KINDS + phase] = 1.0
        seen[EMBEDDING + KINDS + 4 + body.read] = 1.0
        return seen
