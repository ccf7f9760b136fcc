from __future__ import annotations

from pathlib import Path

import pytest

from recurl.experiment.document import ExperimentError, load_experiments

TEXT = """\
seeds: [3, 5]
steps: 2e3
settings: {episode_limit: 200, evaluate_every: 500}
models:
  cloud:
  small: {zoo: cloud, parameters: {exits: 1}, steps: 1000}
methods:
  recursive: {algorithm: rql, learning_rate: 0.02}
  swift: {preset: swift, learning_rate: "harmonic(offset=10)"}
"""


def test_a_file_is_one_experiment_per_model(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(TEXT)
    first, second = load_experiments(tmp_path / "study.yaml")
    assert (first.name, first.steps, first.seeds) == ("cloud", 2000, (3, 5))
    assert (second.name, second.steps) == ("small", 1000)
    assert second.model.make().kind.one_exit
    assert next(first.runs()).settings == {
        "episode_limit": 200,
        "evaluate_every": 500,
        "learning_rate": 0.02,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "is not a mapping"),
        ("{modles: {}}", "unknown: modles"),
        ("{models: {cloud: }, methods: {a: {algorithm: sarsa}}, steps: 10}", "Unknown algorithm"),
        ("{models: {cloud: }, methods: {a: }}", "how many steps"),
        ("{models: {cloud: }, steps: 10}", "names no methods"),
        ("{models: [", "study.yaml"),
        ("{models: {../cloud: {zoo: cloud}}, methods: {a: }, steps: 10}", "a name is made of"),
        ("{models: {cloud: }, methods: {a/b: }, steps: 10}", "a name is made of"),
        ("{models: {cloud: }, methods: {a: {alpha: 1}}, steps: 10}", "did you mean learning_rate"),
        ("{models: {cloud: }, methods: {a: {learning_rate: 7}}, steps: 10}", "within .* not 7"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(ExperimentError, match=message):
        load_experiments(tmp_path / "study.yaml")
