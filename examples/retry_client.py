"""A client with retries, fallbacks and nested timeouts, learned against a flaky service.

`fetch` tries a service a few times. A page that cannot be shown costs much, a picture in its
margin little, and `fetch` does not know for whom it works: the best number of retries depends on
the caller. Recursive Q-learning tells callers apart by what the results of `fetch` are worth to
them; flat Q-learning cannot.

    python examples/retry_client.py [--quick] [--plot retry.png]
"""

from __future__ import annotations

import random

import numpy as np
from common import Figure, Settings, settings

from recurl import QLearning, RecursiveQLearning, outcome, program, reward
from recurl import choose as decide

PAGE_LOST, PICTURE_LOST = -30.0, -1.0


class Service:
    """A service that is slow now and then, and sometimes down; drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def answer(self, patience: float) -> None:
        """Answer within the patience, or fail."""
        if self.random.random() < 0.15:
            raise ConnectionError
        if self.random.expovariate(1.0) > patience:
            raise TimeoutError


SERVICE = Service(0)


@program
def page():
    """Show a page: its text is needed, two pictures would be nice."""
    if not fetch(3):
        reward(PAGE_LOST)
    for _ in range(2):
        picture()


@program
def picture():
    if not fetch(3):
        reward(PICTURE_LOST)


@program(observe=("left",), returns=(True, False))
def fetch(left):
    """Fetch something with some tries left; a try costs the time that it may take."""
    how = decide("give up", "short", "long", "cache")
    if how == "give up" or left == 0:
        return False
    if how == "cache":  # slow, and out of date one time in ten
        reward(-3)
        return SERVICE.random.random() < 0.9
    patience = 0.5 if how == "short" else 2.0
    reward(-patience)
    result = outcome(lambda: SERVICE.answer(patience), ConnectionError, TimeoutError)
    return True if result is None else fetch(left - 1)


def learned(learner: type, episodes: int, seed: int) -> tuple[list[float], float]:
    """Totals while learning, and the mean of greedy runs afterwards."""
    SERVICE.random.seed(seed)
    live = page.live(learner, quantum=0.5, exploration=0.15, seed=seed)
    totals = []
    for _ in range(episodes):
        live()
        totals.append(live.total)
    SERVICE.random.seed(10_000 + seed)
    tests = []
    for _ in range(2_000):
        live.greedy()
        tests.append(live.total)
    return totals, float(np.mean(tests))


def main(wanted: Settings) -> dict[str, float]:
    episodes, seeds = (4_000, 2) if wanted.quick else (20_000, 5)
    found = {}
    with Figure(wanted, "A client that does not know for whom it works") as axes:
        for learner in (RecursiveQLearning, QLearning):
            runs = [learned(learner, episodes, seed) for seed in range(seeds)]
            name = learner.__name__
            found[name] = float(np.mean([mean for _, mean in runs]))
            print(f"{name:20} {found[name]:.3f} per page")
            window = np.ones(200) / 200
            curve = np.convolve(np.mean([t for t, _ in runs], axis=0), window, "valid")
            axes.plot(curve, label=f"{name}: {found[name]:.2f} when greedy")
        axes.set_xlabel("pages shown")
        axes.set_ylabel("reward per page, while learning")
        axes.legend()
    return found


if __name__ == "__main__":
    main(settings(__doc__))
