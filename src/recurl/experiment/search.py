"""Search for settings: what is searched, and how a trial is scored."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from recurl.experiment.document import mapping, read_experiments, read_file, scalar, whole_number
from recurl.experiment.options import check_settings
from recurl.experiment.settings import Experiment, Method, SettingValues
from recurl.model.report import shown

if TYPE_CHECKING:
    from recurl.learn.curve import Curve

MOST_TRIALS = 100_000
OWN = {"search", "trials", "at_once", "rungs", "seed"}
"""Keys of a search beside those of an experiment."""


class Range(msgspec.Struct, frozen=True):
    """Numbers from one to another; whole ones if both ends are whole."""

    low: float | int
    high: float | int
    log: bool = False


Choices = tuple[Any, ...]
Space = dict[str, Range | Choices]


class SettingsSearch(msgspec.Struct, frozen=True):
    """A search for the settings of one method.

    Attributes:
        experiments: One for each model, with the method whose settings are searched.
        space: The values of each setting that is searched.
        trials: How many settings are tried.
        at_once: How many trials are chosen before the results of the first of them are known.
        rungs: How often a trial may be given up on its way.
        seed: Seed of the choices.
    """

    experiments: tuple[Experiment, ...]
    space: Space
    trials: int
    at_once: int = 4
    rungs: int = 4
    seed: int = 0

    @property
    def method(self) -> Method:
        """The method whose settings are searched."""
        return self.experiments[0].methods[0]

    def trial(self, number: int, settings: SettingValues) -> list[Experiment]:
        """The experiments of a trial.

        Example:
            >>> search = read_search({"models": {"cloud": ""}, "methods": {"a": {}}, "steps": "10",
            ...     "search": {"learning_rate": ["0.1", "0.2"]}, "trials": "3"})
            >>> [one.name for one in search.trial(2, {"learning_rate": 0.1})[0].runs()]
            ['trial-2-0']
        """
        base = self.method
        own = {**base.settings, **settings}
        method = msgspec.structs.replace(base, name=f"trial-{number}", settings=own)
        return [msgspec.structs.replace(one, methods=(method,)) for one in self.experiments]

    def rung_steps(self, experiment: Experiment, rung: int) -> int:
        """Steps of a run at a rung; the last is its end."""
        return -(-experiment.steps * (rung + 1) // self.rungs)


def load_search(path: str | os.PathLike[str]) -> SettingsSearch:
    """A search from a file: an experiment with one method, and the keys of a search.

    ``search`` names the settings that are searched: a list of values, or ``low``, ``high`` and
    ``log: true`` where numbers are compared by their ratios. ``trials`` is the budget; ``at_once``,
    ``rungs`` and ``seed`` may be left out.

    Raises:
        ExperimentError: Something is missing, unknown or wrong.
    """
    return read_file(path, read_search)


def read_search(tree: Any, folder: Path = Path()) -> SettingsSearch:
    """The same from what a YAML reader made of the file.

    Example:
        >>> search = read_search({"models": {"cloud": ""}, "methods": {"a": {"algorithm": "q"}},
        ...     "steps": "1e3", "seeds": "3", "trials": "8", "search": {
        ...     "learning_rate": {"low": "0.01", "high": "1", "log": "true"}}})
        >>> search.space["learning_rate"]
        Range(low=0.01, high=1, log=True)
    """
    top = mapping(tree, "the file")
    plain = {key: value for key, value in top.items() if key not in OWN}
    experiments = tuple(read_experiments(plain, folder))
    if len(experiments[0].methods) != 1:
        raise ValueError("a search is for the settings of one method: name one under methods")
    if "trials" not in top:
        raise ValueError("say how many trials there are")
    numbers = {
        key: whole_number(top[key], key, 0 if key == "seed" else 1, MOST_TRIALS)
        for key in ("trials", "at_once", "rungs", "seed")
        if key in top
    }
    space = {
        name: _values(name, entry) for name, entry in mapping(top.get("search"), "search").items()
    }
    if not space:
        raise ValueError("names no settings: list them under search, each with its values")
    made = SettingsSearch(experiments, space, **numbers)
    _check(made)
    return made


def _values(name: str, entry: Any) -> Range | Choices:
    found = scalar(entry)
    if isinstance(found, list) and found:
        return tuple(found)
    if isinstance(found, dict) and {"low", "high"} <= set(found) <= {"low", "high", "log"}:
        made = msgspec.convert(found, Range)
        if made.low < made.high and (made.low > 0 or not made.log):
            return made
    raise ValueError(
        f"search {name}: {shown(found)} is neither a list of values nor low, high and log"
    )


def _check(search: SettingsSearch) -> None:
    """Refuse values that the method cannot take, before anything runs."""
    for name, values in search.space.items():
        ends = (values.low, values.high) if isinstance(values, Range) else values
        for value in ends:
            for experiment in search.trial(0, {name: value}):
                run = next(experiment.runs())
                check_settings(run.method.algorithm, run.settings)


def curve_score(curve: Curve, until: int, optimum: float | None) -> float:
    """How good a learner was up to a step: the mean of its tests, as a share of the optimum.

    0 is a run that is optimal from its first test on; where the optimum is not known, the mean
    itself.

    Example:
        >>> import numpy as np
        >>> from recurl.learn.curve import Curve
        >>> rows = np.zeros((2, 8))
        >>> rows[:, 0], rows[:, 1] = [100, 200], [-3.0, -2.0]
        >>> curve_score(Curve(rows), 200, -2.0)
        -0.25
    """
    array = curve.array
    means = array[(array[:, 0] > 0) & (array[:, 0] <= until), 1]
    value = float(means.mean()) if len(means) else math.nan
    return value if optimum is None else (value - optimum) / max(abs(optimum), 1e-9)


def trial_score(scores: Mapping[str, Sequence[float]]) -> float:
    """The score of a trial: the median over the seeds of each model, and the mean of those.

    Example:
        >>> trial_score({"cloud": [-0.5, -0.1, -0.2], "gambler": [-0.4]})
        -0.30000000000000004
    """
    medians = [median(each) for each in scores.values()]
    return sum(medians) / len(medians)
