"""The work of model-based learning: acting, counting, planning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.env.depths import WATCHED, Depths, step_kind
from recurl.env.model_env import ModelEnv
from recurl.env.observation import View, exits_view
from recurl.env.protocol import (
    ENDS_INSIDE,
    NO_CALL,
    SILENT,
    announced_exits,
    begun,
    exit_taken,
    finite_reward,
    known_event,
    not_announced,
    require_single,
    required_event,
    root_as_callee,
    step_result,
    warn_of_depths,
)
from recurl.errors import ProtocolError
from recurl.interrupts import whole
from recurl.learn.greedy_episodes import another, play
from recurl.learn.model_based.contexts import Beliefs, Context
from recurl.learn.model_based.counts import CALL, END, EXIT, LEAVE, STEP, OutcomeCounts
from recurl.learn.model_based.estimate import estimate
from recurl.learn.model_based.planner import Planner
from recurl.learn.turns import begins_turn
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    from recurl.learn.model_based.settings import ModelBasedSettings
    from recurl.model.tables import Floats

_ACTING, _KEPT = 0.999, 0.9995
"""Discounts of plans on top of the learner's own: runs that do not end have a finite worth."""
_COARSE, _FINE = 0.02, 0.001
"""Differences of exit values, as shares, that make no other context, in both kinds of plans."""
_ROUNDS, _SWEEPS, _CONTEXTS, _ASIDE = 40, 12, 100, 2
"""Size of the plan for the policy that is kept."""


class ModelRun(ModelEnv):
    """A model as an environment whose run can be saved."""

    def place(self) -> dict[str, Any]:
        """Where the run stands, and the state of its random numbers, as JSON."""
        walk, random = self._walk, self.np_random.bit_generator.state
        numbers = {name: str(value) for name, value in random["state"].items()}
        return {
            "vertex": walk.vertex,
            "stack": walk.stack,
            "state": numbers,
            "buffer": [random["has_uint32"], random["uinteger"]],
        }

    def resume(self, place: dict[str, Any]) -> None:
        """Go on from a place.

        Raises:
            ValueError: The place does not exist.
        """
        walk, t = self._walk, self.model.tables
        vertex, stack = int(place["vertex"]), [int(box) for box in place["stack"]]
        if not (0 <= vertex < t.n_vertices and all(0 <= box < t.n_boxes for box in stack)):
            raise ValueError("the run stands where there is nothing")
        around = [t.start_component, *t.box_component[stack].tolist()]
        if not t.states[vertex] or t.vertex_component[vertex] != around[-1]:
            raise ValueError("the run does not stand in the component that was called")
        if t.box_owner[stack].tolist() != around[:-1]:
            raise ValueError("the stack does not hold calls")
        numbers = {name: int(value) for name, value in place["state"].items()}
        more, rest = place["buffer"]
        random = {"bit_generator": "PCG64", "state": numbers, "has_uint32": more, "uinteger": rest}
        self.np_random.bit_generator.state = random
        walk.random, walk.vertex, walk.ended = self.np_random, vertex, False
        walk.stack[:] = stack
        self._begin_return(len(stack))


class ModelBasedEngine:
    """A learner's work on a model or an environment: both are seen through the protocol alone.

    Args:
        subject: The model or environment; actions are `Discrete`.
        settings: The settings of the learner.
        evaluation_env: A second environment for tests; made like the first if it is None.
    """

    flat = False

    def __init__(
        self,
        subject: RMDP | gym.Env[Any, Any],
        settings: ModelBasedSettings,
        evaluation_env: gym.Env[Any, Any] | None = None,
    ) -> None:
        self.model = subject if isinstance(subject, RMDP) else None
        self.model_run = ModelRun(subject) if isinstance(subject, RMDP) else None
        self.env: gym.Env[Any, Any] = self.model_run or subject  # type: ignore[assignment]
        if isinstance(self.env, gym.vector.VectorEnv):
            raise ProtocolError("counts are taken in one environment, not in a vector environment")
        if not isinstance(self.env.action_space, spaces.Discrete):
            found = self.env.action_space
            raise ProtocolError(f"model-based learning needs Discrete actions, not {found}")
        self.settings, self.evaluation_env = settings, evaluation_env
        self.view: View | None = exits_view(self.env)
        as_callee = root_as_callee(self.env)
        self._own_root = settings.own_root and not as_callee
        self._depths = None if as_callee else Depths()
        self.counts = OutcomeCounts(self.env.observation_space, self.env.action_space)
        beliefs = self._beliefs(_ACTING, settings.prior, optimistic=True, same=_COARSE)
        self.planner = Planner(beliefs, most=settings.contexts, aside=1)
        self.steps = self.episodes = self.cut = self.next_plan = self.plans = 0
        self.rewards = np.array([np.inf, -np.inf, -np.inf])
        """Least and greatest reward of a step, and greatest return of an episode."""
        self.tally = 0, 0.0
        self._state: int | None = None
        self._stack: list[tuple[int, Context]] = []
        # What the latest call through each box announced.
        self._announced: dict[int, Sequence[Any]] = {}
        self._context = Context(0, [])
        self._length, self._return, self._silent = 0, 0.0, False
        self._read_event: Callable[[dict[str, Any], bool], str | None] = known_event
        self._kept: tuple[int, Planner] | None = None

    def _beliefs(self, gamma: float, prior: float, *, optimistic: bool, same: float) -> Beliefs:
        own, boxes = self.settings.gamma, self.settings.box_gamma
        shifts = own == 1
        return Beliefs(own * gamma, prior, optimistic, same=same, shifts=shifts, box_gamma=boxes)

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """Space of an observation."""
        return self.env.observation_space

    @property
    def n_contexts(self) -> int:
        """Contexts of the last plan."""
        return len(self.planner.contexts)

    def begin_tally(self) -> None:
        """Count episodes and returns from here."""
        self.tally = 0, 0.0

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            ProtocolError: The environment does not keep the recursive protocol.
        """
        if self.model is None and begins_turn(self.env, self):
            self._state = None
        try:
            with nullcontext() if self.model is None else whole():
                for _ in range(steps):
                    self._step()
        except BaseException as error:
            # A run in a model is stopped after these steps. Where an environment stands is not
            # known: the next step begins an episode.
            if self.model is None or not isinstance(error, KeyboardInterrupt):
                self._state = None
            if isinstance(error, ProtocolError):
                raise ProtocolError(f"step {self.steps}: {error}") from None
            raise
        if self._silent and not self.counts.boxes:
            warnings.warn(SILENT, stacklevel=2)
        self._silent = False
        if self._depths is not None and self.steps >= WATCHED:
            keys = list(self.counts.states)
            depths, self._depths = self._depths, None
            warn_of_depths(depths, self._own_root, lambda state: str(keys[state]))

    def _step(self) -> None:
        """Act as it seems best, and learn from what happens."""
        part = whole if self.model is None else nullcontext
        if self._state is None:
            seed = None if self._has_begun else self.settings.seed
            look = begun(self.env, seed)
            with part():
                self._begin(*look)
        with part():
            pair = self._choose()
        result = step_result(self.env.step(self.counts.pair_action[pair]))
        with part():
            self._learn(pair, *result)

    @property
    def _has_begun(self) -> bool:
        return self.steps > 0 or self.episodes > 0

    def _begin(self, observation: Any, info: dict[str, Any]) -> None:
        self._read_event = required_event if "event" in info else known_event
        if not self._has_begun:
            self._silent = "event" not in info
        state = self.counts.visit(observation, info.get("action_mask"), self._own_root)
        self.counts.begin(state)
        if not self.planner.contexts:
            self.planner.begin(state)
        self._stack.clear()
        self._enter(self.planner.root)
        self._state, self._length, self._return = state, 0, 0.0

    def _enter(self, context: Context) -> None:
        self._context, context.visited = context, True

    def _choose(self) -> int:
        """The pair to try, and a correction of what the state is worth; a plan if it is time."""
        if self.steps >= self.next_plan:
            self._plan()
        context, state = self._context, self._state
        assert state is not None
        pair, context.values[state] = self.planner.beliefs.choose(self.counts, state, context)
        return pair

    def _learn(
        self,
        pair: int,
        observation: Any,
        gain: Any,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Count what a step did, and follow it."""
        reward = finite_reward(gain)
        event, depth = self._read_event(info, terminated), len(self._stack)
        if terminated:
            if self._stack and self.settings.box_gamma < 1:
                raise ProtocolError(ENDS_INSIDE)
            self.counts.add(pair, END if self._stack else LEAVE, 0, -1, reward)
        else:
            self._follow(pair, reward, event, observation, info)
        if self._depths is not None:
            place = self.counts.pair_state[pair], self.counts.pair_action[pair]
            self._depths.note(*place, depth, reward, step_kind(event, terminated))
        self.steps += 1
        self._length += 1
        self._return += reward
        if not self.rewards[0] <= reward <= self.rewards[1]:
            self.rewards[:2] = min(self.rewards[0], reward), max(self.rewards[1], reward)
        if terminated:
            self.rewards[2] = max(self.rewards[2], self._return)
        if terminated or truncated or self._length == self.settings.episode_limit:
            self._finish(cut=not terminated)

    def _follow(
        self, pair: int, reward: float, event: str | None, observation: Any, info: dict[str, Any]
    ) -> None:
        """Count a step that did not end the run, and follow it."""
        counts = self.counts
        exits = announced_exits(info, self.view) if event == "call" else ()
        require_single(self.settings.box_gamma, len(exits))
        exit = self._exit_taken(info, observation) if event == "return" else -1
        after = [counts.state(seen, self._at_root()) for seen in exits]
        at_root = event != "call" and self._at_root(returned=event == "return")
        state = self._state = counts.visit(observation, info.get("action_mask"), at_root)
        if event == "call":
            box = counts.find_box(after, state)
            self._announced[box] = exits
            counts.add(pair, CALL, state, box, reward)
            self._stack.append((box, self._context))
            self._enter(self.planner.enter(self._context, box, counts.after[box], state))
        elif event == "return":
            _, self._context = self._stack.pop()
            counts.add(pair, EXIT, exit, -1, reward)
        else:
            counts.add(pair, STEP, state, -1, reward)

    def _at_root(self, returned: bool = False) -> bool:
        """Whether states of the root are those of the outermost call, and that runs now.

        Args:
            returned: Ask what runs after the latest call has returned.
        """
        return self._own_root and len(self._stack) == returned

    def _exit_taken(self, info: dict[str, Any], observation: Any) -> int:
        """The exit by which the latest call returned."""
        if not self._stack:
            raise ProtocolError(NO_CALL)
        box, _ = self._stack[-1]
        after = self.counts.after[box]
        exit = exit_taken(info, len(after))
        if self.counts.state(observation, self._at_root(returned=True)) != after[exit]:
            raise not_announced(exit, self._announced[box][exit], observation)
        return exit

    def _finish(self, *, cut: bool) -> None:
        self.episodes += 1
        self.cut += cut
        self.tally = self.tally[0] + 1, self.tally[1] + self._return
        self._state = None

    def _plan(self) -> None:
        """Plan with what the counts show now; pending calls are in contexts of the new plan."""
        s = self.settings
        self.planner.beliefs.earnings = self._earnings()
        random = np.random.default_rng([s.seed, self.plans])
        self.planner.beliefs.estimate = estimate(self.counts, s.prior, random)
        self.planner.plan(self.counts, 1, s.sweeps)
        self.plans += 1
        self.next_plan = self.steps + max(s.plan_every, int(s.plan_share * self.steps))
        self._return_to([box for box, _ in self._stack])

    def _return_to(self, boxes: Sequence[int]) -> None:
        """The contexts of pending calls."""
        context, counts = self.planner.root, self.counts
        self._stack.clear()
        for box in boxes:
            self._stack.append((box, context))
            context = self.planner.enter(context, box, counts.after[box], counts.entries[box])
        self._enter(context)

    def _earnings(self) -> float:
        """The most that a run has earned plus the greatest reward of a step.

        While nothing was earned, 1 or what a step costs.
        """
        least, most, best = (float(reward) for reward in self.rewards)
        if most > 0:
            return most + max(most, best)
        if not least < 0:
            return 1.0
        return -most if most < 0 else -least

    @property
    def kept(self) -> Planner:
        """The plan without hope, for the policy that is kept."""
        if self._kept is None or self._kept[0] != self.steps:
            self._kept = self.steps, self._plan_to_keep()
        return self._kept[1]

    def _plan_to_keep(self) -> Planner:
        beliefs = self._beliefs(_KEPT, 0.0, optimistic=False, same=_FINE)
        beliefs.estimate = estimate(self.counts, self.settings.prior)
        if np.isfinite(self.rewards[:2]).all():
            beliefs.earnings = max(float(np.abs(self.rewards[:2]).max()), 1e-9)
        planner = Planner(beliefs, most=_CONTEXTS, aside=_ASIDE)
        if not self.counts.starts:
            planner.begin(0)
            return planner
        planner.begin(next(iter(self.counts.starts)))
        planner.plan(self.counts, _ROUNDS, _SWEEPS, 1e-4 * beliefs.earnings)
        return planner

    @property
    def start(self) -> Context:
        """Context in which an episode of the kept policy begins."""
        return self.kept.root

    def knows(self, context: object) -> bool:
        """Whether this is a context of a prediction."""
        return isinstance(context, Context)

    def enter(self, context: Context, exits: Sequence[Any], observation: Any) -> Context:
        """Context that the kept policy enters by a call."""
        counts, at_root = self.counts, context.state in self.counts.root_states
        states = [counts.find(seen, at_root) for seen in exits]
        box, entry = counts.boxes.get(tuple(states)), counts.find(observation)
        found = context.children.get(box) if box is not None else None
        return found or self.kept.beliefs.enter(context, states, entry)

    def greedy(self, context: Context, observation: Any, mask: np.ndarray | None) -> int:
        """Action of the kept policy; the first that there is where nothing is known."""
        at_root = context.state in self.counts.root_states
        state = self.counts.find(observation, at_root)
        if state < 0 or not self.counts.pairs_of[state]:
            return self.legal(observation, mask)[0]
        return self.kept_action(context, state)

    def kept_action(self, context: Context, state: int) -> int:
        """Action of the kept policy at a state: the best of those that were tried."""
        counts, beliefs = self.counts, self.kept.beliefs
        pairs = counts.pairs_of[state]
        tried = [pair for pair in pairs if counts.tried[pair]] or pairs
        return counts.pair_action[max(tried, key=lambda p: beliefs.pair(counts, p, context))]

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that there are."""
        first = self.counts.first_number
        if mask is not None:
            return [first + int(action) for action in np.flatnonzero(mask)]
        return list(range(first, first + self.counts.width))

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of episodes of the kept policy."""
        if self.evaluation_env is None:
            self.evaluation_env = another(self.env) if self.model is None else ModelEnv(self.model)
        seeds = np.random.default_rng([self.settings.seed, stream]).integers(2**31, size=episodes)
        s = self.settings
        return play(self, self.evaluation_env, seeds.tolist(), limit, s.gamma, s.box_gamma)

    def header_fields(self) -> dict[str, Any]:
        """The text part of a checkpoint."""
        from recurl.learn.model_based.checkpoint import header_of

        return header_of(self)

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        from recurl.learn.model_based.checkpoint import arrays_of

        return arrays_of(self)

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made; in an environment, to a new episode.

        Raises:
            ValueError: The numbers do not make a run.
        """
        from recurl.learn.model_based.checkpoint import restore

        restore(self, header, arrays)
