"""A deep learner on a road with continuous positions, watched by a pushdown machine.

A traveller walks on a road from -1 to 1, by steps of uncertain length. At the west end tickets are
sold, one per step; each of the two gates takes one, and at a gate without a ticket the journey ends
with a fine. So no prefix of a journey may hold more gates than tickets: a context-free condition.
The traveller sees the position and whether there is a ticket at all, not how many: whether to buy
another one depends on what lies below the top of the stack. Recursive learning sees it in the worth
of the exits; a flat agent cannot, and no agent without a memory passes the second gate.

The best value is computed without the library: value iteration over (position, tickets), on a fine
lattice of positions.

    python examples/toll_road.py [--quick] [--plot toll_road.png]
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from common import Figure, Settings, settings

import recurl
from recurl.automaton import Machine, MachineEnv, rule

WEST, EAST, BUY = range(3)
KIOSK, GATES, TOWN = -0.6, (-0.2, 0.36), 0.75
SHORTEST, LONGEST = 0.35, 0.55
STEP, TICKET, FINE, PRIZE, BREAKDOWN = -0.1, -1.0, -5.0, 10.0, 0.03


class Road(gym.Env[np.ndarray, int]):
    """The road alone: a position, steps of random length, and a small chance to break down."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-1, TOWN))
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if action != BUY:
            length = float(self.np_random.uniform(SHORTEST, LONGEST))
            self.x = float(np.clip(self.x + (length if action == EAST else -length), -1, 1))
        return self._seen(), STEP, bool(self.np_random.random() < BREAKDOWN), False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.x], np.float32)


def labels(here: np.ndarray, action: int, there: np.ndarray) -> list[str]:
    """The labels of a step: a ticket is bought, a gate is passed, the town is reached."""
    if action == BUY:
        return ["ticket"] if here[0] < KIOSK else []
    if any(here[0] < gate <= there[0] for gate in GATES):
        return ["gate"]
    return ["town"] if there[0] > TOWN else []


def tickets() -> Machine:
    """Tickets on a stack, taken by gates."""
    rules = [
        rule("travel", "ticket", "travel", push="ticket _", reward=TICKET),
        rule("travel", "gate", "travel", top="ticket", push=""),
        rule("travel", "gate", "caught", top="bottom", reward=FINE),
        rule("travel", "town", "arrived", reward=PRIZE),
    ]
    exclusive = [["ticket", "gate", "town"]]
    return Machine("tickets", rules, final=["caught", "arrived"], exclusive=exclusive)


def watched_road() -> MachineEnv:
    """The road with its machine: a ticket is a call, a gate a return, at either of two places."""
    middle = (SHORTEST + LONGEST) / 4
    places = [np.array([gate + middle], np.float32) for gate in GATES]
    return MachineEnv(Road(), tickets(), labels, exits=places)


def best_value(cells: int = 1000, most: int = 5, lengths: int = 41) -> float:
    """The best value: value iteration over (position, tickets), with linear interpolation."""
    x = np.linspace(-1, 1, cells + 1)
    step = (np.arange(lengths) + 0.5) / lengths * (LONGEST - SHORTEST) + SHORTEST
    places = np.stack([np.clip(x[:, None] + sign * step, -1, 1) for sign in (-1, 1)])
    gate = np.any([(x[:, None] < g) & (places >= g) for g in GATES], axis=0)
    town = (places > TOWN) & ~gate
    worth = np.zeros((most + 1, cells + 1))
    while True:
        old = worth.copy()
        ahead = np.array([np.interp(places, x, row) for row in old])
        for n in range(most + 1):
            passed = ahead[n - 1] if n else np.full_like(ahead[0], FINE / (1 - BREAKDOWN))
            after = np.where(gate, passed, np.where(town, PRIZE / (1 - BREAKDOWN), ahead[n]))
            more = TICKET / (1 - BREAKDOWN) + old[min(n + 1, most)]
            bought = np.where(x < KIOSK, more, old[n])
            ways = np.stack([*after.mean(axis=2), bought])
            worth[n] = STEP + (1 - BREAKDOWN) * ways.max(axis=0)
        if np.abs(worth - old).max() < 1e-9:
            return float(worth[0][x < TOWN].mean())


def train(algorithm: Any, steps: int, seed: int = 0) -> Any:
    """A learner on the watched road."""
    learner = algorithm(
        watched_road(),
        preset="paper",
        hidden=(64, 64),
        batch=64,
        warm_up=500,
        target_every=100,
        refresh=4,
        max_exits=len(GATES) + 1,
        reward_scale=0.1,
        averaging=0.995,
        learning_rate=recurl.schedules.linear(0.002, 0.0001, steps),
        exploration=recurl.schedules.linear(1.0, 0.3, steps // 2),
        episode_limit=200,
        evaluate_every=steps // 5,
        evaluate_episodes=20,
        evaluation_env=watched_road(),
        seed=seed,
    )
    return learner.learn(steps)


def play(learner: Any, episodes: int) -> float:
    """Mean return of greedy episodes, others than those of the tests."""
    env, total = watched_road(), 0.0
    for episode in range(episodes):
        observation, info = env.reset(seed=10_000 + episode)
        state, running = None, 200
        while running:
            action, state = learner.predict(observation, state, info=info)
            observation, reward, ended, _, info = env.step(action)
            total += reward
            running = 0 if ended else running - 1
    return total / episodes


def main(wanted: Settings) -> dict[str, float]:
    runs = {recurl.DeepRecursiveQLearning: 30_000, recurl.DQN: 30_000}
    if wanted.quick:
        runs = {recurl.DeepRecursiveQLearning: 12_000, recurl.DQN: 2_000}
    seeds, episodes = (1, 100) if wanted.quick else (5, 1_000)
    found = {"best": best_value()}
    print(f"{'best':24} {found['best']:6.2f}")
    with Figure(
        wanted, "Tickets and gates: return of greedy tests, each seed and their median"
    ) as axes:
        for number, (algorithm, steps) in enumerate(runs.items()):
            learners = [train(algorithm, steps, seed) for seed in range(seeds)]
            worth = [play(learner, episodes) for learner in learners]
            found[algorithm.__name__] = float(np.median(worth))
            shown = " ".join(f"{value:6.2f}" for value in worth)
            print(f"{algorithm.__name__:24} {found[algorithm.__name__]:6.2f}  by seed: {shown}")
            for learner in learners:
                axes.plot(learner.curve.steps, learner.curve.mean, f"C{number}", alpha=0.3)
            middle = np.median([learner.curve.mean for learner in learners], axis=0)
            axes.plot(learners[0].curve.steps, middle, f"C{number}", label=algorithm.__name__)
        axes.axhline(found["best"], color="black", linestyle=":", label="best")
        axes.set_xlabel("steps")
        axes.set_ylabel("return")
        axes.set_ylim(bottom=-15)
        axes.legend()
    return found


if __name__ == "__main__":
    main(settings(__doc__))
