"""A deep learner's work on a model: the run on the device, and the programs that move it on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from recurl.compilation import compiled_aside
from recurl.errors import LimitError
from recurl.learn.deep.encoding import vertex_rows
from recurl.learn.deep.loop import Program, Run, enter, kept, new_run
from recurl.learn.deep.network import Shape
from recurl.learn.deep.replay import steps_of
from recurl.learn.deep.rule import Brain, health, predict
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.stretch import advance, trial_key
from recurl.learn.deep.trees import as_arrays, from_arrays
from recurl.learn.deep.trial import Tested, trial
from recurl.learn.deep.world import World, static_of, world_of
from recurl.model.tables import CALLS

if TYPE_CHECKING:
    from recurl.learn.deep.encoding import Rows
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats

MOST_VERTICES = 1 << 24
"""Whole numbers up to this are exact in the replay buffer."""

Vector = tuple[float, ...]
"""A context: what each exit is worth, relative to the worst."""


class DeepModelEngine:
    """A deep learner's work on a model."""

    _compiled = False

    def __init__(self, model: RMDP, settings: DeepSettings, flat: bool) -> None:
        if model.tables.n_vertices > MOST_VERTICES:
            raise LimitError(f"a network learns in models of up to {MOST_VERTICES:,} vertices")
        self.model, self.settings, self.flat = model, settings, flat
        rows = vertex_rows(model, settings.observation)
        static = static_of(model.tables, flat)
        shape = Shape(rows.shape[1], static.exits, static.actions)
        self.program = Program(settings.plan, static, shape)
        self.world = world_of(model.tables, rows)
        self.run: Run = new_run(self.program, self.world, jnp.uint32(settings.seed))
        self._test_key = jax.random.key(settings.seed)
        # What the program of a stretch found in the test that was due at its end.
        self._tested: dict[tuple[int, int, int], Tested] = {}

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.run.step)

    @property
    def episodes(self) -> int:
        """Episodes ended so far, those cut included."""
        return int(self.run.tally.ended)

    @property
    def cut(self) -> int:
        """Episodes that met a limit."""
        return int(self.run.tally.cut)

    @property
    def overflowed(self) -> int:
        """Episodes that were cut because too many calls were pending."""
        return int(self.run.tally.overflowed)

    @property
    def loss(self) -> float:
        """Loss of the latest update."""
        return float(self.run.brain.loss)

    @property
    def n_contexts(self) -> int:
        """A network keeps no contexts."""
        return 0

    @property
    def start(self) -> Vector:
        """Context in which an episode begins."""
        return (0.0,) * self.program.static.exits

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            LimitError: The loss is not finite; the run stays where it was before.
        """
        work = partial(self._advanced, steps)
        # The first time compiles: an interrupt need not wait for that.
        run, tested, loss = work() if self._compiled else compiled_aside(work)
        self._compiled = True
        check_loss(loss, int(run.step), self.steps, self.settings)
        s, self.run = self.settings, run
        due = s.evaluate_every and self.steps % s.evaluate_every == 0
        about = (s.evaluate_episodes, s.evaluate_limit, 1 + self.steps)
        self._tested = {about: tested} if due else {}

    def _advanced(self, steps: int) -> tuple[Run, Tested, float]:
        """The run after so many steps, the test that was due then, and the loss."""
        run, tested = advance(self.program, self.world, self.run, jnp.int32(steps), self._test_key)
        return run, tested, float(health(run.brain))

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `training_mean` was last asked, and the sum of their returns."""
        return int(self.run.tally.recent), float(self.run.tally.returns)

    def training_mean(self) -> float:
        """Mean return of the episodes that ended since this was last asked; nan if none did."""
        ended, total = self.tally
        mean = total / ended if ended else math.nan
        none = self.run.tally._replace(recent=jnp.int32(0), returns=jnp.float32(0))
        self.run = self.run._replace(tally=none)
        return mean

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes; the run and its random numbers stay."""
        found = self._tested.get((episodes, limit, stream))
        if found is None:
            key = trial_key(self._test_key, jnp.int32(stream))
            brain = self.run.brain
            found = trial(self.program, self.world, brain, key, episodes, jnp.int32(limit))
        returns, lengths, cut = map(np.asarray, found)
        return returns.astype(np.float64), lengths, cut

    def enter(self, context: Vector, exits: Sequence[Any], observation: Any) -> Vector:
        """Context that a greedy run enters by a call."""
        box = int(self.model.tables.vertex_box[int(exits[0])])
        return tuple(self.entered(np.asarray(context, np.float32), box).tolist())

    def entered(self, values: Rows, box: int) -> Rows:
        """Exit values with which a greedy run enters a box."""
        if self.flat:
            return values
        return np.asarray(_entered(self.program, self.world, self.run.brain, values, box))

    def greedy(self, context: Vector, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value at a vertex."""
        vertices = np.array([int(observation)])
        values = np.asarray(context, np.float32)
        q = self.q_values(vertices, values)[0]
        return int(q[: len(self.legal(observation, mask))].argmax())

    def q_values(self, vertices: np.ndarray, values: Rows) -> Rows:
        """Q-values of vertices where exits are worth so much, by the weights of the policy."""
        found = _q_values(self.program, self.world, self.run.brain, vertices, values)
        return np.asarray(found)

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that a vertex has."""
        start, vertex = self.model.tables.action_start, int(observation)
        return list(range(int(start[vertex + 1] - start[vertex])))

    def header_fields(self) -> dict[str, Any]:
        """What a checkpoint says in words."""
        return {"subject": self.model.fingerprint, "name": self.model.name}

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        return as_arrays(self.run)

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made.

        Raises:
            ValueError: The numbers do not make a run of this model.
        """
        run = from_arrays(self.run, arrays)
        self._check(run)
        self.run = run

    def _check(self, run: Run) -> None:
        t, height = self.model.tables, int(run.place.height)
        kind = kept(self.program.plan, self.program.static)
        kept_steps = steps_of(kind, run.buffer)
        vertices = np.concatenate([kept_steps.here, kept_steps.there, [run.place.vertex]])
        if vertices.min() < 0 or vertices.max() >= t.n_vertices:
            raise ValueError("the run names vertices that do not exist")
        if not 0 <= height <= self.settings.stack_limit or int(run.step) < 0:
            raise ValueError("the run stands where there is nothing")
        boxes = np.asarray(run.place.boxes)
        if boxes.min() < 0 or boxes.max() >= max(1, t.n_boxes):
            raise ValueError("the stack holds boxes that do not exist")
        actions = np.asarray(kept_steps.action)
        if actions.min() < 0 or actions.max() >= t.max_actions:
            raise ValueError("the run names actions that do not exist")
        if kind.ports:
            called = np.asarray(kept_steps.ports)[np.asarray(kept_steps.move) == CALLS]
            if called.min(initial=0) < 0 or called.max(initial=0) >= max(1, t.n_boxes):
                raise ValueError("the run calls boxes that do not exist")


def check_loss(loss: float, step: int, good: int, settings: DeepSettings) -> None:
    """Complain of a loss that is not finite."""
    if not math.isfinite(loss):
        raise LimitError(
            f"the loss is {loss} at step {step}: lower learning_rate (now "
            f"{settings.learning_rate}), or give reward_scale and value_scale if rewards are "
            f"large. What was learned up to step {good} is kept"
        )


@partial(jax.jit, static_argnums=0)
def _entered(
    program: Program, world: World, brain: Brain, values: jax.Array, box: jax.Array
) -> jax.Array:
    return enter(program, world, (brain, brain.settled), values, box)[0]


@partial(jax.jit, static_argnums=0)
def _q_values(
    program: Program, world: World, brain: Brain, vertices: jax.Array, values: jax.Array
) -> jax.Array:
    plan, _, shape = program
    same = jnp.broadcast_to(values, (len(vertices), shape.exits))
    return predict(plan, brain, brain.settled, world.features[vertices], same)
