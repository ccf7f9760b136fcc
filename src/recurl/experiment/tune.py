"""Search for settings with Optuna, on any engine.

Trials are chosen a few at once. All seeds of these trials run up to the same rung, then the medians
are compared and trials that are worse than the median of the earlier ones are given up. Decisions
are made at these points only, in the order of the trials, and every choice has its own seed:
so a search gives the same trials on every engine, and if it was stopped in between.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.errors import MissingExtraError, RecurlError
from recurl.execution.engine import PieceLink
from recurl.execution.lock import locked
from recurl.execution.pieces import Observer, PieceCounts, PieceOutcome, run_pieces
from recurl.execution.store import Store
from recurl.experiment.run import SAVE_EVERY, Worker, forget_partial
from recurl.experiment.search import Range, SettingsSearch, curve_score, trial_score
from recurl.experiment.study import experiment_optimum
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from recurl.experiment.settings import Run, SettingValues
    from recurl.model.rmdp import RMDP

STORAGE = "trials.db"
SCORES = "scores"
"""Scores of the seeds of a trial, kept with it."""


class Probe(NamedTuple):
    """A piece of a search: one seed of a trial on one model, up to a rung."""

    trial: int
    rung: int
    run: Run
    until: int


class _Shared(NamedTuple):
    models: dict[str, RMDP]
    optima: dict[str, float | None]
    store: Store
    save_every: float


class Tuned(NamedTuple):
    """The outcome of a search.

    Attributes:
        search: The search.
        study: The study of Optuna, with all trials.
        failures: Tracebacks of pieces that failed, by name.
    """

    search: SettingsSearch
    study: Any
    failures: dict[str, str]

    @property
    def best(self) -> SettingValues:
        """The settings of the best trial, those that were not searched included."""
        return {**self.search.method.settings, **self.study.best_trial.params}


class TuneWatch:
    """Observer of a search; this one does nothing."""

    def count(self, counts: PieceCounts) -> None:
        """The number of pieces in some state has changed."""

    def trial(self, number: int, score: float | None, state: str) -> None:
        """A trial is complete, given up (pruned) or failed."""

    def say(self, text: str) -> None:
        """Something that people should know."""


def optuna_module() -> Any:
    """Optuna, without its messages.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("Searching for settings", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def tune(
    search: SettingsSearch,
    out: str | os.PathLike[str],
    *,
    on: str = "local",
    workers: int | None = None,
    storage: str | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    save_every: float = SAVE_EVERY,
    retries: int = 0,
    watch: TuneWatch | None = None,
) -> Tuned:
    """Search for settings, or go on with a search that was stopped.

    Args:
        search: What to search.
        out: Folder of the search.
        on: The engine: ``"local"``, ``"processes"``, ``"ray"`` or ``"ray://HOST:PORT"``.
        workers: How many runs at once; all cores if not given.
        storage: Database for the trials, as Optuna names it; a SQLite file in the folder if not
            given.
        checkpoints: Folder or URL where unfinished runs are kept; the folder if not given.
        save_every: Seconds between two checkpoints of a run.
        retries: How often a run that fails is tried again before its trial has failed.
        watch: Told how it goes.

    Raises:
        MissingExtraError: Optuna is not installed.
        BusyError: Another process works in the folder.
        KeyboardInterrupt: After everything is saved.
    """
    optuna, folder = optuna_module(), Path(out)
    with locked(folder):
        models = {one.name: one.model.make() for one in search.experiments}
        optima = _optima(search, models, folder)
        store = Store(folder if checkpoints is None else checkpoints)
        url = storage or f"sqlite:///{folder.absolute() / STORAGE}"
        trials = optuna.storages.get_storage(url)
        study = optuna.create_study(
            storage=trials,
            study_name=search.method.name,
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=search.at_once),
            load_if_exists=True,
        )
        driver = _Trials(search, study, trials, store, watch or TuneWatch())
        run_pieces(
            _probe,
            driver.begin(),
            shared=_Shared(models, optima, store, save_every),
            on=on,
            workers=workers,
            retries=retries,
            observer=driver,
        )
        return Tuned(search, study, driver.failures)


def _optima(
    search: SettingsSearch, models: dict[str, RMDP], folder: Path
) -> dict[str, float | None]:
    """The optimum of each model; several models can be compared by it only."""
    found: dict[str, float | None] = {}
    for one in search.experiments:
        (folder / one.name).mkdir(parents=True, exist_ok=True)
        optimum = experiment_optimum(one, models[one.name], folder / one.name / "optimum.json")
        found[one.name] = optimum.value
        if optimum.value is None and len(search.experiments) > 1:
            raise RecurlError(
                f"the optimum of {one.name} is {optimum.method}: search on this model alone"
            )
    return found


def _probe(shared: _Shared, probe: Probe, link: PieceLink) -> float:
    """The piece: learn up to the rung, and say how good the run was so far."""
    name = probe.run.experiment.name
    worker = Worker(probe.run, shared.models[name], shared.store, link)
    if worker.learner.steps < probe.until:
        worker.learn(probe.until, shared.save_every)
        worker.save()
    return curve_score(worker.learner.curve, probe.until, shared.optima[name])


class _Trials(Observer):
    """The trials that run now, from rung to rung."""

    def __init__(
        self, search: SettingsSearch, study: Any, storage: Any, store: Store, watch: TuneWatch
    ) -> None:
        self._search, self._study, self._store, self._watch = search, study, store, watch
        self._storage = storage
        self._trials: dict[int, Any] = {}
        self._rung = 0
        self._missing = 0
        self._scores: dict[int, dict[str, dict[int, float]]] = {}
        self.failures: dict[str, str] = {}

    def count(self, counts: PieceCounts) -> None:
        """Pass on how many pieces are in which state."""
        self._watch.count(counts)

    def say(self, text: str) -> None:
        """Pass on a message."""
        self._watch.say(text)

    def begin(self) -> list[Probe]:
        """Choose the next trials, or take up those that were interrupted; their first pieces."""
        from optuna.trial import Trial, TrialState

        known = self._study.get_trials(deepcopy=False)
        open_ = [one for one in known if one.state == TrialState.RUNNING]
        size = self._search.at_once
        first = min((one.number for one in open_), default=len(known)) // size * size
        last = min(first + size, self._search.trials)
        study = self._storage.get_study_id_from_name(self._study.study_name)
        id_of = self._storage.get_trial_id_from_study_id_trial_number
        self._trials = {one.number: Trial(self._study, id_of(study, one.number)) for one in open_}
        for number in range(len(known), last):
            self._trials[number] = self._choose(number)
        # One that was stopped while it reported repeats the report, which changes nothing.
        self._rung = min((len(one.intermediate_values) for one in open_), default=0)
        return self._probes()

    def _choose(self, number: int) -> Any:
        """A new trial, chosen by what is known of the others and its own seed."""
        optuna = optuna_module()
        seed = int(np.random.SeedSequence([self._search.seed, number]).generate_state(1)[0])
        self._study.sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        trial = self._study.ask()
        self._settings(trial)
        return trial

    def _settings(self, trial: Any) -> SettingValues:
        """The settings of a trial; those that are in the storage stay as they are."""
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # texts and nothing are choices for us
            for name, values in self._search.space.items():
                if not isinstance(values, Range):
                    found[name] = trial.suggest_categorical(name, values)
                elif isinstance(values.low, int) and isinstance(values.high, int):
                    found[name] = trial.suggest_int(name, values.low, values.high, log=values.log)
                else:
                    found[name] = trial.suggest_float(name, values.low, values.high, log=values.log)
        return found

    def _runs(self, number: int) -> list[Run]:
        trial = self._trials[number]
        experiments = self._search.trial(number, self._settings(trial))
        return [run for experiment in experiments for run in experiment.runs()]

    def _probes(self) -> list[Probe]:
        self._scores = {number: {} for number in self._trials}
        made = [
            Probe(number, self._rung, run, self._search.rung_steps(run.experiment, self._rung))
            for number in self._trials
            for run in self._runs(number)
        ]
        self._missing = len(made)
        return made

    def end(self, outcome: PieceOutcome) -> Iterable[Probe]:
        """Keep a score; after the last of a rung, decide which trials go on."""
        probe: Probe = outcome.item
        name, seed = probe.run.experiment.name, probe.run.seed
        if outcome.failed:
            self.failures[f"trial {probe.trial}, {name}, seed {seed}"] = outcome.error
        else:
            self._scores[probe.trial].setdefault(name, {})[seed] = outcome.result
        self._missing -= 1
        return self._decide() if not self._missing else ()

    def _decide(self) -> list[Probe]:
        last = self._rung == self._search.rungs - 1
        for number in sorted(self._trials):
            self._settle(number, last=last)
        self._rung += 1
        return self._probes() if self._trials else self.begin()

    def _settle(self, number: int, *, last: bool) -> None:
        """Report the score of a trial at this rung, and end it where it is time to."""
        from optuna.trial import TrialState

        trial, runs = self._trials[number], self._runs(number)
        # In the order of the seeds, whichever was first.
        found = sorted(self._scores[number].items())
        scores = {name: [each[seed] for seed in sorted(each)] for name, each in found}
        if sum(map(len, scores.values())) < len(runs):
            self._end(number, None, TrialState.FAIL)
            return
        score = trial_score(scores)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reported before it was stopped
            trial.report(score, self._rung)
        trial.set_user_attr(SCORES, scores)
        if last:
            self._end(number, score, TrialState.COMPLETE)
        elif trial.should_prune():
            self._end(number, score, TrialState.PRUNED)

    def _end(self, number: int, score: float | None, state: Any) -> None:
        from optuna.trial import TrialState

        for run in self._runs(number):
            forget_partial(self._store, run)
        final = score if state is TrialState.COMPLETE else None
        self._study.tell(self._trials.pop(number), final, state=state)
        self._watch.trial(number, score, state.name.lower())


def write_best(tuned: Tuned, path: Path) -> None:
    """Write the best settings as a document that ``experiment`` and ``learn`` take."""
    import yaml

    method, first = tuned.search.method, tuned.search.experiments[0]
    entry = {"algorithm": method.algorithm, **tuned.best}
    models = {
        one.name: {
            **({"zoo": one.model.zoo} if one.model.zoo else {"file": one.model.file}),
            **({"parameters": one.model.parameters} if one.model.parameters else {}),
            "steps": one.steps,
        }
        for one in tuned.search.experiments
    }
    document = {
        "seeds": list(first.seeds),
        "settings": first.settings,
        "models": models,
        "methods": {method.name: entry},
    }
    write_atomic(path, yaml.safe_dump(document, sort_keys=False))
