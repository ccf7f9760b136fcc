"""The three experiments of the paper, and the best presets beside them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import msgspec
import numpy as np

from recurl.experiment.settings import Experiment, Method, ModelChoice
from recurl.learn.curve import Band

SEEDS, QUICK_SEEDS = 10, 3
QUICK_PALINDROME_STEPS = 30_000
"""As long as the published exploration takes to fall: by then it is seen who learns."""


def _tabular(evaluate_every: int) -> tuple[Method, ...]:
    """Both learners of the paper, and the preset, which is tested as often."""
    preset = {"preset": "swift", "episode_limit": 200, "evaluate_every": evaluate_every}
    return (
        Method("rql", "rql", label="recursive Q-learning", published="rql"),
        Method("ql", "q", label="flat Q-learning", published="ql"),
        Method("rql-swift", "rql", preset, label="recursive, best preset", with_shared=False),
    )


CLOUD = Experiment(
    name="cloud",
    title="Cloud",
    reference="cloud",
    model=ModelChoice(zoo="cloud"),
    steps=100_000,
    seeds=tuple(range(SEEDS)),
    settings={
        "preset": "paper",
        "learning_rate": 0.02,
        "exploration": 0.1,
        "quantum": 0.001,
        "episode_limit": 200,
        "evaluate_every": 100,
        "evaluate_episodes": 100,
    },
    methods=_tabular(evaluate_every=100),
)

SPELUNKING = Experiment(
    name="spelunking",
    title="Infinite spelunking",
    reference="spelunking",
    # The rewards of the published runs.
    model=ModelChoice(zoo="spelunking", parameters={"fall_reward": -2, "futile_reward": -5}),
    steps=200_000,
    seeds=tuple(range(SEEDS)),
    settings={
        "preset": "paper",
        "learning_rate": 0.2,
        "exploration": 0.1,
        # A state is (level, cell, gear, landing cell): an entry or a return port is not told apart
        # from a node of the same state, which a flat learner could otherwise profit from.
        "observation": "features",
        "episode_limit": 200,
        "evaluate_every": 1_000,
        "evaluate_episodes": 100,
    },
    methods=_tabular(evaluate_every=1_000),
)

PALINDROME = Experiment(
    name="palindrome",
    title="Palindrome gridworld",
    reference="palindrome",
    model=ModelChoice(zoo="palindrome"),
    steps=300_000,
    seeds=tuple(range(SEEDS)),
    settings={
        "preset": "paper",
        "learning_rate": 0.0005,
        "exploration": "linear(1, 0.1, 30_000)",
        "buffer": 20_000,
        "warm_up": 1_000,
        "batch": 256,
        "target_every": 500,
        "hidden": [128, 128],
        "evaluate_every": 1_000,
        "evaluate_episodes": 100,
        "evaluate_limit": 100,
    },
    methods=(
        Method("deep-rql", "deep-rql", label="deep recursive Q-learning", published="deep-rql"),
        Method("dqn", "dqn", label="DQN", published="dqn"),
        Method(
            "deep-rql-swift",
            "deep-rql",
            {"preset": "swift"},
            label="deep recursive, best preset",
            with_shared=False,
        ),
    ),
)

PAPER: Mapping[str, Experiment] = MappingProxyType(
    {one.name: one for one in (CLOUD, SPELUNKING, PALINDROME)}
)
"""The experiments by name, as published; ``*-swift`` are this package's presets beside them."""


def paper_experiments(seeds: int | None = None, quick: bool = False) -> dict[str, Experiment]:
    """The paper's experiments, for another number of seeds, or cut short for a first look.

    Args:
        seeds: How many seeds, from 0; ten if not given, or three if quick.
        quick: Whether palindrome is cut to a few of its steps; its exploration falls as published,
            so that its curve is the beginning of the published one.

    Example:
        >>> quick = paper_experiments(quick=True)["palindrome"]
        >>> quick.steps, quick.seeds
        (30000, (0, 1, 2))
    """
    count = seeds or (QUICK_SEEDS if quick else SEEDS)
    made = {
        name: msgspec.structs.replace(one, seeds=tuple(range(count))) for name, one in PAPER.items()
    }
    if quick:
        made["palindrome"] = msgspec.structs.replace(
            made["palindrome"], steps=QUICK_PALINDROME_STEPS
        )
    return made


SOURCE = (
    "Hahn, Perez, Schewe, Somenzi, Trivedi, Wojtczak: Recursive Reinforcement Learning, "
    "NeurIPS 2022"
)


@cache
def published_curves() -> dict[tuple[str, str], Band]:
    """The curves by experiment and method: mean and percentiles of the authors' ten runs.

    Example:
        >>> curve = published_curves()["cloud", "rql"]
        >>> float(curve.steps[-1]), float(curve.mean[-1])
        (99900.0, -5.3338)
    """
    text = (files("recurl.experiment") / "data/published_curves.csv").read_text(encoding="utf-8")
    columns: dict[tuple[str, str], list[list[float]]] = {}
    for row in csv.DictReader(text.splitlines()):
        key = row["experiment"], row["method"]
        numbers = [float(row[name]) for name in ("step", "mean", "p10", "p90")]
        columns.setdefault(key, []).append(numbers)
    return {key: Band(*np.array(rows).T) for key, rows in columns.items()}


def published_end(experiment: str, method: str, steps: float = np.inf) -> Band | None:
    """The last tenth of a published curve, as a band of one step; None if unknown.

    Where the curve that comes with the package has no test in that tenth, it is interpolated in the
    middle of it.

    Args:
        experiment: Name of the experiment.
        method: Name of the method.
        steps: Where a shorter run ended: the curve is taken to end there too.

    Example:
        >>> round(float(published_end("palindrome", "deep-rql").mean[0]), 1)
        40.0
    """
    curve = published_curves().get((experiment, method))
    if curve is None or steps <= 0:
        return None
    end = min(steps, float(curve.steps[-1]))
    last = (curve.steps >= 0.9 * end) & (curve.steps <= end)
    if not last.any():
        return Band(np.array([end]), *(np.interp([0.95 * end], curve.steps, x) for x in curve[1:]))
    return Band(np.array([end]), *(np.array([x[last].mean()]) for x in curve[1:]))
