"""Learning in a model: the table, the run, and the kernels that work on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.compilation import compiled_aside
from recurl.errors import LimitError
from recurl.learn import kernel
from recurl.learn.checkpoint import expect
from recurl.learn.greedy_kernel import test_episodes
from recurl.learn.kernel import Rule, Run, World
from recurl.learn.looks import looks
from recurl.learn.settings import Settings
from recurl.learn.table import Table
from recurl.model.outcomes import outcomes_of_model
from recurl.simulation.random import new_stream

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints, Tables

LOGGED = 1 << 17
"""How many steps are kept for replay."""


def world_of(t: Tables, row: Ints) -> World:
    """What the kernels need of a model, and of how a table tells its vertices apart."""
    all_ = outcomes_of_model(t)
    start, start_below, outcomes = all_.start, all_.start_below, all_.packed()
    return World(
        t.action_start,
        row,
        t.transition_start,
        outcomes,
        t.box_component,
        t.box_return,
        start,
        start_below,
    )


def rule_of(settings: Settings, flat: bool) -> Rule:
    """What the kernels need of the settings."""
    return Rule(
        step_size=settings.learning_rate,
        exploration=settings.exploration,
        quantum=float(settings.quantum),
        grain=settings.grain,
        initial=float(settings.initial_value),
        episode_limit=settings.episode_limit or -1,
        flat=flat,
        replay=settings.replay,
        inherit=settings.inherit,
    )


def new_run(seed: int, exits: int, logged: int) -> Run:
    """The beginning of a run."""
    return Run(
        random=new_stream(seed),
        place=np.zeros(kernel.PLACES, np.int64),
        sums=np.zeros(2),
        contexts=np.zeros(64, np.int32),
        boxes=np.zeros(64, np.int32),
        log=np.zeros((logged, 4), np.int32),
        vector=np.zeros(exits),
    )


class ModelEngine:
    """A learner's work on a model."""

    _compiled = False

    def __init__(self, model: RMDP, settings: Settings, flat: bool) -> None:
        self.model, self.settings, self.flat = model, settings, flat
        row = looks(model, settings.observation, flat=flat)
        self.world, self.rule = world_of(model.tables, row), rule_of(settings, flat)
        initial = settings.initial_value
        self.table = Table(model.tables, flat, settings.memory, initial=initial)
        self.run = new_run(
            settings.seed, int(self.table.n_exits.max()), LOGGED if settings.replay else 1
        )

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.run.place[kernel.STEPS])

    @property
    def episodes(self) -> int:
        """Episodes ended so far, those cut included."""
        return int(self.run.place[kernel.EPISODES])

    @property
    def cut(self) -> int:
        """Episodes that met the limit."""
        return int(self.run.place[kernel.CUT])

    @property
    def start(self) -> int:
        """Context in which an episode begins."""
        return 0

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `training_mean` was last asked, and the sum of their returns."""
        return self.episodes - int(self.run.place[kernel.REPORTED]), float(self.run.sums[1])

    def training_mean(self) -> float:
        """Mean return of the episodes that ended since this was last asked; nan if none did."""
        ended, total = self.tally
        self.run.sums[1] = 0.0
        self.run.place[kernel.REPORTED] = self.episodes
        return total / ended if ended else float("nan")

    def advance(self, steps: int) -> None:
        """Take steps, learning.

        Raises:
            LimitError: Memory is full, or values are not finite; everything learned is kept.
        """
        end = self.steps + steps
        if not self._compiled:
            compiled_aside(lambda: self._learn_steps(0))
            self._compiled = True
        while self.steps < end:
            reason = self._learn_steps(end - self.steps)
            if reason == kernel.DIVERGED:
                raise LimitError(
                    f"the Q-values of {self.model.name} are no longer finite after {self.steps} "
                    "steps: is the model proper? Discount it, or use smaller steps"
                )
            if reason == kernel.ROOM:
                self._make_room()

    def _learn_steps(self, steps: int) -> int:
        return kernel.learn_steps(self.world, self.table.contexts, self.run, self.rule, steps)

    def _make_room(self) -> None:
        if int(self.run.place[kernel.HEIGHT]) == len(self.run.boxes):
            self._lengthen_stack()
        else:
            self.table.grow()

    def _lengthen_stack(self) -> None:
        run, levels = self.run, 2 * len(self.run.boxes)
        if 8 * levels > self.table.memory:
            raise LimitError(
                f"the stack is {levels // 2} calls deep, and more would pass the limit of memory: "
                "set episode_limit"
            )
        contexts, boxes = np.resize(run.contexts, levels), np.resize(run.boxes, levels)
        self.run = run._replace(contexts=contexts, boxes=boxes)

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""
        return self.table.n_contexts

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        run, height = self.run, int(self.run.place[kernel.HEIGHT])
        logged = min(int(run.place[kernel.LOGGED]), len(run.log))
        return {
            "component": self.table.component,
            "values": self.table.values,
            "q": self.table.q,
            "visits": self.table.visits,
            "random": run.random,
            "place": run.place,
            "sums": run.sums,
            "stack": np.stack([run.contexts[:height], run.boxes[:height]]),
            "log": run.log[:logged],
        }

    def header_fields(self) -> dict[str, Any]:
        """What a checkpoint says in words."""
        return {"subject": self.model.fingerprint, "name": self.model.name}

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made.

        Raises:
            ValueError: The numbers do not make a run of this model.
        """
        t, huge = self.model.tables, np.iinfo(np.int64).max
        component = expect(arrays, "component", np.int32, 0, t.n_components - 1)
        values = expect(arrays, "values", np.float64, 0.0, np.inf)
        q = expect(arrays, "q", np.float64, -np.inf, np.inf)
        self.table.fill(component, values, q, expect(arrays, "visits", np.int64, 0, huge))
        place = expect(arrays, "place", np.int64, 0, huge)
        stack = expect(arrays, "stack", np.int32, 0, huge)
        random = expect(arrays, "random", np.uint64, 0, np.iinfo(np.uint64).max)
        self._check_place(place, stack, random, arrays["sums"])
        log = expect(arrays, "log", np.int32, -1, huge)
        self._check_log(log, int(place[kernel.LOGGED]))
        levels = max(64, 2 * stack.shape[1])
        run = self.run._replace(
            contexts=np.zeros(levels, np.int32), boxes=np.zeros(levels, np.int32)
        )
        run.contexts[: stack.shape[1]], run.boxes[: stack.shape[1]] = stack
        run.random[:], run.place[:], run.sums[:] = random, place, arrays["sums"]
        run.log[: len(log)] = log
        self.run = run

    def _check_place(
        self, place: np.ndarray, stack: np.ndarray, random: np.ndarray, sums: np.ndarray
    ) -> None:
        t, table = self.model.tables, self.table
        shapes = (place.shape, stack.shape[:1], random.shape, sums.shape)
        if shapes != ((kernel.PLACES,), (2,), (4,), (2,)) or place[kernel.HEIGHT] != stack.shape[1]:
            raise ValueError("the state of the run has the wrong shape")
        if (stack[0] >= table.n_contexts).any() or (stack[1] >= max(1, t.n_boxes)).any():
            raise ValueError("the stack holds contexts or boxes that do not exist")
        if place[kernel.VERTEX] >= t.n_vertices or place[kernel.CONTEXT] >= table.n_contexts:
            raise ValueError("the run stands where there is nothing")
        if self.flat or not place[kernel.RUNNING]:
            return
        path = np.append(stack[0], place[kernel.CONTEXT])
        lies = table.component[path]
        here = t.vertex_component[place[kernel.VERTEX]]
        boxes = stack[1]
        if (t.box_owner[boxes] != lies[:-1]).any() or (t.box_component[boxes] != lies[1:]).any():
            raise ValueError("the calls on the stack do not follow each other")
        if lies[-1] != here or t.action_start[place[0]] == t.action_start[place[0] + 1]:
            raise ValueError("the run does not stand at a state of its context")

    def _check_log(self, log: np.ndarray, logged: int) -> None:
        t, table = self.model.tables, self.table
        if log.shape != (min(logged, len(self.run.log)) if self.rule.replay else 0, 4):
            raise ValueError("the log has the wrong length")
        if not len(log):
            return
        limits = (table.n_pairs, t.n_transitions, table.n_contexts, t.n_vertices)
        if (log[:, :3] < 0).any() or (log >= limits).any():
            raise ValueError("the log names what does not exist")
        action = np.searchsorted(t.transition_start, log[:, 1], side="right") - 1
        vertex = t.action_vertex[action]
        pair = self.world.row[vertex] + action - t.action_start[vertex]
        block = table.contexts.block[log[:, 2]]
        if (block + pair != log[:, 0]).any():
            raise ValueError("the log contradicts itself")
        if self.flat and (np.diff(t.action_start)[log[log[:, 3] >= 0, 3]] == 0).any():
            raise ValueError("the log leads to where nothing can be done")
        owner = t.vertex_component[vertex]
        if not self.flat and (owner != table.component[log[:, 2]]).any():
            raise ValueError("the log mixes components")

    def enter(self, context: int, exits: Sequence[Any], observation: Any) -> int:
        """Context that a greedy run enters by a call; -1 for one that was never met."""
        box = int(self.model.tables.vertex_box[int(exits[0])])
        vector = np.zeros_like(self.run.vector)
        found = kernel.enter_greedily(
            self.world, self.table.contexts, self.rule, context, box, vector
        )
        return int(found)

    def greedy(self, context: int, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value at a vertex."""
        return int(self.q_values(int(observation), context).argmax())

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that a vertex has."""
        return list(range(len(self.q_values(int(observation), 0))))

    def q_values(self, vertex: int, context: int) -> Floats:
        """Q-values of a vertex in a context; the initial value in one that was never met."""
        if context < 0:
            return np.full(len(self.model.names.actions_of(vertex)), self.table.initial)
        return self.table.contexts.q[self._pairs(vertex, context)]

    def visits(self, vertex: int, context: int) -> int:
        """How often the pairs of a vertex were learned from in a context."""
        return int(self.table.contexts.visits[self._pairs(vertex, context)].sum())

    def _pairs(self, vertex: int, context: int) -> slice:
        """Where the table has the values of a vertex in a context."""
        start = self.model.tables.action_start
        begin = int(self.table.contexts.block[context] + self.world.row[vertex])
        return slice(begin, begin + int(start[vertex + 1] - start[vertex]))

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes; the run and its random numbers stay."""
        out = (np.empty(episodes), np.empty(episodes, np.int64), np.empty(episodes, np.bool_))
        stack = np.empty((2, limit + 1), np.int32)
        random, vector = new_stream(self.settings.seed, stream), np.zeros_like(self.run.vector)
        test_episodes(
            self.world, self.table.contexts, self.rule, random, stack, vector, limit, *out
        )
        return out
