"""Every example runs, draws its figure, and shows what it claims; the quick form of each."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "common")


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples can be imported, and leave nothing behind."""
    monkeypatch.syspath_prepend(EXAMPLES)
    for name in ("common", *NAMES):
        monkeypatch.delitem(sys.modules, name, raising=False)


def run(name: str, plot: Path) -> dict[str, float]:
    common = importlib.import_module("common")
    module: ModuleType = importlib.import_module(name)
    found: dict[str, float] = module.main(common.Settings(quick=True, plot=plot))
    assert plot.stat().st_size > 5000
    return found


@pytest.mark.usefixtures("examples")
class TestPrograms:
    def test_cloud_earns_what_is_claimed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = run("cloud_program", tmp_path / "cloud.png")
        assert found["value"] == pytest.approx(-5.3425, abs=1e-4)
        assert found["value"] == pytest.approx(found["zoo"], abs=2e-6)
        assert abs(found["mean"] - found["value"]) < 5 * found["error"]
        assert "if 'divide' == 'mono':" in capsys.readouterr().out

    def test_a_client_that_knows_its_caller_wins(self, tmp_path: Path) -> None:
        found = run("retry_client", tmp_path / "retry.png")
        assert found["RecursiveQLearning"] > found["QLearning"] + 1

    def test_a_learned_order_needs_fewer_nodes(self, tmp_path: Path) -> None:
        found = run("queens", tmp_path / "queens.png")
        assert found.pop("learned") <= min(found.values())

    def test_a_learned_sort_is_cheaper_than_any_pure_one(self, tmp_path: Path) -> None:
        found = run("sort_tuning", tmp_path / "sort.png")
        assert found.pop("learned") <= min(found.values())


def test_none_is_forgotten() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in NAMES if f'run("{name}"' not in text] == []
