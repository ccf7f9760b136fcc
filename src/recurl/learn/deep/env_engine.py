"""A deep learner's work on an environment, or on several side by side.

The environment steps here; everything that follows a step is one compiled program.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from recurl.env.depths import WATCHED, Depths, shown, step_kind
from recurl.env.observation import View as ExitsView
from recurl.env.observation import exits_view
from recurl.env.protocol import (
    NO_CALL,
    NOT_OBSERVATIONS,
    SILENT,
    Counterfactual,
    allowed_actions,
    announced_exits,
    exit_taken,
    finite_observation,
    fits,
    known_event,
    most_counterfactuals,
    not_announced,
    not_in_space,
    required_event,
    root_as_callee,
    warn_of_depths,
)
from recurl.errors import ProtocolError
from recurl.interrupts import requested
from recurl.learn.deep.encoding import (
    known_exits,
    marked_shape,
    observation_encoder,
    with_mark,
)
from recurl.learn.deep.engine import (
    DeepEngine,
    Vector,
    as_arrays,
    check_actions,
    check_finite,
)
from recurl.learn.deep.lanes import Look, Moment, in_lane, lanes_of, single_reward
from recurl.learn.deep.loop import (
    DeepAgent,
    Kept,
    LoopProgram,
    LoopStep,
    at_start,
    choose,
    enter,
    learn_from,
    new_agent,
    step_draws,
)
from recurl.learn.deep.network import NetworkShape
from recurl.learn.deep.replay import (
    Part,
    ReplayRecord,
    cut,
    rows_of,
    steps_of,
    width,
)
from recurl.learn.deep.rule import LearnedNetworks, greedy, health, predict
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.greedy_episodes import another, play_together
from recurl.learn.turns import begins_turn
from recurl.model.tables import CALLS, EXITS, STEP

if TYPE_CHECKING:
    from recurl.model.tables import Floats


class Seen(NamedTuple):
    """Observations, numbers and masks of a step, a row per lane; the first part as in `LoopStep`.

    Attributes:
        next: What shows the state from which the lane goes on: another episode's, if one began.
        next_mask: Actions that exist there.
    """

    here: Any
    there: Any
    ports: Any
    next: Any
    values: Any
    action: Any
    reward: Any
    move: Any
    worth: Any
    exit: Any
    mask: Any
    popped: Any
    ports_mask: Any
    real: Any
    ends: Any
    next_mask: Any


class _MoreExitsError(Exception):
    """A call has more exits than the network; what goes on is to begin again with more."""

    def __init__(self, exits: int) -> None:
        super().__init__(exits)
        self.exits = exits


SIDE_BY_SIDE = 16
"""Episodes of a test that are played together, in environments of their own."""

SHOWN = 4
"""How many fields of `Seen` show something."""

_TYPES = {
    "action": jnp.int32, "move": jnp.uint8, "exit": jnp.int32, "mask": jnp.bool_,
    "ports_mask": jnp.bool_, "real": jnp.bool_, "ends": jnp.bool_, "next_mask": jnp.bool_,
}  # fmt: skip

Sheets = tuple[Any, Any]
"""A step of all lanes as two tables: what is shown, and other numbers."""


def _shapes(shape: NetworkShape) -> tuple[list[Part], list[Part]]:
    features, exits, actions = shape.features, shape.exits, shape.actions
    values: Part = (exits,)
    masks: Part = (actions,)
    shown: list[Part] = [(features,), (features,), (exits, features), (features,)]
    numbers = [values, (), (), (), (), (), masks, values, (exits, actions), (), (), masks]
    return shown, numbers


def blank(shape: NetworkShape, lanes: int, dtype: str) -> tuple[Sheets, Seen]:
    """Empty sheets, and views of their parts to write to.

    Example:
        >>> sheets, seen = blank(NetworkShape((2,), 1, 3), lanes=1, dtype="float32")
        >>> seen.there[0] = 5, 7
        >>> np.flatnonzero(sheets[0][0]).tolist(), seen.ports_mask.shape
        ([2, 3], (1, 1, 3))
    """
    shown, numbers = _shapes(shape)
    one = np.zeros((lanes, width(shown)), dtype)
    two = np.zeros((lanes, width(numbers)), np.float32)
    return (one, two), Seen(*cut(one, shown), *cut(two, numbers))


def read(shape: NetworkShape, sheets: Sheets) -> Seen:
    """The parts of sheets on the device, in their own types."""
    shown, numbers = _shapes(shape)
    one, two = map(jnp.asarray, sheets)
    seen = Seen(*cut(one, shown), *cut(two, numbers))
    return seen._replace(**{name: getattr(seen, name).astype(t) for name, t in _TYPES.items()})


class ObservationView:
    """How the network sees an environment: by its observations."""

    encoded = False

    def __init__(self, shape: NetworkShape) -> None:
        self._shape = shape

    def group(self, shown: jax.Array) -> jax.Array:
        """One for all: an environment does not name its components."""
        return jnp.zeros(shown.shape[:-1], jnp.int32)

    def exits(self, shown: jax.Array) -> jax.Array:
        """As many as the widest call has."""
        return jnp.full(shown.shape[:-1], self._shape.exits)

    def observations(self, shown: jax.Array) -> jax.Array:
        """The same."""
        return shown

    def mask(self, shown: jax.Array, mask: jax.Array) -> jax.Array:
        """The mask as the environment gave it."""
        return mask

    def ports(self, shown: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Announced observations."""
        lead = mask.shape[:-2]
        return shown.reshape(*lead, self._shape.exits, self._shape.features), mask


@partial(jax.jit, static_argnums=(0, 2))
def _new_agent(program: LoopProgram, seed: jax.Array, lanes: int) -> DeepAgent:
    return new_agent(program, seed, lanes)


@jax.jit
def _copied(agent: DeepAgent) -> DeepAgent:
    """The same agent; compiled, because a call for each array takes as long as a dozen steps."""
    return jax.tree.map(jnp.copy, agent)


@partial(jax.jit, static_argnums=0)
def first_actions(
    program: LoopProgram,
    agent: DeepAgent,
    observations: jax.Array,
    values: jax.Array,
    mask: jax.Array,
) -> tuple[jax.Array, Kept | None]:
    """Actions with which lanes begin; see `choose`."""
    return choose(program, agent, observations, values, mask, step_draws(agent, len(mask))[:2])


def _over(old: Any, new: jax.Array) -> jax.Array:
    """An array with another written over its beginning in each dimension."""
    array = np.array(new)
    array[tuple(slice(n) for n in old.shape)] = old
    return jnp.asarray(array)


def _as_step(seen: Seen) -> LoopStep:
    return LoopStep(**{name: getattr(seen, name) for name in LoopStep._fields})


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def take_in(
    program: LoopProgram, agent: DeepAgent, sheets: Sheets, others: Sheets | None = None
) -> tuple[DeepAgent, jax.Array]:
    """Store what was seen, and counterfactual steps, learn, and choose the next actions.

    Returns:
        The agent, and what the host needs of each lane: the next action, the loss, and the exit
        values in which it goes on.
    """
    seen = read(program.shape, sheets)
    more = None if others is None else _as_step(read(program.shape, others))
    view = ObservationView(program.shape)
    agent, after = learn_from(program, view, agent, _as_step(seen), more)
    values = jnp.where(seen.ends[:, None], 0.0, after)
    draws = step_draws(agent, len(seen.ends))[:2]
    actions, kept = choose(program, agent, seen.next, values, seen.next_mask, draws)
    agent = agent._replace(kept=kept)
    loss = jnp.broadcast_to(agent.learned.loss, actions.shape)
    return agent, jnp.column_stack([actions.astype(jnp.float32), loss, values])


class DeepEnvEngine(DeepEngine):
    """A deep learner's work on an environment.

    Args:
        env: An environment, or a vector environment, whose actions are `Discrete`.
        settings: The settings of the learner.
        flat: Take calls and returns for ordinary steps.
        evaluation_env: A second environment for tests; made like the first if it is None.

    Attributes:
        copying: Seconds that the copy of the agent took, buffer included, before the latest steps.
    """

    def __init__(
        self, env: Any, settings: DeepSettings, flat: bool, *, evaluation_env: Any = None
    ) -> None:
        self.env, self.settings, self.flat = env, settings, flat
        self.view: ExitsView | None = None if flat else exits_view(env)
        self.evaluation_env = evaluation_env
        self._test_envs: list[Any] = []
        self.lanes = lanes_of(env, settings.episode_limit)
        if not isinstance(self.lanes.action_space, spaces.Discrete):
            raise ProtocolError(f"Q-values need Discrete actions, not {self.lanes.action_space}")
        self._first_number = int(self.lanes.action_space.start)
        observation, self._dtype, self._encode = observation_encoder(self.lanes.observation_space)
        self._own_root = settings.own_root and not (flat or root_as_callee(env))
        if self._own_root:
            observation = marked_shape(observation)
        self._most = most_counterfactuals(env)
        # How wrappers show the observations of counterfactual steps.
        self._shown = exits_view(env) if self._most else None
        known = settings.max_exits or known_exits(env)
        # Whether exits are inferred from calls, and whether any call was seen.
        self._inferred, self._called = known is None and not flat, False
        exits = 0 if flat else known or 1
        self._lay_out(NetworkShape(observation, exits, int(self.lanes.action_space.n)))
        self.agent = _new_agent(self.program, jnp.uint32(settings.seed), self.lanes.count)
        # Masks that leave actions out, by observation: calls announce exits without them.
        self._masks: dict[bytes, np.ndarray] = {}
        self.episodes = self.cut = self.overflowed = 0
        self._ended, self._returns = 0, 0.0
        # What the device knows too, kept here because asking it takes time.
        self._count, self._loss, self._end = 0, 0.0, math.inf
        self._seen: Seen | None = None
        self._silent, self._reports_events = not flat, False
        self._depths = None if flat or root_as_callee(env) else Depths()
        self.copying = 0.0

    def _lay_out(self, shape: NetworkShape) -> None:
        """Lay out programs and stored steps for a network of this shape."""
        self.shape, settings = shape, self.settings
        ports = shape.exits * shape.features if settings.keeps_ports else 0
        exit = int(settings.keeps_exits and shape.exits > 0)
        rows = 1 + self._most
        record = ReplayRecord(
            shape.features, ports, self._dtype, shape.exits, shape.actions, rows, exit
        )
        self.program = LoopProgram(settings.plan, shape, record)

    def _widen(self, exits: int) -> None:
        """Go on with inputs for this many exits; what was learned stays, episodes begin again."""
        old = self.program.record
        self._lay_out(self.shape._replace(exits=exits))
        record = self.program.record
        seed = jnp.uint32(self.settings.seed)
        fresh = _new_agent(self.program, seed, self.lanes.count)
        kept = jax.tree.map(_over, steps_of(old, self.agent.buffer), steps_of(record, fresh.buffer))
        agent = self.agent._replace(buffer=rows_of(record, kept))
        self._take_over(jax.tree.map(_over, agent, fresh))

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

    def advance(self, steps: int, most: int | None = None) -> None:
        """Take steps, learning; with several lanes, up to one less than their number more.

        After Ctrl-C no further step is taken.

        Args:
            steps: How many steps.
            most: How many at most: steps that lanes take beyond them are not learned from, and do
                not count.

        Raises:
            LimitError: The loss is not finite; what is learned stays as it was before.
            ProtocolError: The environment does not keep the recursive protocol.
        """
        if begins_turn(self.env, self):
            self._seen = None
        end = self.steps + steps
        self._end = math.inf if most is None else self.steps + most
        while True:
            try:
                return self._advance(end)
            except _MoreExitsError as found:
                self._infer_exits(found.exits)

    def _infer_exits(self, exits: int) -> None:
        """Make room for a call with more exits than all before, and say so."""
        known = self.shape.exits
        if self._called:
            # More than needed: programs are compiled again each time.
            exits = max(exits, 2 * known)
            warnings.warn(
                f"step {self.steps}: a call has more exits than all before ({known}). The network "
                f"now has inputs for {exits}, and episodes begin again; set max_exits to the most "
                "that a call has, and it begins with them",
                stacklevel=2,
            )
        self._called = True
        self._widen(exits)

    def _advance(self, end: int) -> None:
        began = time.perf_counter()
        good = _copied(self.agent)
        jax.block_until_ready(good)  # type: ignore[no-untyped-call]
        self.copying = time.perf_counter() - began
        try:
            self._take_steps(end)
        except BaseException as error:
            # Where the environment stands is not known: the next step begins episodes. A second
            # Ctrl-C may come when the agent is given away and the next one is not yet taken.
            given_away = any(leaf.is_deleted() for leaf in jax.tree.leaves(self.agent))
            self._take_over(good if given_away else self.agent)
            if isinstance(error, ProtocolError):
                raise ProtocolError(f"step {self.steps}: {error}") from None
            raise
        loss, values, step = float(health(self.agent.learned)), self._values, self.steps
        if not (math.isfinite(loss) and np.isfinite(values).all()):
            self._take_over(good)
        check_finite(loss, values, step, self.steps, self.settings)
        if self._silent:
            self._silent = False
            warnings.warn(SILENT, stacklevel=2)
        if self._depths is not None and self.steps >= WATCHED:
            depths, self._depths = self._depths, None
            dtype = self.program.record.dtype
            warn_of_depths(depths, self._own_root, lambda row: shown(np.frombuffer(row, dtype)))

    def _take_steps(self, end: int) -> None:
        if self._seen is None:
            self._begin()
        while self.steps < end and not requested():
            self._step()
            if not (math.isfinite(self.loss) and np.isfinite(self._values).all()):
                break

    def _take_over(self, agent: DeepAgent) -> None:
        """Go on with another agent, and with new episodes."""
        self.agent, self._seen = agent, None
        self._count, self._loss = int(agent.step), float(agent.learned.loss)

    def _begin(self) -> None:
        """Begin episodes in all lanes."""
        looks = self.lanes.reset(self.settings.seed if self.steps == 0 else None)
        n = self.lanes.count
        self.agent = at_start(self.agent, n)
        self._gains = np.zeros(n)
        # Of each pending call: the caller's exit values, observations after exits, their number.
        self._stacks: list[list[tuple[np.ndarray, np.ndarray, int]]] = [[] for _ in range(n)]
        self._values = np.zeros((n, self.shape.exits), np.float32)
        # Two in turn: what the lanes go on from is read while the next one is written.
        dtype = self.program.record.dtype
        self._sheets = [blank(self.shape, n, dtype), blank(self.shape, n, dtype)]
        self._others = blank(self.shape, n * self._most, dtype) if self._most else None
        # The exit values of the latest call in each lane.
        self._nested: list[np.ndarray | None] = [None] * n
        self._seen = self._sheets[0][1]
        for i, look in enumerate(looks):
            self._look(i, look)
        s, mask = self._seen, self._seen.next_mask.astype(bool)
        found, kept = first_actions(self.program, self.agent, s.next, self._values, mask)
        self._actions, self.agent = np.asarray(found), self.agent._replace(kept=kept)

    def _step(self) -> None:
        """A step in all lanes, and what is learned from it."""
        old = self._seen
        assert old is not None
        self._sheets.reverse()
        sheets, self._seen = self._sheets[0]
        others = None if self._others is None else self._others[0]
        for sheet in (*sheets, *(others or ())):
            sheet[:] = 0
        self._seen.here[:], self._seen.values[:] = old.next, self._values
        self._seen.action[:] = self._actions
        for i, moment in enumerate(self.lanes.step(self._actions + self._first_number)):
            if self.lanes.count == 1:
                self._note(i, moment)
            else:
                in_lane(i, self._note, i, moment)
        for lane in np.flatnonzero(self._seen.real)[self._room :]:
            self._seen.real[lane] = False
        self.agent, told = take_in(self.program, self.agent, sheets, others)
        numbers = np.asarray(told)
        self._count += int(np.count_nonzero(self._seen.real))
        self._actions, self._values = numbers[:, 0].astype(np.int32), numbers[:, 2:]
        self._loss = float(numbers[0, 1])

    @property
    def _room(self) -> int:
        """How many lanes may take a step that counts."""
        return int(min(self.lanes.count, self._end - self._count))

    def _note(self, lane: int, moment: Moment) -> None:
        s = self._seen
        assert s is not None
        s.real[lane] = moment.real
        if moment.real:
            s.reward[lane] = moment.reward
            s.there[lane] = row = self._row(moment.observation, self._ends_at_root(lane, moment))
            s.mask[lane] = self._mask(row, moment.info, over=moment.terminated)
            if self._others is not None:
                self._note_counterfactuals(lane, moment.info.get("counterfactuals", ()))
            depth = len(self._stacks[lane])
            self._note_move(lane, moment)
            if self._depths is not None:
                kind = step_kind(moment.info.get("event"), moment.terminated)
                place = s.here[lane].tobytes(), int(s.action[lane]) + self._first_number
                self._depths.note(*place, depth, moment.reward, kind)
            self._gains[lane] += moment.reward
        if moment.terminated or moment.truncated:
            self._close(lane, cut=not moment.terminated)
        if moment.fresh is not None:
            self._look(lane, moment.fresh)
        else:
            s.next[lane], s.next_mask[lane] = s.there[lane], s.mask[lane]
        s.ends[lane] = moment.terminated or moment.truncated or moment.fresh is not None

    def _ends_at_root(self, lane: int, moment: Moment) -> bool:
        """Whether a step that is not noted yet ends in the outermost call."""
        event = moment.info.get("event")
        called, returned = (isinstance(event, str) and event == x for x in ("call", "return"))
        return not called and len(self._stacks[lane]) == returned

    def _note_move(self, lane: int, moment: Moment) -> None:
        s, stack = self._seen, self._stacks[lane]
        assert s is not None
        read_event = required_event if self._reports_events else known_event
        event = None if self.flat else read_event(moment.info, moment.terminated)
        self._silent = self._silent and event is None
        s.move[lane], s.exit[lane] = EXITS if moment.terminated else STEP, -1
        if event == "call":
            s.move[lane] = CALLS
            exits = announced_exits(moment.info, self.view)
            ports, mask = self._ports(exits, at_root=not stack)
            stack.append((s.values[lane].copy(), ports, len(exits)))
            s.ports[lane], s.ports_mask[lane] = ports, mask
        elif event == "return":
            if not stack:
                raise ProtocolError(NO_CALL)
            values, ports, count = stack.pop()
            exit = exit_taken(moment.info, count)
            if not np.array_equal(ports[exit], s.there[lane]):
                raise not_announced(exit, ports[exit], moment.observation)
            s.move[lane], s.popped[lane] = EXITS, values
            s.worth[lane], s.exit[lane] = s.values[lane, exit], exit

    def _note_counterfactuals(self, lane: int, others: Sequence[Counterfactual]) -> None:
        """Note what the latest action would have done in other states."""
        assert self._seen is not None
        if self._stacks[lane]:
            self._nested[lane] = self._seen.values[lane].copy()
        for i, other in enumerate(others):
            values = self._nested[lane] if other.nested else np.zeros(self.shape.exits)
            if self.flat or values is not None:
                self._note_counterfactual(lane * self._most + i, other, values)

    def _note_counterfactual(self, row: int, other: Counterfactual, values: Any) -> None:
        assert self._others is not None
        s = self._others[1]
        looks: Sequence[Any] = (other.observation, other.next_observation)
        if self._shown is not None:
            looks = self._shown(looks)
        event = None if self.flat else known_event(other.next_info, other.terminated)
        s.here[row] = self._row(looks[0], not other.nested)
        s.there[row] = self._row(looks[1], not other.nested and event is None)
        self._mask(s.here[row], other.info)
        s.mask[row] = self._mask(s.there[row], other.next_info)
        s.action[row] = int(other.action) - self._first_number
        s.reward[row], s.real[row] = single_reward(other.reward), True
        s.move[row], s.exit[row] = EXITS if other.terminated else STEP, -1
        if self.flat:
            return
        s.values[row] = values
        if event == "call":
            exits = announced_exits(other.next_info, self.view)
            s.move[row] = CALLS
            s.ports[row], s.ports_mask[row] = self._ports(exits, at_root=not other.nested)
        elif event == "return":
            exit = exit_taken(other.next_info, self.shape.exits)
            s.move[row], s.worth[row], s.exit[row] = EXITS, values[exit], exit

    def _row(self, observation: Any, at_root: bool) -> np.ndarray:
        """An observation, of the outermost call or of another one, as the network sees it."""
        space = self.observation_space
        try:
            row, good = self._encode(observation), fits(observation, space)
        except NOT_OBSERVATIONS:
            good = False
        if not good:
            raise not_in_space(observation, space)
        finite_observation(row)
        return with_mark(row, self.shape.observation, at_root) if self._own_root else row

    def _ports(self, exits: Sequence[Any], at_root: bool) -> tuple[np.ndarray, np.ndarray]:
        """Observations and actions after each exit, as wide as the network.

        Args:
            exits: The observations.
            at_root: Whether the caller is the outermost call.
        """
        count, most = len(exits), self.shape.exits
        if count > most and self._inferred:
            raise _MoreExitsError(count)
        if count > most:
            raise ProtocolError(f"a call has {count} exits, but the network {most}: set max_exits")
        self._called = True
        ports = np.zeros((most, self.shape.features), self.program.record.dtype)
        mask = np.zeros((most, self.shape.actions), bool)
        for k, observation in enumerate(exits):
            ports[k] = row = self._row(observation, at_root)
            mask[k] = self._masks.get(row.tobytes(), True)
        return ports, mask

    def _mask(self, row: np.ndarray, info: dict[str, Any], *, over: bool = False) -> np.ndarray:
        """Actions that exist; those of a state with fewer than all are remembered.

        Args:
            row: What shows the state.
            info: Its ``info``.
            over: Whether the run has ended: then no action need exist.
        """
        mask = self._marks(None if over else info.get("action_mask"))
        if not mask.all():
            self._masks[row.tobytes()] = mask
        return mask

    def _marks(self, mask: Any) -> np.ndarray:
        """Whether each action exists."""
        marks = np.zeros(self.shape.actions, bool)
        marks[allowed_actions(mask, len(marks))] = True
        return marks

    def _look(self, lane: int, look: Look) -> None:
        """Begin an episode in a lane."""
        assert self._seen is not None
        observation, info = look
        self._reports_events = "event" in info
        self._silent = self._silent and not self._reports_events
        self._seen.next[lane] = row = self._row(observation, at_root=True)
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
        """Episodes ended since `begin_tally` was called, and the sum of their returns."""
        return self._ended, self._returns

    def begin_tally(self) -> None:
        """Count episodes and returns from here."""
        self._returns, self._ended = 0.0, 0

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes in environments for tests."""
        count = min(episodes, SIDE_BY_SIDE)
        if self.evaluation_env is None and len(self._test_envs) < count:
            self._test_envs += [another(self.env) for _ in range(count - len(self._test_envs))]
        envs = self._test_envs[:count] if self.evaluation_env is None else [self.evaluation_env]
        seeds = np.random.default_rng([self.settings.seed, stream]).integers(2**31, size=episodes)
        return play_together(self, envs, seeds.tolist(), limit, self.settings.gamma)

    @property
    def start(self) -> Vector:
        """Context in which an episode begins: exit values, and a 1 if the network sees the root."""
        return (*super().start, 1.0) if self._own_root else super().start

    def enter(self, context: Vector, exits: Sequence[Any], observation: Any) -> Vector:
        """Context that a greedy run enters by a call."""
        try:
            ports = self._ports(exits, self._is_root(context))
        except _MoreExitsError as error:
            self._infer_exits(error.exits)
            ports = self._ports(exits, self._is_root(context))
        values = self._exit_values(context)
        found = policy_values(self.program, self.agent.learned, values, *ports)
        return (*np.asarray(found).tolist(), *((0.0,) if self._own_root else ()))

    def _is_root(self, context: Vector) -> bool:
        return self._own_root and context[-1] == 1.0

    def greedy(self, context: Vector, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value."""
        row = self._row(observation, self._is_root(context))
        values = self._exit_values(context)
        legal = self._marks(mask)
        found = policy_action(self.program, self.agent.learned, row, values, legal)
        return int(found) + self._first_number

    def greedy_together(
        self, contexts: Sequence[Vector], observations: Sequence[Any], masks: Sequence[Any]
    ) -> list[int]:
        """Actions of greatest value in several states."""
        pairs = zip(observations, map(self._is_root, contexts), strict=True)
        rows = np.stack([self._row(*pair) for pair in pairs])
        values = np.stack([self._exit_values(context) for context in contexts])
        legal = np.ones((len(rows), self.shape.actions), bool)
        for i, mask in enumerate(masks):
            legal[i] = True if mask is None else mask
        found = policy_action(self.program, self.agent.learned, rows, values, legal)
        return [self._first_number + number for number in np.asarray(found).tolist()]

    def _exit_values(self, context: Vector) -> np.ndarray:
        """Exit values of a context; those of exits that it is too old to have are 0."""
        values = np.zeros(self.shape.exits, np.float32)
        given = context[: len(context) - self._own_root]
        values[: len(given)] = given
        return values

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that exist."""
        count = self.shape.actions
        there = range(count) if mask is None else np.flatnonzero(mask).tolist()
        return [self._first_number + i for i in there]

    def header_fields(self) -> dict[str, Any]:
        """The part of a checkpoint's header that is about the environment."""
        spaces = f"{self.lanes.observation_space}, {self.lanes.action_space}"
        episodes = [self.episodes, self.cut]
        return {"subject": spaces, "episodes": episodes, "exits": self.shape.exits}

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        return as_arrays(self.agent)

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take over what a checkpoint kept; the next step begins episodes."""
        exits = int(header.get("exits", self.shape.exits))
        if self._inferred and exits > self.shape.exits:
            if exits > max(max(array.shape, default=0) for array in arrays.values()):
                raise ValueError(f"the run names {exits} exits, but holds no array as wide")
            self._called = True
            self._widen(exits)
        before, self.agent = self.agent, self.restored(self.agent, header, arrays)
        try:
            check_actions(self.stored, self.shape.actions)
            if int(self.agent.step) < 0:
                raise ValueError("the run has a negative number of steps")
        except ValueError:
            self.agent = before
            raise
        self._take_over(self.agent)
        self.episodes, self.cut = map(int, header["episodes"])


@partial(jax.jit, static_argnums=0)
def policy_action(
    program: LoopProgram,
    learned: LearnedNetworks,
    observation: jax.Array,
    values: jax.Array,
    mask: jax.Array,
) -> jax.Array:
    """Greedy actions of a state, or of several, by the weights of the policy."""
    plan, shape, _ = program
    return greedy(predict(plan, shape, learned, learned.policy, observation, values), mask)


@partial(jax.jit, static_argnums=0)
def policy_values(
    program: LoopProgram,
    learned: LearnedNetworks,
    values: jax.Array,
    ports: jax.Array,
    mask: jax.Array,
) -> jax.Array:
    """Exit values with which a greedy run enters a call, by the weights of the policy."""
    return enter(program, learned, learned.policy, values, (ports, mask))[0]
