"""A deep learner's work on an environment, or on several side by side."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from recurl.env.observation import View, exits_view
from recurl.env.protocol import (
    NO_CALL,
    SILENT,
    announced_exits,
    exit_taken,
    finite_observation,
    known_event,
    not_announced,
)
from recurl.errors import ProtocolError
from recurl.learn.deep.encoding import flattener, known_exits
from recurl.learn.deep.engine import Vector, check_loss
from recurl.learn.deep.foreign_loop import (
    Mind,
    first_actions,
    kept,
    new_mind,
    policy_action,
    policy_values,
    take_in,
)
from recurl.learn.deep.lanes import Look, Moment, lanes_of
from recurl.learn.deep.network import Shape
from recurl.learn.deep.replay import steps_of
from recurl.learn.deep.rule import health
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.sheet import Seen, blank
from recurl.learn.deep.trees import as_arrays, from_arrays
from recurl.learn.greedy_episodes import another, play
from recurl.model.tables import CALLS, EXITS, STEP

if TYPE_CHECKING:
    from recurl.model.tables import Floats


class DeepForeignEngine:
    """A deep learner's work on an environment.

    Args:
        env: An environment, or a vector environment, whose actions are `Discrete`.
        settings: What the learner was told.
        flat: Take calls and returns for ordinary steps.
        evaluation_env: A second environment for tests; made from ``env.spec`` if it is None.
    """

    def __init__(
        self, env: Any, settings: DeepSettings, flat: bool, *, evaluation_env: Any = None
    ) -> None:
        self.env, self.settings, self.flat = env, settings, flat
        self.view: View | None = None if flat else exits_view(env)
        self._evaluation_env = evaluation_env
        self.lanes = lanes_of(env, settings.episode_limit)
        if not isinstance(self.lanes.action_space, spaces.Discrete):
            raise ProtocolError(f"Q-values need Discrete actions, not {self.lanes.action_space}")
        self._first_number = int(self.lanes.action_space.start)
        size, self._flatten = flattener(self.lanes.observation_space)
        exits = 0 if flat else settings.max_exits or known_exits(env) or 1
        self.shape = Shape(size, exits, int(self.lanes.action_space.n))
        self._setting = (settings.plan, self.shape)
        self.mind: Mind = new_mind(self._setting, jnp.uint32(settings.seed))
        # Masks that leave actions out, by observation: calls tell of exits without them.
        self._masks: dict[bytes, np.ndarray] = {}
        self.episodes = self.cut = self.overflowed = 0
        self._ended, self._returns = 0, 0.0
        # What the device knows too, kept here because asking it takes time.
        self._count, self._loss = 0, 0.0
        self._seen: Seen | None = None
        self._silent = not flat

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """Space of an observation."""
        return self.lanes.observation_space

    @property
    def steps(self) -> int:
        """Steps taken so far, in all lanes together."""
        return self._count

    @property
    def loss(self) -> float:
        """Loss of the latest update."""
        return self._loss

    @property
    def n_contexts(self) -> int:
        """A network keeps no contexts."""
        return 0

    @property
    def start(self) -> Vector:
        """Context in which an episode begins."""
        return (0.0,) * self.shape.exits

    def advance(self, steps: int) -> None:
        """Take steps, learning; with several lanes, up to one less than their number more.

        Raises:
            LimitError: The loss is not finite; what is learned stays as it was before.
            ProtocolError: The environment does not keep the recursive protocol.
        """
        good = jax.tree.map(jnp.copy, self.mind)
        end = self.steps + steps
        try:
            self._take_steps(end)
        except ProtocolError as error:
            # Where the environment stands is not known: the next step begins episodes.
            self._seen = None
            raise ProtocolError(f"step {self.steps}: {error}") from None
        loss, step = float(health(self.mind.brain)), self.steps
        if not math.isfinite(loss):
            self._take_over(good)
        check_loss(loss, step, self.steps, self.settings)
        if self._silent:
            self._silent = False
            warnings.warn(SILENT, stacklevel=2)

    def _take_steps(self, end: int) -> None:
        if self._seen is None:
            self._begin()
        while self.steps < end:
            self._step()
            if not math.isfinite(self.loss):
                break

    def _take_over(self, mind: Mind) -> None:
        """Go on with another mind, and with new episodes."""
        self.mind, self._seen = mind, None
        self._count, self._loss = int(mind.step), float(mind.brain.loss)

    def _begin(self) -> None:
        """Begin episodes in all lanes."""
        looks = self.lanes.reset(self.settings.seed if self.steps == 0 else None)
        n = self.lanes.count
        self._gains = np.zeros(n)
        # Of each pending call: the caller's exit values, features after its exits, their number.
        self._stacks: list[list[tuple[np.ndarray, np.ndarray, int]]] = [[] for _ in range(n)]
        self._values = np.zeros((n, self.shape.exits), np.float32)
        # Two in turn: what the lanes go on from is read while the next one is written.
        self._sheets = [blank(self.shape, n), blank(self.shape, n)]
        self._seen = self._sheets[0][1]
        for i, look in enumerate(looks):
            self._look(i, look)
        s, mask = self._seen, self._seen.next_mask.astype(bool)
        found = first_actions(self._setting, self.mind, s.next, self._values, mask)
        self._actions = np.asarray(found)

    def _step(self) -> None:
        """A step in all lanes, and what is learned from it."""
        old = self._seen
        assert old is not None
        self._sheets.reverse()
        sheet, self._seen = self._sheets[0]
        sheet[:] = 0
        self._seen.here[:], self._seen.values[:] = old.next, self._values
        self._seen.action[:] = self._actions
        for i, moment in enumerate(self.lanes.step(self._actions + self._first_number)):
            self._note(i, moment)
        self.mind, told = take_in(self._setting, self.mind, sheet)
        numbers = np.asarray(told)
        self._count += int(np.count_nonzero(self._seen.real))
        self._actions, self._values = numbers[:, 0].astype(np.int32), numbers[:, 2:]
        self._loss = float(numbers[0, 1])

    def _note(self, lane: int, moment: Moment) -> None:
        s = self._seen
        assert s is not None
        s.real[lane] = moment.real
        if moment.real:
            s.reward[lane] = moment.reward
            s.there[lane] = row = self._row(moment.observation)
            s.mask[lane] = self._mask(row, moment.info)
            self._note_move(lane, moment)
            self._gains[lane] += moment.reward
        if moment.terminated or moment.truncated:
            self._close(lane, cut=not moment.terminated)
        if moment.fresh is not None:
            self._look(lane, moment.fresh)
        else:
            s.next[lane], s.next_mask[lane] = s.there[lane], s.mask[lane]
        s.begins[lane] = moment.terminated or moment.truncated or moment.fresh is not None
        if not np.count_nonzero(s.next_mask[lane]):
            s.next_mask[lane] = True  # an episode that is over: whatever is chosen is not used

    def _note_move(self, lane: int, moment: Moment) -> None:
        s, stack = self._seen, self._stacks[lane]
        assert s is not None
        event = None if self.flat else known_event(moment.info)
        s.move[lane] = EXITS if moment.terminated else STEP
        if event == "call":
            s.move[lane] = CALLS
            exits = announced_exits(moment.info, self.view)
            ports, mask = self._ports(exits)
            stack.append((s.values[lane].copy(), ports, len(exits)))
            s.ports[lane], s.ports_mask[lane] = ports, mask
        elif event == "return":
            if not stack:
                raise ProtocolError(NO_CALL)
            values, ports, count = stack.pop()
            exit = exit_taken(moment.info, count)
            if not np.array_equal(ports[exit], s.there[lane]):
                raise not_announced(exit, ports[exit], moment.observation)
            s.move[lane], s.exit[lane], s.popped[lane] = EXITS, exit, values

    def _row(self, observation: Any) -> np.ndarray:
        """An observation as the network sees it."""
        row = self._flatten(observation)
        finite_observation(row)
        return row

    def _ports(self, exits: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Features and actions after each exit, as wide as the network."""
        count, most = len(exits), self.shape.exits
        if count > most:
            raise ProtocolError(f"a call has {count} exits, but the network {most}: set max_exits")
        ports = np.zeros((most, self.shape.features), np.float32)
        mask = np.zeros((most, self.shape.actions), bool)
        for k, observation in enumerate(exits):
            ports[k] = row = self._row(observation)
            mask[k] = self._masks.get(row.tobytes(), True)
        return ports, mask

    def _mask(self, row: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        """Actions that exist; those of a state with fewer than all are remembered."""
        given = info.get("action_mask")
        if given is None:
            return np.ones(self.shape.actions, bool)
        mask = np.asarray(given, bool)
        if 0 < np.count_nonzero(mask) < len(mask):
            self._masks[row.tobytes()] = mask
        return mask

    def _look(self, lane: int, look: Look) -> None:
        """Begin an episode in a lane."""
        assert self._seen is not None
        observation, info = look
        self._silent = self._silent and "event" not in info
        self._seen.next[lane] = row = self._row(observation)
        self._seen.next_mask[lane] = self._mask(row, info)

    def _close(self, lane: int, cut: bool) -> None:
        """End an episode."""
        self.episodes += 1
        self.cut += cut
        self._ended += 1
        self._returns += float(self._gains[lane])
        self._gains[lane] = 0.0
        self._stacks[lane].clear()

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `training_mean` was last asked, and the sum of their returns."""
        return self._ended, self._returns

    def training_mean(self) -> float:
        """Mean return of the episodes that ended since this was last asked; nan if none did."""
        mean = self._returns / self._ended if self._ended else math.nan
        self._returns, self._ended = 0.0, 0
        return mean

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes in the environment for tests."""
        if self._evaluation_env is None:
            self._evaluation_env = another(self.env)
        seeds = np.random.default_rng([self.settings.seed, stream]).integers(2**31, size=episodes)
        return play(self, self._evaluation_env, seeds.tolist(), limit)

    def enter(self, context: Vector, exits: Sequence[Any], observation: Any) -> Vector:
        """Context that a greedy run enters by a call."""
        values = np.asarray(context, np.float32)
        found = policy_values(self._setting, self.mind.brain, values, *self._ports(exits))
        return tuple(np.asarray(found).tolist())

    def greedy(self, context: Vector, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value."""
        row = self._flatten(observation)
        values = np.asarray(context, np.float32)
        legal = np.ones(self.shape.actions, bool) if mask is None else np.asarray(mask, bool)
        found = policy_action(self._setting, self.mind.brain, row, values, legal)
        return int(found) + self._first_number

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that there are."""
        count = self.shape.actions
        there = range(count) if mask is None else np.flatnonzero(mask).tolist()
        return [self._first_number + i for i in there]

    def header_fields(self) -> dict[str, Any]:
        """What a checkpoint says in words."""
        spaces = f"{self.lanes.observation_space}, {self.lanes.action_space}"
        return {"subject": spaces, "episodes": [self.episodes, self.cut]}

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        return as_arrays(self.mind)

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take over what a checkpoint kept; the next step begins episodes."""
        mind = from_arrays(self.mind, arrays)
        actions = np.asarray(steps_of(kept(self._setting), mind.buffer).action)
        if actions.min() < 0 or actions.max() >= self.shape.actions or int(mind.step) < 0:
            raise ValueError("the run names actions that do not exist")
        self._take_over(mind)
        self.episodes, self.cut = map(int, header["episodes"])
