"""Many runs at once, one per seed, on all cores or on a cluster."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import gymnasium as gym

from recurl.arguments import refuse_unknown
from recurl.execution.engine import PieceLink, Stopped
from recurl.execution.pieces import results_of, run_pieces
from recurl.interrupts import aside
from recurl.learn.greedy_episodes import another
from recurl.learn.learner import Learner
from recurl.learn.tabular import RecursiveQLearning
from recurl.model.rmdp import RMDP

Kind = TypeVar("Kind", bound=Learner)


def learn_many(
    model: RMDP | gym.Env[Any, Any] | str,
    seeds: int | Iterable[int],
    total_timesteps: float,
    *,
    algorithm: Callable[..., Kind] = RecursiveQLearning,  # type: ignore[assignment]
    workers: int | None = None,
    on: str = "local",
    **settings: Any,
) -> list[Kind]:
    """Learn with many seeds in parallel; each run is what it would be alone, to the bit.

    Args:
        model: The model, or an environment or its id. Every run has an environment of its own,
            made like those for tests.
        seeds: The seeds, or their number: 10 stands for 0 to 9.
        total_timesteps: Steps of each run.
        algorithm: `RecursiveQLearning`, `QLearning`, `DeepRecursiveQLearning` or `DQN`.
        workers: How many run at once; all cores if not given.
        on: The engine: ``"local"``, ``"processes"``, ``"ray"`` or ``"ray://HOST:PORT"``.
        **settings: Settings of the algorithm, without the seed.

    Raises:
        KeyboardInterrupt: After Ctrl-C, when the runs have ended between two of their steps.

    Example:
        >>> import recurl
        >>> runs = learn_many(recurl.zoo.cloud(), 3, 1000, episode_limit=200)
        >>> [run.settings.seed for run in runs], runs[0].steps
        ([0, 1, 2], 1000)
    """
    refuse_unknown("learn_many", {"seed"} & set(settings), ["seeds", "total_timesteps"])
    numbers = list(range(seeds) if isinstance(seeds, int) else seeds)
    if isinstance(model, gym.vector.VectorEnv):
        raise TypeError(
            "learn_many makes an environment for every run: give a single one, or an id"
        )
    subjects = [model if isinstance(model, RMDP | str) else another(model) for _ in numbers]
    pairs = zip(subjects, numbers, strict=True)
    learners = [algorithm(subject, seed=seed, **settings) for subject, seed in pairs]
    for one in learners:
        one.set_budget(total_timesteps)
    steps = int(total_timesteps)
    if on == "local":
        # The first one compiles, where it must, before the threads ask for it all at once.
        if learners:
            aside(lambda: learners[0].learn(1))
        results_of(run_pieces(_learn, learners, shared=steps, workers=workers))
        return learners
    saved = [(type(one), one.to_bytes()) for one in learners]
    found = run_pieces(_learn_saved, saved, shared=(model, steps), on=on, workers=workers)
    kinds = [type(one) for one in learners]
    parts = zip(kinds, results_of(found), subjects, strict=True)
    return [kind.load(io.BytesIO(data), subject) for kind, data, subject in parts]


def _learn(steps: int, learner: Learner, link: PieceLink) -> None:
    """Learn up to a number of steps."""
    learner.learn(steps - learner.steps, stopping=link.stopping)
    if learner.steps < steps:
        raise Stopped


def _learn_saved(
    shared: tuple[Any, int], saved: tuple[type[Learner], bytes], link: PieceLink
) -> bytes:
    """The same in another process: from a checkpoint to a checkpoint."""
    (model, steps), (kind, data) = shared, saved
    learner = kind.load(io.BytesIO(data), model)
    _learn(steps, learner, link)
    return learner.to_bytes()
