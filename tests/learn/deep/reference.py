"""Deep Recursive Q-learning in plain numpy, with the random numbers of the compiled loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from recurl.learn.deep import loop, replay
from recurl.learn.deep.loop import rollout_batches
from recurl.learn.deep.settings import DeepSettings
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, EXITS, STEP

Layers = list[list[np.ndarray]]

# Compiled as a whole, as in the loop: operation by operation takes longer.
step_draws = jax.jit(loop.step_draws, static_argnums=1)
batch_draws = jax.jit(loop.batch_draws, static_argnums=2)
refresh_draws = jax.jit(replay.refresh_draws, static_argnums=2)


def forward(layers: Layers, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Outputs, and the inputs of each layer."""
    inputs = []
    for i, (w, b) in enumerate(layers):
        inputs.append(x)
        x = x @ w + b
        if i < len(layers) - 1:
            x = np.tanh(x)
    return x, inputs


class Reference:
    """The learner; `run` is the compiled loop's first state, for its key, weights and start."""

    def __init__(self, model: RMDP, settings: DeepSettings, rows: np.ndarray, run: Any) -> None:
        self.t, self.s = model.tables, settings
        self.rows = np.eye(len(rows)) if rows.ndim == 1 else rows.astype(np.float64)
        self.agent, self.step = run.agent, 0
        self.online: Layers = [
            [np.array(x, np.float64) for x in layer] for layer in run.agent.learned.online.layers
        ]
        self.target = [list(layer) for layer in self.online]
        self.average = [list(layer) for layer in self.online]
        self.mean = [[np.zeros_like(x) for x in layer] for layer in self.online]
        self.square = [[np.zeros_like(x) for x in layer] for layer in self.online]
        self.key = jax.random.wrap_key_data(run.agent.key)
        self.updates, self.loss = 0, 0.0
        self.vertex, self.values = int(run.place.vertex[0]), np.zeros(self.t.max_exits)
        self.stack: list[tuple[int, np.ndarray]] = []
        self.length = self.ended = self.cut = self.overflowed = 0
        self.kept = self.left = 0
        self.buffer: list[tuple[Any, ...]] = []
        self.ends: list[bool] = []

    def q(self, layers: Layers, vertex: int, values: np.ndarray) -> np.ndarray:
        scale = self.s.value_scale
        assert not isinstance(self.s.reward_scale, str)
        scaled = scale * self.s.reward_scale * values
        out, _ = forward(layers, np.concatenate([self.rows[vertex], scaled])[None])
        return out[0, : self.count(vertex)] / self.s.reward_scale

    def count(self, vertex: int) -> int:
        return int(self.t.action_start[vertex + 1] - self.t.action_start[vertex])

    def take_step(self) -> None:
        t, s = self.t, self.s
        now = self.agent._replace(step=jnp.int32(self.step))
        draws = np.asarray(step_draws(now, 1))[:, 0]
        action = int(self.q(self.online, self.vertex, self.values).argmax())
        if self.left and self.kept < self.count(self.vertex):
            action, self.left = self.kept, self.left - 1
        elif draws[0] < (rate := np.float32(s.exploration(self.step))):
            action = int(draws[1] * self.count(self.vertex))
            self.kept, self.left = action, min(int(rate / draws[0]), s.exploration_repeat) - 1
        else:
            self.left = 0
        i = self.outcome(int(t.action_start[self.vertex]) + action, draws[2])
        here, values, reward, landing = (
            self.vertex,
            self.values,
            float(t.reward[i]),
            int(t.landing[i]),
        )
        move, other, over, full = int(t.move[i]), 0.0, False, False
        box = int(t.move_box[i])
        if move == STEP:
            self.vertex = landing
        elif move == CALLS:
            full = len(self.stack) == s.stack_limit
            self.stack.append((box, values))
            self.values, other = self.entered(box, values)
            self.vertex = landing
        else:
            other, over = values[landing], not self.stack
            if self.stack:
                came, self.values = self.stack.pop()
                self.vertex = int(t.box_return[came]) + landing
        self.buffer.append(
            (here, values, action, reward, move, other, self.vertex, self.values, box)
        )
        self.ends.append(over or full or self.length + 1 == s.episode_limit)
        if s.rollout:
            self.learn_rollout()
        elif self.step >= s.warm_up and self.step % s.train_every == 0:
            draws_of_batch = np.asarray(batch_draws(self.agent, jnp.int32(self.step), s.batch))
            picked = [self.buffer[i] for i in self.numbers(draws_of_batch)]
            self.learn(picked, [self.goal(one) for one in picked])
            self.refresh()
        self.length += 1
        long = self.length == s.episode_limit
        if over or full or long:
            self.ended, self.length = self.ended + 1, 0
            self.cut, self.overflowed = self.cut + (not over), self.overflowed + full
            self.begin(draws[3])
        self.step += 1

    def entered(self, box: int, values: np.ndarray) -> tuple[np.ndarray, float]:
        """Exit values with which a box is entered, and what was taken off them."""
        t = self.t
        exits = range(int(t.n_exits[t.box_component[box]]))
        hopes = [self.q(self.online, int(t.box_return[box]) + k, values).max() for k in exits]
        found, least = np.zeros(t.max_exits), min(hopes) if self.s.gamma == 1 else 0.0
        found[: len(hopes)] = np.array(hopes) - least
        return found, float(least)

    def refresh(self) -> None:
        """Enter some stored calls anew."""
        if not self.s.refresh:
            return
        draws = np.asarray(refresh_draws(self.key, jnp.int32(self.step), self.s.refresh))
        calls = [i for i in self.numbers(draws) if self.buffer[i][4] == CALLS]
        for i in calls[: self.s.refresh]:
            *known, _, there, _, box = self.buffer[i]
            values, least = self.entered(box, known[1])
            self.buffer[i] = (*known, least, there, values, box)

    def outcome(self, action: int, draw: float) -> int:
        t = self.t
        begin, end = int(t.transition_start[action]), int(t.transition_start[action + 1])
        below = np.cumsum(t.prob[begin:end])
        below[-1] = 1.0
        return begin + int(np.searchsorted(below.astype(np.float32), draw, "right"))

    def begin(self, draw: float) -> None:
        t = self.t
        below = np.cumsum(t.start_prob)
        below[-1] = 1.0
        start = int(np.searchsorted(below.astype(np.float32), draw, "right"))
        self.vertex = int(t.component_start[t.start_component]) + start
        self.values, self.stack = np.zeros(t.max_exits), []
        self.left = 0

    def goal(self, transition: tuple[Any, ...]) -> float:
        """The three cases, one by one."""
        _, _, _, reward, move, other, there, values_there, _ = transition
        gamma = self.s.gamma
        if move == EXITS:
            return float(reward + gamma * other)
        layers = self.target if self.s.target_every else self.online
        ahead = float(self.q(layers, there, values_there).max())
        return float(reward + gamma * (ahead + other if move == CALLS else ahead))

    def learn_rollout(self) -> None:
        """Learn from all steps since the last rollout was complete, if another one is."""
        done, size = self.step + 1, self.s.rollout
        if done % size or done < self.s.warm_up:
            return
        now, steps = self.agent._replace(step=jnp.int32(done)), self.buffer[done - size :]
        goals = [self.goal(one) for one in steps]
        for i in range(size - 2, -1, -1):
            _, _, _, _, move, _, there, values_there, _ = steps[i]
            if move != EXITS and not self.ends[done - size + i]:
                q = self.q(self.online, there, values_there)
                more = goals[i + 1] - q.max()
                if steps[i + 1][2] == q.argmax() or more > 0:
                    goals[i] += self.s.trace * self.s.gamma * more
        for rows in np.asarray(rollout_batches(self.s, now, size)):
            self.learn([steps[i] for i in rows], [goals[i] for i in rows])

    def learn(self, picked: list[tuple[Any, ...]], goals: list[float]) -> None:
        s = self.s
        assert not isinstance(s.reward_scale, str)
        scale = s.value_scale * s.reward_scale
        x = np.array([np.concatenate([self.rows[o[0]], scale * o[1]]) for o in picked])
        out, inputs = forward(self.online, x)
        actions = np.array([o[2] for o in picked])
        error = out[np.arange(len(picked)), actions] - s.reward_scale * np.array(goals)
        self.loss = float(np.mean(error**2))
        slope = np.zeros_like(out)
        slope[np.arange(len(picked)), actions] = 2 * error / len(picked)
        self.descend(self.slopes(slope, inputs))

    def numbers(self, draws: np.ndarray) -> list[int]:
        """Steps that random numbers stand for; row p holds the latest p modulo the size."""
        stored, size = len(self.buffer), self.s.buffer
        places = [int(np.float32(d) * np.float32(min(stored, size))) for d in draws]
        return [p if stored <= size else stored - 1 - (stored - 1 - p) % size for p in places]

    def slopes(self, slope: np.ndarray, inputs: list[np.ndarray]) -> Layers:
        found: Layers = []
        for (w, _), x in zip(reversed(self.online), reversed(inputs), strict=True):
            found.append([x.T @ slope, slope.sum(axis=0)])
            slope = (slope @ w.T) * (1 - x**2)
        return found[::-1]

    def descend(self, slopes: Layers) -> None:
        s, self.updates = self.s, self.updates + 1
        rate = s.learning_rate(self.step + bool(s.rollout))
        for i, layer in enumerate(slopes):
            for j, g in enumerate(layer):
                self.mean[i][j] = 0.9 * self.mean[i][j] + 0.1 * g
                self.square[i][j] = 0.999 * self.square[i][j] + 0.001 * g**2
                m = self.mean[i][j] / (1 - 0.9**self.updates)
                v = self.square[i][j] / (1 - 0.999**self.updates)
                self.online[i][j] = self.online[i][j] - rate * m / (np.sqrt(v) + 1e-8)
        decay = min(s.averaging, self.updates / (self.updates + 10)) if s.averaging else 0.0
        self.average = [
            [decay * a + (1 - decay) * p for a, p in zip(old, new, strict=True)]
            for old, new in zip(self.average, self.online, strict=True)
        ]
        if s.target_every and self.updates % s.target_every == 0:
            self.target = [list(layer) for layer in self.online]


def as_float(layers: Any) -> list[np.ndarray]:
    return [np.asarray(x, np.float64) for x in jax.tree.leaves(layers)]
