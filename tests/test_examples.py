"""Every example runs, draws its figure, and shows what it claims; the quick form of each."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.automaton.test_product import plain_value
from tests.zoo.test_brackets import best_by_count

from recurl.automaton import gridworld, load_reward_machine
from recurl.cli.app import app

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
        assert "    if context >= 8:\n" in capsys.readouterr().out

    def test_a_client_that_knows_its_caller_wins(self, tmp_path: Path) -> None:
        found = run("retry_client", tmp_path / "retry.png")
        assert found["RecursiveQLearning"] > found["QLearning"] + 1

    def test_a_deep_learner_counts_tickets_on_a_road_of_continuous_places(
        self, tmp_path: Path
    ) -> None:
        found = run("toll_road", tmp_path / "toll_road.png")
        assert found["DeepRecursiveQLearning"] > 0.8 * found["best"]
        assert found["DeepRecursiveQLearning"] < found["best"] + 1  # chance of 200 episodes
        assert found["DQN"] < 0.3 * found["best"]

    def test_a_learned_order_needs_fewer_nodes(self, tmp_path: Path) -> None:
        found = run("queens", tmp_path / "queens.png")
        assert found.pop("learned") <= min(found.values())

    def test_a_learned_sort_is_cheaper_than_any_pure_one(self, tmp_path: Path) -> None:
        found = run("sort_tuning", tmp_path / "sort.png")
        assert found.pop("learned") <= min(found.values())


def solved(name: str, capsys: pytest.CaptureFixture[str]) -> float:
    """The value that the command line finds for a file, after checking and describing it."""
    file = str(EXAMPLES / name)
    for verb in ("check", "describe"):
        assert app([verb, file], standalone_mode=False) in (None, 0)
    capsys.readouterr()
    app(["solve", file, "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert found["upper"] - found["lower"] <= 1e-6
    return (found["lower"] + found["upper"]) / 2


class TestFiles:
    def test_brackets_are_worth_what_counting_them_says(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        best = best_by_count("S.(./.#../)..G", breakdown=0.05, closed=2)
        assert solved("brackets.yaml", capsys) == pytest.approx(best, abs=1e-6)

    def test_a_left_recursive_grammar_is_worth_what_counting_brackets_says(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        best = best_by_count("S(.(./####./G).).", breakdown=0.05, closed=0)
        assert best == pytest.approx(10 * 0.95**10)
        assert solved("nested.yaml", capsys) == pytest.approx(best, abs=1e-6)

    def test_coffee_is_worth_what_the_plain_product_says(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        grid = gridworld("c.#o/..#./S...", slip="0.1", breakdown="0.02")
        best = plain_value(grid, load_reward_machine(EXAMPLES / "reward_machine.txt"))
        assert solved("coffee.yaml", capsys) == pytest.approx(best, abs=1e-6)

    def test_the_epidemic_costs_what_its_two_equations_say(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        # Isolate and treat: m = -2 + v/5 and v = -13 + m/5.
        assert solved("epidemic.yaml", capsys) == pytest.approx(-115 / 24, abs=1e-6)

    def test_the_reward_machine_is_worth_two_words(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        # Say c and o: the second word, which pays 1, is reached with probability 0.99.
        assert solved("reward_machine.txt", capsys) == pytest.approx(0.99, abs=1e-6)


def test_none_is_forgotten() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in NAMES if f'run("{name}"' not in text] == []
    files = [path.name for path in EXAMPLES.iterdir() if path.suffix in (".yaml", ".txt")]
    assert [name for name in files if f'"{name}"' not in text] == []
