"""Every example runs, draws its figure, and shows what it claims; the quick form of each."""

from __future__ import annotations

import importlib
import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.automaton.test_product import plain_value
from tests.zoo.test_brackets import best_by_count

from recurl.automaton import gridworld, load_reward_machine
from recurl.cli.app import app

EXAMPLES = Path(__file__).parents[1] / "examples"
PARTS = ("answer_table", "call_graphs", "common", "flaky_server", "stub_model")
"""Modules that examples share or are divided into."""
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in PARTS)


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples can be imported, and leave nothing behind."""
    monkeypatch.syspath_prepend(EXAMPLES)
    for name in (*PARTS, *NAMES):
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
        assert found["DeepRecursiveQLearning"] < found["best"] + 1  # chance of 100 episodes
        assert found["DQN"] < 0.3 * found["best"]

    def test_a_learned_order_needs_fewer_nodes(self, tmp_path: Path) -> None:
        found = run("queens", tmp_path / "queens.png")
        assert found.pop("learned") <= min(found.values())

    def test_a_learned_sort_is_cheaper_than_any_pure_one(self, tmp_path: Path) -> None:
        found = run("sort_tuning", tmp_path / "sort.png")
        assert found.pop("learned") <= min(found.values())


@pytest.mark.usefixtures("examples")
class TestRetries:
    def test_retries_that_depend_on_the_caller_spare_the_broken_service_and_the_pages(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = run("retries", tmp_path / "retries.png")
        assert (tmp_path / "retries_live.png").stat().st_size > 5000
        assert found["tower"] == pytest.approx(64)
        assert found["width"] < 1e-3
        best = found["by caller: cost"]
        others = [v for k, v in found.items() if k.endswith(": cost") and k != "by caller: cost"]
        assert len(others) == 6
        assert best < min(others)
        assert found["by caller: load"] < found["4 attempts: load"] / 5
        assert found["by caller: answered"] > 0.999 > 0.8 > found["retry budget 20 %: answered"]
        assert "when called at web.search #4" in capsys.readouterr().out
        # The client learns, and learns again when the rates change.
        assert found["before"] < 1.15 * found["best before"]
        assert found["after"] < found["frozen"] - 2

    def test_traces_give_back_the_graph_that_they_were_drawn_from(self, tmp_path: Path) -> None:
        graphs = importlib.import_module("call_graphs")
        graph = graphs.drawn(5, recursive=True)
        graphs.write_traces(tmp_path / "calls.csv", graphs.sampled(graph, 10_000))
        read = graphs.read_traces(tmp_path / "calls.csv")
        assert read.root == graph.root
        assert read.recursive
        for name, service in graph.services.items():
            found = read.services[name]
            assert found.failure == pytest.approx(service.failure, abs=0.01)
            assert found.cost == pytest.approx(service.cost)
            by_name = {call.to: call for call in found.calls}
            assert set(by_name) == {call.to for call in service.calls}
            for call in service.calls:
                assert by_name[call.to].chance == pytest.approx(call.chance, abs=0.08)
                assert by_name[call.to].without == pytest.approx(call.without)
        retries = importlib.import_module("retries")
        costs = [-retries.certified(retries.model(g)).value for g in (graph, read)]
        assert costs[1] == pytest.approx(costs[0], rel=0.05)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ("trace,call\n", "no column parent, service, failed, cost: the first line must name"),
            ("", "there is no column trace"),
            ("{head}", "there are no calls"),
            ("{head}t,1,,web,maybe,1", "line 2: failed is 'maybe': write 0 or 1"),
            ("{head}t,1,,web,0,-3", "line 2: cost is '-3': write a number"),
            ("{head}t,1,,web,0,", "line 2: cost is ''"),
            ("{head}t,1,,a.b,0,1", "line 2: service is 'a.b': write a name without dots"),
            ("{head}t,1,,web,0,1\nt,1,,web,0,1", "line 3: call 1 of trace t is there twice"),
            ("{head}t,1,,web,0,1\nt,2,7,cart,0,1", "line 3: parent '7' is not a call"),
            ("{head}t,1,1,web,0,1", "no call has an empty parent"),
        ],
    )
    def test_a_wrong_file_of_traces_is_one_clear_error(
        self, tmp_path: Path, rows: str, message: str
    ) -> None:
        graphs = importlib.import_module("call_graphs")
        path = tmp_path / "calls.csv"
        path.write_text(rows.replace("{head}", "trace,call,parent,service,failed,cost\n"))
        with pytest.raises(ValueError, match=re.escape(message)):
            graphs.read_traces(path)


@pytest.mark.usefixtures("examples")
class TestCallOrAnswer:
    def test_the_best_agent_is_above_all_fixed_depths(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = run("call_or_answer", tmp_path / "answers.png")
        assert found["limit 0 6"] == pytest.approx(20 * (1 - 0.85**3) - 2 * (1 + 0.85 + 0.85**2))
        for budget in (6, 12, 16):
            others = [found[f"limit {n} {budget}"] for n in (0, 1, 2, 3, 5)]
            assert found[f"best {budget}"] > max(others) - 1e-9
        assert found["best 12"] > found["limit 2 12"] + 0.5
        assert found["best 16"] > found["limit 3 16"] + 5
        assert 2 < found["live"] < found["best 12"] + 0.5  # chance of 2,000 questions
        out = capsys.readouterr().out
        assert "at depth 1 with 2 left, the caller has 6 left: give up" in out
        assert "at depth 1 with 2 left, the caller has 1 left: answer" in out

    def test_a_table_may_be_yaml(self, tmp_path: Path) -> None:
        tables = importlib.import_module("answer_table")
        rows = tables.read_table(EXAMPLES / "answers.csv")
        lines = [f"- {{depth: {i}, {_keys(row)}}}" for i, row in enumerate(rows)]
        (tmp_path / "answers.yaml").write_text("\n".join(lines))
        assert tables.read_table(tmp_path / "answers.yaml") == rows

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("a.csv", "depth,tokens\n", "there are no rows"),
            ("a.csv", "depth,tokens\n0,1\n", "row 1: there is no accuracy, split_tokens"),
            ("a.csv", "{head}1,2,0.5,1,0.9", "row 1: depth is 1: write 0"),
            ("a.csv", "{head}0,2.5,0.5,1,0.9", "row 1: tokens is '2.5': write a whole number"),
            (
                "a.csv",
                "{head}0,2,1.5,1,0.9",
                "row 1: accuracy is '1.5': write a number from 0 to 1",
            ),
            ("a.yaml", "depth: 0", "write a list of mappings"),
        ],
    )
    def test_a_wrong_table_is_one_clear_error(
        self, tmp_path: Path, name: str, text: str, message: str
    ) -> None:
        head = "depth,tokens,accuracy,split_tokens,join_accuracy\n"
        (tmp_path / name).write_text(text.replace("{head}", head))
        tables = importlib.import_module("answer_table")
        with pytest.raises(ValueError, match=re.escape(message)):
            tables.read_table(tmp_path / name)


@pytest.mark.usefixtures("examples")
class TestSlippingPlans:
    def test_the_more_blocks_slip_the_smaller_the_loads(self, tmp_path: Path) -> None:
        found = run("slipping_plans", tmp_path / "plans.png")
        for p, cost, blocks in (
            (0.2, 0.8**-8, 8),
            (0.4, 3 * 0.6**-4, 4),
            (0.5, 36, 2),
            (0.7, 90, 1),
        ):
            assert found[f"best {p}"] == pytest.approx(cost, abs=1e-6)
            assert found[f"load {p}"] == blocks
            assert found[f"plan {p}"] == pytest.approx((1 - p) ** -8)

    @pytest.mark.parametrize("p", ["0", "3/10", "1/2"])
    def test_the_domain_in_hddl_is_the_same(self, p: str) -> None:
        pytest.importorskip("unified_planning", reason="needs the extra planning")
        plans = importlib.import_module("slipping_plans")
        found = plans.certified(plans.hddl_model(Fraction(p))).value
        best = plans.certified(plans.move.model(8, Fraction(p))).value
        assert found == pytest.approx(best, abs=1e-6)


def _keys(row: Any) -> str:
    return ", ".join(f"{name}: {value}" for name, value in row._asdict().items())


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
