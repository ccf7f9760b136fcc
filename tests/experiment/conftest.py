"""A small study that most tests look at."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recurl.experiment.paper import paper_experiments
from recurl.experiment.runner import run_experiments
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
