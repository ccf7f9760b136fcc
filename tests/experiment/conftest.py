"""A small study that most tests look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import recurl
from recurl.experiment.options import learner_class
from recurl.experiment.paper import paper_experiments
from recurl.experiment.run import run_experiments
from recurl.experiment.settings import Experiment
from recurl.experiment.study import Study, read_study


@pytest.fixture(scope="session")
def small() -> Experiment:
    """Cloud for a few steps, two seeds."""
    cloud = paper_experiments(seeds=2)["cloud"]
    return msgspec.structs.replace(cloud, steps=2_000)


@pytest.fixture(scope="session")
def study(small: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The same, run."""
    out = tmp_path_factory.mktemp("study")
    run_experiments([small], out)
    return read_study(Path(out) / "cloud")


def learn_into(
    folder: Path, algorithm: str, *, model: Any = None, seeds: int = 1, **settings: Any
) -> list[Any]:
    """A folder as ``recurl learn`` writes it, and its learners."""
    model = model or recurl.zoo.cloud()
    folder.mkdir(exist_ok=True)
    settings = {"preset": "swift", "episode_limit": 200, "quantum": None, **settings}
    asked = {"algorithm": algorithm, "seeds": list(range(seeds)), "settings": settings}
    (folder / "run.json").write_text(json.dumps(asked))
    recurl.dump(model, folder / "model.json")
    kind: Any = learner_class(algorithm)
    learners = [kind(model, seed=seed, **settings).learn(1_000) for seed in range(seeds)]
    for learner in learners:
        learner.save(folder / f"seed-{learner.settings.seed}.ckpt")
    return learners
