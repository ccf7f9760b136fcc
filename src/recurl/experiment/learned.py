"""Folders that ``recurl learn`` writes, as studies: any saved runs can be reported on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recurl.errors import CheckpointError, RecurlError
from recurl.experiment.options import learner_class
from recurl.experiment.record import Record, curve_columns, run_record
from recurl.experiment.run import exact_value
from recurl.experiment.settings import Experiment, Method, ModelChoice, Run
from recurl.experiment.study import MODEL, OPTIMUM, Study, optimum_of
from recurl.model.limits import cut, read_note

if TYPE_CHECKING:
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy

ASKED = "run.json"
"""What was asked of ``recurl learn``, beside the model and a checkpoint for each seed."""

WORDS = {
    "rql": "recursive Q-learning",
    "q": "flat Q-learning",
    "deep-rql": "deep recursive Q-learning",
    "dqn": "DQN",
}


def read_learned(folder: Path) -> Study:
    """The runs of a folder as a study of one method, which is named after the folder.

    What a checkpoint does not know is missing in the records: the time that the run took, and the
    machine. The final policies are evaluated exactly, and tested where the run was not.

    Raises:
        CheckpointError: The folder holds no run that is saved, or what was asked is damaged.
    """
    from recurl.model.document import load

    algorithm, seeds, settings = _asked(folder / ASKED)
    files = {seed: folder / f"seed-{seed}.ckpt" for seed in seeds}
    saved = {seed: file for seed, file in files.items() if file.is_file()}
    if not saved:
        raise CheckpointError(f"no run in {folder} has been saved yet")
    model = load(folder / MODEL)
    experiment = Experiment(
        name=model.name,
        model=ModelChoice(file=str(folder / MODEL)),
        methods=(Method(folder.as_posix(), algorithm, settings, f"{WORDS[algorithm]}, {folder}"),),
        steps=1,
        seeds=tuple(saved),
    )
    found = [_read(run, model, saved[run.seed]) for run in experiment.runs()]
    return Study(
        folder=folder,
        experiment=_lasting(experiment, [record for record, _ in found]),
        model=model,
        optimum=optimum_of(model, folder / OPTIMUM),
        records=tuple(record for record, _ in found),
        missing=len(seeds) - len(saved),
        policies={f"{r.method}-{r.seed}": policy for r, policy in found if policy is not None},
    )


def _asked(path: Path) -> tuple[str, list[int], dict[str, Any]]:
    try:
        asked = read_note(path, dict[str, Any])
        algorithm, seeds = str(asked["algorithm"]), [int(seed) for seed in asked["seeds"]]
        settings = {name: x for name, x in asked["settings"].items() if x is not None}
        learner_class(algorithm)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecurlError) as error:
        words = cut(f"{type(error).__name__}: {error}")
        raise CheckpointError(f"{path} is damaged: {words}") from error
    return algorithm, seeds, settings


def _lasting(experiment: Experiment, records: Iterable[Record]) -> Experiment:
    """The experiment with the steps of its longest run."""
    steps = max((record.steps for record in records), default=1)
    return msgspec.structs.replace(experiment, steps=max(1, steps))


def _read(run: Run, model: RMDP, file: Path) -> tuple[Record, Policy | None]:
    """A record of a checkpoint, and its policy; one that cannot be read is a failed run."""
    try:
        learner: Any = learner_class(run.method.algorithm).load(file, model)
        policy: Policy = learner.policy()
    except RecurlError as error:
        return run_record(run, error=str(error)), None
    record = run_record(
        run,
        config={**run.config, "steps": learner.steps},
        model={"name": model.name, "kind": str(model.kind), "fingerprint": model.fingerprint},
        steps=learner.steps,
        episodes=int(learner.engine.episodes),
        curve=_curve(learner),
        exact=exact_value(policy),
    )
    return record, policy


def _curve(learner: Learner) -> dict[str, list[float | None]]:
    """The curve of a run, with a test at its end if there is none."""
    if not len(learner.curve) or learner.curve.last.steps < learner.steps:
        learner.curve.add(learner.test())
    return curve_columns(learner.curve)


def joined(studies: Iterable[Study]) -> list[Study]:
    """Studies on the same model as one, with the methods of all of them side by side."""
    by_model: dict[str, Study] = {}
    for study in studies:
        known = by_model.get(study.model.fingerprint)
        by_model[study.model.fingerprint] = study if known is None else _both(known, study)
    return list(by_model.values())


def _both(one: Study, other: Study) -> Study:
    first, second = one.experiment, other.experiment
    experiment = msgspec.structs.replace(
        first,
        methods=(*first.methods, *second.methods),
        seeds=tuple(sorted({*first.seeds, *second.seeds})),
        steps=max(first.steps, second.steps),
    )
    return one._replace(
        experiment=experiment,
        records=(*one.records, *other.records),
        missing=one.missing + other.missing,
        policies={**one.policies, **other.policies},
    )
