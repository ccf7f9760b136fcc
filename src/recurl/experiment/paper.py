"""The three experiments of the paper, and the best presets beside them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np

from recurl.experiment.settings import Experiment, Method, ModelChoice
from recurl.experiment.statistics import mean_interval
from recurl.learn.curve import Band
from recurl.model.tables import Floats

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
    title="Infinite spelunking, rewards of the published runs",
    reference="spelunking",
    # The published runs pay -2 for a fall and -5 for a futile climb, where the text pays -1.
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

SPELUNKING_TEXT = msgspec.structs.replace(
    SPELUNKING,
    name="spelunking-text",
    title="Infinite spelunking, rewards of the text",
    reference="",
    model=ModelChoice(zoo="spelunking"),
    methods=tuple(msgspec.structs.replace(method, published="") for method in SPELUNKING.methods),
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
    {one.name: one for one in (CLOUD, SPELUNKING, SPELUNKING_TEXT, PALINDROME)}
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


_RUNS, _HERE = "the published runs", "this package"
_NOT_IN_TEXT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "cloud": {"episode_limit": _RUNS},
        "spelunking": {
            "fall_reward": _RUNS,
            "futile_reward": _RUNS,
            "episode_limit": _RUNS,
            "observation": _HERE,
        },
        "spelunking-text": {"episode_limit": _RUNS, "observation": _HERE},
        "palindrome": {"penalty": _RUNS, "evaluate_limit": _RUNS},
    }
)
"""Settings of models and of the paper's methods that its text does not have, and their origin."""


class Departure(NamedTuple):
    """A setting of an experiment that is not from the paper's text.

    Attributes:
        experiment: Name of the experiment.
        method: The method that has it: ``"all"``, ``"paper's"`` for both of the paper, or a name.
        setting: Its name.
        value: Its value.
        origin: Where it comes from.
    """

    experiment: str
    method: str
    setting: str
    value: object
    origin: str


def departures(experiment: Experiment) -> list[Departure]:
    """Every setting of one of the paper's experiments that is not from the paper's text.

    Example:
        >>> for found in departures(paper_experiments(seeds=10)["cloud"])[:3]:
        ...     print(*found)
        cloud paper's episode_limit 200 the published runs
        cloud rql-swift learning_rate power(1, 0, 10, 1) this package
        cloud rql-swift exploration linear(0.3, 0.1, fraction=0.5) this package
    """
    from recurl.experiment.options import preset_settings
    from recurl.zoo.registry import parameters

    choice, published = experiment.model, PAPER[experiment.name]
    model = {**parameters(choice.zoo), **choice.parameters}
    rows = []
    for name in ("steps", "seeds"):
        value, usual = getattr(experiment, name), getattr(published, name)
        if value != usual:
            shown = len(value) if name == "seeds" else value
            rows.append(("all", name, shown, "the command"))
    for setting, origin in _NOT_IN_TEXT[experiment.name].items():
        of_model = setting in model
        value = model[setting] if of_model else experiment.settings[setting]
        rows.append(("all" if of_model else "paper's", setting, value, origin))
    for method in experiment.methods:
        if not method.with_shared:
            preset = preset_settings(method.algorithm, method.settings["preset"])
            own = {key: value for key, value in method.settings.items() if key != "preset"}
            rows += [(method.name, *item, _HERE) for item in {**preset, **own}.items()]
    return [Departure(experiment.name, *row) for row in rows]


SOURCE = (
    "Hahn, Perez, Schewe, Somenzi, Trivedi, Wojtczak: Recursive Reinforcement Learning, "
    "NeurIPS 2022, arXiv:2206.11430"
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


class Comparison(NamedTuple):
    """Our runs beside a published curve, at the steps of the published tests.

    Attributes:
        steps: The steps.
        low: Lower end of the 95 % bootstrap interval of the mean over our runs.
        high: Upper end.
        published: The published mean.
    """

    steps: Floats
    low: Floats
    high: Floats
    published: Floats

    @property
    def better(self) -> Floats:
        """Steps at which our interval lies above the published mean."""
        return self.steps[self.low > self.published + PRINTED]

    @property
    def worse(self) -> Floats:
        """Steps at which our interval lies below the published mean."""
        return self.steps[self.high < self.published - PRINTED]

    @property
    def words(self) -> str:
        """How ours compares, in words.

        Example:
            >>> ours = np.array([[-8.0, -6.0, -5.0], [-8.0, -6.2, -5.4]])
            >>> curve = published_curves()["cloud", "rql"]
            >>> beside_published(np.array([0.0, 100, 200]), ours, curve).words
            'better at 1 (step 200), alike at 1, worse at 1 (step 100) of 3 published tests'
        """
        total, better, worse = len(self.steps), self.better, self.worse
        alike = total - len(better) - len(worse)
        if alike == total:
            return f"alike at all {total} published tests"
        parts = {
            f"better at {len(better)} ({_span(better)})": len(better),
            f"alike at {alike}": alike,
            f"worse at {len(worse)} ({_span(worse)})": len(worse),
        }
        return f"{', '.join(text for text in parts if parts[text])} of {total} published tests"


PRINTED = 5e-4
"""Published means are rounded to this."""


def _span(steps: Floats) -> str:
    """The first and the last of some steps, in words."""
    ends = [f"{step:,.0f}" for step in (*steps[:1], *steps[1:][-1:])]
    return f"{'step' if len(ends) == 1 else 'steps'} {' to '.join(ends)}"


def beside_published(steps: Floats, means: Floats, published: Band) -> Comparison | None:
    """Curves of runs beside a published one; None for fewer than two runs, which have no interval.

    Args:
        steps: Steps of our tests.
        means: A row per run: what its tests gave.
        published: The published curve; ours is interpolated at its steps, and it is compared as
            far as ours goes.
    """
    if len(means) < 2 or not len(steps):
        return None
    there = published.steps <= steps[-1]
    at = published.steps[there]
    low, high = mean_interval(np.array([np.interp(at, steps, row) for row in means]))
    return Comparison(at, low, high, published.mean[there])
