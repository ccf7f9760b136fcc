"""Time and memory that solving may take."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import recurl
from recurl.cli.app import app
from recurl.errors import LimitError

MODELS = {
    "linear-program": {"kind": "one_exit", "components": 4, "nodes": 300},
    "policy-iteration": {
        "kind": "one_exit", "components": 20, "nodes": 1000, "exit_probability": 0.01,
        "load": 0.999, "call_fraction": 0.4,
    },
    "certified": {"components": 12, "nodes": 80, "exits": 3},
    "longest path": {"kind": "deterministic", "components": 30, "nodes": 300, "exits": 3},
    "flattening": {"kind": "hierarchical", "components": 20, "nodes": 100},
    "evaluation": {"components": 30, "nodes": 200, "exits": 6, "actions": 1},
}  # fmt: skip


@pytest.mark.parametrize("method", MODELS)
def test_time_stops_every_method(method: str) -> None:
    model = recurl.zoo.random_model(**MODELS[method])
    asked = method if method in ("linear-program", "policy-iteration") else "auto"
    found = recurl.solve(model, asked, 1e-12, seconds=1e-3)
    assert "the time is up" in found.reason
    assert found.lower <= found.upper


def test_the_best_interval_by_then_is_proved() -> None:
    model = recurl.zoo.random_model(**MODELS["certified"])
    found = recurl.solve(model, epsilon=1e-9, seconds=1.5)
    assert "the time is up" in found.reason
    if math.isfinite(found.gap):
        proved = recurl.verify(model, found.certificate)
        assert (proved.lower, proved.upper) == (found.lower, found.upper)


def test_a_probability_is_between_0_and_1_whatever_the_time() -> None:
    model = recurl.zoo.random_model(**MODELS["certified"])
    exit_name = model.local_name(1)
    found = recurl.solve(model, of=f"exit:{exit_name}", seconds=1e-9)
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert found.policy is None


def test_enough_time_changes_nothing() -> None:
    cloud = recurl.zoo.cloud()
    assert recurl.solve(cloud, seconds=1000).lower == recurl.solve(cloud).lower


def test_memory_is_estimated_before_it_is_asked_for() -> None:
    model = recurl.zoo.random_model(**MODELS["certified"])
    with pytest.raises(LimitError, match=r"would take about .* GB .* fewer exits"):
        recurl.solve(model, memory=1e4)
    found = recurl.solve(model, of=f"exit:{model.local_name(1)}", memory=1e4)
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert "memory" in found.reason


def test_memory_that_ends_is_no_raw_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 36.6 GiB")

    monkeypatch.setattr("recurl.solving.scaled.scale_of", full)
    with pytest.raises(LimitError, match=r"cloud: there is not enough memory .*36.6 GiB"):
        recurl.solve(recurl.zoo.cloud())


@pytest.mark.parametrize("name", ["seconds", "memory"])
def test_limits_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is a limit"):
        recurl.solve(recurl.zoo.cloud(), **{name: 0})


def test_the_command_line(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["solve", "palindrome", "--seconds", "1e-9"])
    assert shown.exit_code == 3  # nothing is known: an open end
    assert "the time is up" in " ".join(shown.output.split())
    shown = CliRunner().invoke(app, ["solve", "palindrome", "--memory", "1000"])
    assert shown.exit_code == 1
    assert "GB of memory" in " ".join(shown.output.split())
