"""A deep learner's work on a model: steps, learning and tests in compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from recurl.compilation import compiled_aside
from recurl.learn.deep.encoding import exit_rows, vertex_rows
from recurl.learn.deep.engine import (
    DeepEngine,
    Tree,
    Vector,
    as_arrays,
    check_actions,
    check_finite,
)
from recurl.learn.deep.loop import (
    DeepAgent,
    LoopProgram,
    LoopStep,
    choose,
    enter,
    learn_from,
    new_agent,
    step_draws,
)
from recurl.learn.deep.network import Codes, NetworkShape, network_named
from recurl.learn.deep.replay import ReplayRecord, choose_rows
from recurl.learn.deep.rule import LearnedNetworks, health, predict
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.simulator import (
    ModelArrays,
    ModelSizes,
    ModelView,
    Place,
    SimulatedOutcome,
    Tested,
    begin,
    codes_of_ports,
    features_of,
    follow,
    greedy_episodes,
    is_over,
    model_arrays,
    model_sizes,
    no_episodes,
    outcome,
    overflows,
    restart,
    top,
)
from recurl.model.tables import CALLS, EXITS, STEP

if TYPE_CHECKING:
    from recurl.learn.deep.encoding import Singles
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats


class Tally(NamedTuple):
    """Counts of episodes in each copy of the model.

    Attributes:
        length: Steps of the running episode.
        gain: Its reward so far.
        ended: Episodes ended, those cut included.
        cut: Episodes cut, at the limit of steps or of the stack.
        overflowed: Episodes cut at the limit of the stack.
        recent: Episodes ended since this was last reported.
        returns: Sum of their returns.
    """

    length: jax.Array
    gain: jax.Array
    ended: jax.Array
    cut: jax.Array
    overflowed: jax.Array
    recent: jax.Array
    returns: jax.Array


class LoopRun(NamedTuple):
    """A run in copies of a model: the agent, where each episode stands, and their counts."""

    agent: DeepAgent
    place: Place
    tally: Tally


class DeepModelEngine(DeepEngine):
    """A deep learner's work on a model."""

    _compiled = False

    def __init__(self, model: RMDP, settings: DeepSettings, flat: bool) -> None:
        self.model, self.settings, self.flat = model, settings, flat
        rows = vertex_rows(model, settings.observation)
        self.sizes = sizes = model_sizes(model.tables, flat)
        known = () if flat else exit_rows(model, settings.observation)
        shape = NetworkShape((rows.shape[-1],), sizes.exits, sizes.actions, known)
        refreshes = bool(settings.keeps_ports and sizes.exits)
        # Vertices and boxes are stored: all else is known of them.
        exit = int(settings.keeps_exits and sizes.exits > 0)
        record = ReplayRecord(1, int(refreshes), "int32", sizes.exits, 0, exit=exit)
        self.program = LoopProgram(settings.plan, shape, record)
        self.model_arrays = model_arrays(model.tables, rows)
        self.run: LoopRun = _new_run(*self._where, jnp.uint32(settings.seed))
        self._test_key = jax.random.key(settings.seed)
        # Results of the test that was due at the end of the last advance.
        self._tested: dict[tuple[int, int, int], Tested] = {}

    @property
    def _where(self) -> tuple[LoopProgram, ModelSizes, ModelArrays]:
        """Arguments that every compiled program takes first."""
        return self.program, self.sizes, self.model_arrays

    @property
    def agent(self) -> DeepAgent:
        """The agent of the run."""
        return self.run.agent

    @agent.setter
    def agent(self, agent: DeepAgent) -> None:
        self.run, self._tested = self.run._replace(agent=agent), {}

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.agent.step)

    @property
    def episodes(self) -> int:
        """Episodes ended so far, those cut included."""
        return int(self.run.tally.ended.sum())

    @property
    def cut(self) -> int:
        """Episodes that met a limit."""
        return int(self.run.tally.cut.sum())

    @property
    def overflowed(self) -> int:
        """Episodes that were cut because too many calls were pending."""
        return int(self.run.tally.overflowed.sum())

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            LimitError: The loss is not finite; the run stays where it was before.
        """
        work = partial(self._advanced, steps)
        # The first time compiles: an interrupt need not wait for that.
        run, tested, loss = work() if self._compiled else compiled_aside(work)
        self._compiled = True
        check_finite(loss, (), int(run.agent.step), self.steps, self.settings)
        s, self.run = self.settings, run
        due = s.evaluate_every and self.steps % s.evaluate_every == 0
        about = (s.evaluate_episodes, s.evaluate_limit, 1 + self.steps)
        self._tested = {about: tested} if due else {}

    def _advanced(self, steps: int) -> tuple[LoopRun, Tested, float]:
        """The run after a number of steps, the test that was due then, and the loss."""
        run, tested = advance(*self._where, self.run, jnp.int32(steps), self._test_key)
        return run, tested, float(health(run.agent.learned))

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `begin_tally` was called, and the sum of their returns."""
        return int(self.run.tally.recent.sum()), float(self.run.tally.returns.sum())

    def begin_tally(self) -> None:
        """Count episodes and returns from here."""
        tally = self.run.tally
        recent, returns = map(jnp.zeros_like, (tally.recent, tally.returns))
        self.run = self.run._replace(tally=tally._replace(recent=recent, returns=returns))

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes; the run and its random numbers stay."""
        found = self._tested.get((episodes, limit, stream))
        if found is None:
            key, learned = key_of_test(self._test_key, jnp.int32(stream)), self.agent.learned
            found = greedy_episodes(*self._where, learned, key, episodes, jnp.int32(limit))
        returns, lengths, cut = map(np.asarray, found)
        return returns.astype(np.float64), lengths, cut

    def enter(self, context: Vector, exits: Sequence[Any], observation: Any) -> Vector:
        """Context that a greedy run enters by a call."""
        box = int(self.model.tables.vertex_box[int(exits[0])])
        return tuple(self.entered(np.asarray(context, np.float32), box).tolist())

    def entered(self, values: Singles, box: int) -> Singles:
        """Exit values with which a greedy run enters a box."""
        if self.flat:
            return values
        return np.asarray(_entered(*self._where, self.agent.learned, values, np.array([box])))

    def greedy(self, context: Vector, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value at a vertex."""
        vertices = np.array([int(observation)])
        values = np.asarray(context, np.float32)
        q = self.q_values(vertices, values)[0]
        return int(q[: len(self.legal(observation, mask))].argmax())

    def q_values(self, vertices: np.ndarray, values: Singles) -> Singles:
        """Q-values of vertices in given exit values, by the weights of the policy."""
        learned = self.agent.learned
        return np.asarray(_q_values(self.program, self.model_arrays, learned, vertices, values))

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that a vertex has."""
        start, vertex = self.model.tables.action_start, int(observation)
        return list(range(int(start[vertex + 1] - start[vertex])))

    def header_fields(self) -> dict[str, Any]:
        """The part of a checkpoint's header that is about the model."""
        return {"subject": self.model.fingerprint, "name": self.model.name}

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        return as_arrays(self.run)

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made.

        Raises:
            ValueError: The numbers do not make a run of this model.
        """
        before, self.run = self.run, self.restored(self.run, header, arrays)
        try:
            self._check()
        except ValueError:
            self.run = before
            raise

    def _check(self) -> None:
        t, place, steps = self.model.tables, self.run.place, self.stored
        vertices = np.concatenate([steps.here[:, 0], steps.there[:, 0], place.vertex])
        if vertices.min() < 0 or vertices.max() >= t.n_vertices:
            raise ValueError("the run names vertices that do not exist")
        heights = np.asarray(place.height)
        if heights.min() < 0 or heights.max() > self.settings.stack_limit or self.steps < 0:
            raise ValueError("the run stands where there is nothing")
        boxes = np.concatenate([np.ravel(place.boxes), np.ravel(steps.ports)])
        if boxes.min() < 0 or boxes.max() >= max(1, t.n_boxes):
            raise ValueError("the run names boxes that do not exist")
        check_actions(steps, t.max_actions)


def key_of_test(key: jax.Array, stream: jax.Array) -> jax.Array:
    """Random key of a test: none of the numbers of training are used."""
    return jax.random.fold_in(key, stream)


@partial(jax.jit, static_argnums=(0, 1))
def _new_run(
    program: LoopProgram, sizes: ModelSizes, arrays: ModelArrays, seed: jax.Array
) -> LoopRun:
    """The beginning of a run."""
    copies, limit = program.plan.copies, program.plan.stack_limit
    draws = jax.random.uniform(jax.random.fold_in(jax.random.key(seed), 2), (copies,))
    place = jax.vmap(lambda draw: begin(sizes, arrays, draw, limit))(draws)
    zero, none = jnp.zeros(copies, jnp.int32), jnp.zeros(copies)
    tally = Tally(zero, none, zero, zero, zero, zero, none)
    return LoopRun(new_agent(program, seed, copies), place, tally)


@partial(jax.jit, static_argnums=(0, 1))
def advance(
    program: LoopProgram,
    sizes: ModelSizes,
    arrays: ModelArrays,
    run: LoopRun,
    steps: jax.Array,
    key: jax.Array,
) -> tuple[LoopRun, Tested]:
    """Take a number of steps, learning, and test if that is due then.

    It ends early after a loss that is not finite.

    Returns:
        The run, and returns, lengths and cuts of the test; zeros if none was due.
    """
    plan, end = program.plan, run.agent.step + steps

    run = _stretch(program, sizes, arrays, run, end)
    if not plan.evaluate_every:
        return run, no_episodes(plan.evaluate_episodes)
    learned, count, limit = run.agent.learned, plan.evaluate_episodes, plan.evaluate_limit
    own_key = key_of_test(key, 1 + run.agent.step)
    tested = jax.lax.cond(
        run.agent.step % plan.evaluate_every == 0,
        lambda: greedy_episodes(program, sizes, arrays, learned, own_key, count, jnp.int32(limit)),
        lambda: no_episodes(count),
    )
    return run, tested


def _stretch(
    program: LoopProgram, sizes: ModelSizes, arrays: ModelArrays, run: LoopRun, end: jax.Array
) -> LoopRun:
    """Steps until their number is reached, or a loss is not finite."""

    def goes_on(state: tuple[LoopRun, Codes | None]) -> jax.Array:
        agent = state[0].agent
        return (agent.step < end) & jnp.isfinite(agent.learned.loss)

    def encoded(run: LoopRun) -> Codes:
        parts = network_named(program.plan.network).parts
        assert parts is not None
        return codes_of_ports(program.plan, parts, sizes, arrays, run.agent.learned.online)

    def one(state: tuple[LoopRun, Codes | None]) -> tuple[LoopRun, Codes | None]:
        run, codes = state
        after = _one_step(program, sizes, arrays, end, run, codes)
        if codes is not None:
            same = run.agent.learned.updates == after.agent.learned.updates
            codes = jax.lax.cond(same, lambda: codes, lambda: encoded(after))
        return after, codes

    codes = encoded(run) if _is_encoded(program, arrays) else None
    return jax.lax.while_loop(goes_on, one, (run, codes))[0]


def _is_encoded(program: LoopProgram, arrays: ModelArrays) -> bool:
    """Whether return ports are encoded once for all steps of a rollout."""
    plan, exits = program.plan, program.shape.exits
    few = len(arrays.kinds) <= plan.copies * plan.rollout
    return few and exits > 0 and network_named(plan.network).parts is not None


def _one_step(
    program: LoopProgram,
    sizes: ModelSizes,
    arrays: ModelArrays,
    end: jax.Array,
    run: LoopRun,
    codes: Codes | None,
) -> LoopRun:
    """One step of each copy of the model, and of learning.

    LoopStep i of a run is a step of copy i modulo their number. A stretch may begin or end between
    copies: all of them draw, and those whose turn is before or after it stay as they are.
    """
    agent, place, view = run.agent, run.place, ModelView(sizes, arrays, codes)
    copies = program.plan.copies
    each = jax.vmap if copies > 1 else _for_one
    first = agent.step - agent.step % copies
    turn = first + jnp.arange(copies)
    real = (turn >= agent.step) & (turn < end)
    now = agent._replace(step=first)
    explores, which, result, start = step_draws(now, copies)
    shown, draws = place.vertex[:, None], jnp.stack([explores, which])
    mask = view.mask(shown, shown)
    action, kept = choose(program, now, view.observations(shown), place.values, mask, draws)
    out = each(partial(outcome, sizes, arrays))(place.vertex, action, result)
    out = out._replace(move=jnp.where(real, out.move, STEP))
    ends, tally = each(partial(_counted, program.plan))(run.tally, place, out)
    ends, tally = ends & real, _rows(real, tally, run.tally)
    step = each(partial(_step, program, arrays))(place, action, out, real, ends)
    agent = agent._replace(kept=_rows(real, kept, agent.kept))
    agent, after = learn_from(program, view, agent, step)
    agent = agent._replace(last=_rows(real, agent.last, run.agent.last))
    there = each(partial(follow, arrays))(place, out, after)
    fresh = each(lambda place, draw: restart(place, arrays, draw))(there, start)
    return LoopRun(agent, _placed(place, there, fresh, real, ends), tally)


def _for_one(work: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.vmap` for a single row; faster than that where stacks are read and written."""

    def done(*given: Any) -> Any:
        result = work(*jax.tree.map(lambda x: x[0], given))
        return jax.tree.map(lambda x: x[None], result)

    return done


def _placed(place: Place, there: Place, fresh: Place, real: jax.Array, ends: jax.Array) -> Place:
    """Where copies stand after a step: those without one stay, and ended episodes begin again.

    The rows of stacks are as `follow` wrote them: choosing among them would copy whole stacks.
    """
    narrow = {
        name: choose_rows(
            real, choose_rows(ends, getattr(fresh, name), moved), getattr(place, name)
        )
        for name, moved in there._asdict().items()
        if name not in ("boxes", "vectors")
    }
    return there._replace(**narrow)


def _rows(which: jax.Array, new: Tree, old: Tree) -> Tree:
    """Rows of one tree where a mask says so, else those of another."""
    return jax.tree.map(partial(choose_rows, which), new, old)


def _step(
    program: LoopProgram,
    arrays: ModelArrays,
    place: Place,
    action: jax.Array,
    out: SimulatedOutcome,
    real: jax.Array,
    ends: jax.Array,
) -> LoopStep:
    """A step of the model as that of a lane: a flat learner knows ordinary steps and the end."""
    exits, over = program.shape.exits, is_over(place, out)
    _, box, popped = top(place, out)
    there = jnp.where(out.move == EXITS, arrays.box_return[box] + out.landing, out.landing)
    there = jnp.where(over, place.vertex, there)
    move = out.move if exits else jnp.where(over, EXITS, STEP)
    worth = place.values[jnp.minimum(out.landing, exits - 1)] if exits else jnp.float32(0)
    none = jnp.zeros(0, bool)
    return LoopStep(
        here=place.vertex[None],
        there=there[None],
        ports=jnp.where(out.move == CALLS, out.box, 0)[None],
        values=place.values,
        action=action,
        reward=out.reward,
        move=move,
        worth=worth,
        exit=jnp.where((out.move == EXITS) & ~over, out.landing, -1),
        mask=none,
        popped=popped,
        ports_mask=none,
        real=real,
        ends=ends,
    )


def _counted(
    plan: DeepSettings, tally: Tally, place: Place, out: SimulatedOutcome
) -> tuple[jax.Array, Tally]:
    """Whether the episode ends with a step, and the counts after it."""
    length, gain = tally.length + 1, tally.gain + out.reward
    over, full = is_over(place, out), overflows(place, out)
    long = jnp.bool_(False) if plan.episode_limit is None else length >= plan.episode_limit
    ends = over | full | long
    one = ends.astype(jnp.int32)
    return ends, Tally(
        jnp.where(ends, 0, length),
        jnp.where(ends, 0.0, gain),
        tally.ended + one,
        tally.cut + (ends & ~over),
        tally.overflowed + full,
        tally.recent + one,
        tally.returns + jnp.where(ends, gain, 0.0),
    )


@partial(jax.jit, static_argnums=(0, 1))
def _entered(
    program: LoopProgram,
    sizes: ModelSizes,
    arrays: ModelArrays,
    learned: LearnedNetworks,
    values: jax.Array,
    box: jax.Array,
) -> jax.Array:
    ports = ModelView(sizes, arrays).ports(box, box)
    return enter(program, learned, learned.policy, values, ports)[0]


@partial(jax.jit, static_argnums=0)
def _q_values(
    program: LoopProgram,
    arrays: ModelArrays,
    learned: LearnedNetworks,
    vertices: jax.Array,
    values: jax.Array,
) -> jax.Array:
    plan, shape, _ = program
    same = jnp.broadcast_to(values, (len(vertices), shape.exits))
    return predict(plan, shape, learned, learned.policy, features_of(arrays, vertices), same)
