"""Many runs at once, one per seed, on all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from recurl.interrupts import in_threads
from recurl.learn.learner import Learner
from recurl.learn.tabular import RecursiveQLearning
from recurl.model.rmdp import RMDP

Kind = TypeVar("Kind", bound=Learner)


def learn_many(
    model: RMDP,
    seeds: int | Iterable[int],
    total_timesteps: float,
    *,
    algorithm: Callable[..., Kind] = RecursiveQLearning,  # type: ignore[assignment]
    threads: int | None = None,
    **settings: Any,
) -> list[Kind]:
    """Learn with many seeds in parallel; each run is what it would be alone, to the bit.

    Args:
        model: The model.
        seeds: The seeds, or their number: 10 stands for 0 to 9.
        total_timesteps: Steps of each run.
        algorithm: `RecursiveQLearning`, `QLearning`, `DeepRecursiveQLearning` or `DQN`.
        threads: How many run at once; all cores if not given.
        **settings: What the algorithm takes, but for the seed.

    Raises:
        KeyboardInterrupt: After Ctrl-C, when the runs have ended between two of their steps.

    Example:
        >>> import recurl
        >>> runs = learn_many(recurl.zoo.cloud(), 3, 1000, episode_limit=200)
        >>> [run.settings.seed for run in runs], runs[0].steps
        ([0, 1, 2], 1000)
    """
    numbers = range(seeds) if isinstance(seeds, int) else seeds
    learners = [algorithm(model, seed=seed, **settings) for seed in numbers]
    for one in learners:
        one.set_budget(total_timesteps)
    stop = threading.Event()
    # The first one compiles, where it must, before the threads ask for it all at once.
    in_threads([partial(one.learn, 1) for one in learners[:1]], 1)
    jobs = [
        partial(one.learn, int(total_timesteps) - one.steps, stopping=stop.is_set)
        for one in learners
    ]
    in_threads(jobs, threads or os.cpu_count() or 1, stop=stop)
    return learners
