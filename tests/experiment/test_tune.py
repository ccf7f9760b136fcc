from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recurl.errors import BusyError, MissingExtraError
from recurl.execution.lock import locked
from recurl.execution.pieces import PieceCounts
from recurl.experiment.document import load_experiments
from recurl.experiment.search import SettingsSearch, read_search
from recurl.experiment.tune import TuneWatch, tune
from recurl.experiment.tune_report import complete_trials, importance, trial_rows, write_tuned

pytest.importorskip("optuna", reason="needs the extra 'tune'")


@pytest.fixture(scope="module")
def search() -> SettingsSearch:
    return read_search(
        {
            "models": {"cloud": ""},
            "methods": {"small": {"algorithm": "rql", "preset": "paper"}},
            "settings": {"episode_limit": "200", "evaluate_every": "100"},
            "steps": "800",
            "seeds": "3",
            "trials": "7",
            "at_once": "3",
            "rungs": "2",
            "search": {
                "learning_rate": {"low": "0.001", "high": "1.0", "log": "true"},
                "exploration": ["0.05", "0.1", "linear(1, 0.1, 400)"],
            },
        }
    )


@pytest.fixture(scope="module")
def tuned(search: SettingsSearch, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tune(search, tmp_path_factory.mktemp("tuned"))


def facts(tuned: Any) -> list[tuple[Any, ...]]:
    """All that is known of the trials, but for the time."""
    return [
        (one.number, one.state.name, one.params, one.intermediate_values, one.user_attrs)
        for one in tuned.study.trials
    ]


def test_a_trial_is_the_median_over_its_seeds_and_may_be_given_up(tuned: Any) -> None:
    states = [one.state.name for one in tuned.study.trials]
    assert len(states) == 7
    assert "PRUNED" in states
    assert states[:3] == ["COMPLETE"] * 3
    for one in tuned.study.trials:
        scores = one.user_attrs["scores"]["cloud"]
        assert len(scores) == 3
        assert one.intermediate_values[max(one.intermediate_values)] == sorted(scores)[1]
    assert not tuned.failures


def test_the_trials_are_the_same_on_processes(
    search: SettingsSearch, tuned: Any, tmp_path: Path
) -> None:
    assert facts(tune(search, tmp_path, on="processes", workers=2)) == facts(tuned)


class Stopping(TuneWatch):
    """Presses Ctrl-C when some pieces are done."""

    def __init__(self, done: int) -> None:
        self._done = done

    def count(self, counts: PieceCounts) -> None:
        if counts.done >= self._done:
            raise KeyboardInterrupt


@pytest.mark.parametrize("done", [4, 11, 20])
def test_a_search_that_was_stopped_goes_on(
    done: int, search: SettingsSearch, tuned: Any, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        tune(search, tmp_path, watch=Stopping(done), workers=2)
    assert facts(tune(search, tmp_path)) == facts(tuned)
    assert not list(tmp_path.rglob("*.checkpoint"))


def test_more_trials_and_another_storage(search: SettingsSearch, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    few = msgspec.structs.replace(search, trials=3)
    assert len(tune(few, tmp_path / "out", storage=storage).study.trials) == 3
    more = msgspec.structs.replace(search, trials=5)
    assert len(tune(more, tmp_path / "out", storage=storage).study.trials) == 5
    assert (tmp_path / "elsewhere.db").is_file()


def test_a_trial_that_fails_does_not_end_the_search(search: SettingsSearch, tmp_path: Path) -> None:
    failing = msgspec.structs.replace(search, space={"memory": (1, 10**9)}, trials=4)
    found = tune(failing, tmp_path)
    states = {one.params["memory"]: one.state.name for one in found.study.trials}
    assert states[1] == "FAIL"
    assert any("LimitError" in error for error in found.failures.values())


def test_the_best_settings_are_a_document(tuned: Any, tmp_path: Path) -> None:
    best, figure, report = write_tuned(tuned, tmp_path)
    (experiment,) = load_experiments(best)
    (method,) = experiment.methods
    assert method.settings == tuned.best
    assert method.settings["preset"] == "paper"
    assert figure.read_bytes().startswith(b"\x89PNG")
    page = report.read_text()
    assert "importance" in page
    assert "data:image/svg+xml" in page
    assert page.count("<tr>") >= 8


def test_importance_is_shared_out(tuned: Any) -> None:
    assert len(complete_trials(tuned)) >= 4
    shares = importance(tuned)
    assert set(shares) == {"learning_rate", "exploration"}
    assert sum(shares.values()) == pytest.approx(1)
    assert len(trial_rows(tuned)) == 7


def test_a_folder_in_use_is_refused(search: SettingsSearch, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(BusyError):
        tune(search, tmp_path)


def test_a_missing_extra_is_named(
    search: SettingsSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"recurl\[tune\]"):
        tune(search, tmp_path)
