"""Predictions: a learner's greedy action at an observation, and the call stack to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.env.observation import View
from recurl.env.protocol import NOT_OBSERVATIONS, check_form, not_in_space
from recurl.errors import ProtocolError
from recurl.learn.event_reader import UNSEEN, EventReader
from recurl.learn.greedy_episodes import CallStack

NO_STATE = (
    "info['event'] is {!r}, but no state was given, so that the calls before are lost: hand on the "
    "state, as in action, state = learner.predict(observation, state, info=info); where an episode "
    "begins, give episode_start=True"
)
"""The error of a prediction in the midst of a run that gets no call stack."""

Contexts = tuple[Any, ...]
"""Contexts of the pending calls and, last, of the call that runs."""


class Position(NamedTuple):
    """Where a run stands whose calls are read off observations.

    Attributes:
        contexts: The call stack.
        before: The vertex and the action that was taken there.
    """

    contexts: Contexts
    before: tuple[int, int]


class Predictor:
    """Predicts for a learner: one observation, or a batch of them, one per environment.

    Args:
        learner: The learner.
    """

    def __init__(self, learner: Any) -> None:
        self._learner, self._engine = learner, learner.engine
        self._view: View | None = None if learner.model is not None else learner.engine.view
        self._random = np.random.default_rng([learner.settings.seed, 1])

    @cached_property
    def space(self) -> spaces.Space[Any]:
        """Space of a single observation."""
        model = self._learner.model
        found: spaces.Space[Any] = (
            self._engine.observation_space
            if model is None
            else spaces.Discrete(model.tables.n_vertices)
        )
        return found

    @cached_property
    def _reader(self) -> EventReader:
        return EventReader(self._engine.env if self._learner.model is None else self._learner.model)

    def is_batch(self, observation: Any) -> bool:
        """Whether there is one observation per environment."""
        space, seen = self.space, observation
        try:
            while isinstance(space, spaces.Dict | spaces.Tuple):
                key: Any = next(iter(space.spaces)) if isinstance(space, spaces.Dict) else 0
                space, seen = space[key], seen[key]
            return np.ndim(seen) == len(space.shape or ()) + 1
        except NOT_OBSERVATIONS:
            raise not_in_space(observation, self.space) from None

    def many(
        self,
        observations: Any,
        states: Sequence[Any] | None,
        starts: Any,
        deterministic: bool,
        infos: Sequence[dict[str, Any]] | None,
    ) -> tuple[np.ndarray, tuple[Contexts | Position, ...]]:
        """An action and a state for each environment."""
        lanes = self._lanes(observations)
        count = len(lanes)
        fresh = np.asarray(False if starts is None else starts, bool)
        try:
            old = [None] * count if states is None else list(states)
            known = [None] * count if infos is None else list(infos)
        except TypeError:
            old = known = []
        if not (len(old) == len(known) == count and fresh.shape in ((), (count,))):
            raise ValueError(
                f"{count} observations need as many states and infos, and one or as many "
                "episode_start"
            )
        fresh = np.broadcast_to(fresh, count)
        found = [
            self.one(lanes[i], old[i], bool(fresh[i]), deterministic, known[i])
            for i in range(count)
        ]
        return np.array([action for action, _ in found]), tuple(state for _, state in found)

    def _lanes(self, observations: Any) -> list[Any]:
        if isinstance(self.space, spaces.Discrete):
            return np.asarray(observations).tolist()  # type: ignore[no-any-return]
        first: Any = observations
        while isinstance(first, dict | tuple):
            first = next(iter(first.values())) if isinstance(first, dict) else first[0]
        batch = gym.vector.utils.batch_space(self.space, len(first))
        return list(gym.vector.utils.iterate(batch, observations))

    def one(
        self,
        observation: Any,
        state: Any,
        starts: bool | None,
        deterministic: bool,
        info: dict[str, Any] | None,
    ) -> tuple[int, Contexts | Position]:
        """An action and a state."""
        check_form(observation, self.space)
        if not isinstance(info, dict | None):
            raise ProtocolError(f"info must be the environment's dictionary, not {info!r}")
        old = None if starts else self._known(state)
        before = old.before if isinstance(old, Position) else None
        vertex = -1
        if info is None and not self._learner.flat:
            if old is not None and before is None:
                raise ProtocolError(UNSEEN)
            vertex = self._reader.vertex(observation)
            info = self._reader.info(vertex, before)
        info = info or {}
        if self._learner.model is not None:
            self._demand_actions(int(observation))
        stack = CallStack(self._engine, old.contexts if isinstance(old, Position) else old or ())
        if old is not None:
            stack.follow(observation, info, self._view)
        elif not (starts or self._learner.flat) and info.get("event") is not None:
            raise ProtocolError(NO_STATE.format(info["event"]))
        action = self._choose(stack.context, observation, info.get("action_mask"), deterministic)
        contexts = tuple(stack.contexts)
        return action, contexts if vertex < 0 else Position(contexts, (vertex, action))

    def _known(self, state: Any) -> Any:
        """A state that this learner may have returned."""
        contexts = state.contexts if isinstance(state, Position) else state
        good = isinstance(contexts, tuple | list) and len(contexts) > 0
        if state is None or (good and all(map(self._engine.knows, contexts))):
            return state
        raise ProtocolError(
            f"the state must be what the last prediction of this learner returned, or None where "
            f"an episode begins, not {repr(state)[:100]}"
        )

    def _demand_actions(self, vertex: int) -> None:
        model = self._learner.model
        if model is not None and not model.tables.states[vertex]:
            raise ProtocolError(f"{model.vertex_name(vertex)} has no actions to choose among")

    def _choose(self, context: Any, observation: Any, mask: Any, deterministic: bool) -> int:
        rate = self._learner.settings.exploration.without_budget
        if not deterministic and self._random.random() < rate(self._learner.steps):
            legal = self._engine.legal(observation, mask)
            return int(legal[int(self._random.integers(len(legal)))])
        return int(self._engine.greedy(context, observation, mask))
