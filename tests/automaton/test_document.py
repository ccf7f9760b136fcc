from __future__ import annotations

from pathlib import Path

import pytest

import recurl
from recurl.automaton import Machine, alone, gridworld, load, loads, product, rule
from recurl.errors import DocumentError

WORLD = """
recurl: 1
name: fetch
grid:
  map: |
    S.A
    ..B
  slip: 1/10
  breakdown: 0.05
  step_reward: -0.1
machine:
  final: done
  exclusive: [[A, B, S]]
  rules:
    - {from: go, read: A, push: A _}
    - {from: go, read: B, top: A, push: "", reward: 1}
    - {from: go, read: S, top: bottom, to: done, reward: 2}
"""


def fetch() -> recurl.RMDP:
    grid = gridworld("S.A/..B", slip="1/10", breakdown="0.05", step_reward="-0.1")
    machine = Machine(
        "machine",
        [
            rule("go", "A", "go", push="A _"),
            rule("go", "B", "go", top="A", push="", reward=1),
            rule("go", "S", "done", top="bottom", reward=2),
        ],
        final="done",
        exclusive=["ABS"],
    )
    return product(grid, machine, "fetch")


def test_a_grid_with_a_machine() -> None:
    assert loads(WORLD) == fetch()


def test_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "fetch.yaml").write_text(WORLD)
    assert load(tmp_path / "fetch.yaml") == fetch()
    grid, _, machine = WORLD.partition("machine:\n")
    (tmp_path / "watch.yaml").write_text("recurl: 1\nmachine:\n" + machine)
    (tmp_path / "split.yaml").write_text(grid + "machine: watch.yaml\n")
    assert load(tmp_path / "split.yaml") == fetch()
    task = "0\n[1]\n(0,0,'!A',ConstantRewardFunction(0))\n(0,1,'A',ConstantRewardFunction(1))\n"
    (tmp_path / "task.txt").write_text(task)
    (tmp_path / "regular.yaml").write_text(grid + "machine: task.txt\n")
    assert load(tmp_path / "regular.yaml").tables.n_components == 1
    assert load(tmp_path / "task.txt").action_names(0) == ["A", "nothing"]
    # Without a world, runs go on with probability 0.99: saying A at once is best.
    assert recurl.solve(load(tmp_path / "task.txt")).value == pytest.approx(1)
    (tmp_path / "walk.yaml").write_text("{recurl: 1, grammar: {W: ['W W [0.4] {1}', '[0.6]']}}")
    assert recurl.solve(load(tmp_path / "walk.yaml")).value == pytest.approx(2)
    recurl.dump(recurl.zoo.cloud(), tmp_path / "cloud.yaml")
    assert load(tmp_path / "cloud.yaml") == recurl.zoo.cloud()


def test_a_machine_alone_is_a_game_of_words() -> None:
    machine = Machine(
        "ab",
        [
            rule("go", "a", "go", push="A _", reward=-1),
            rule("go", "b", "go", top="A", push="", reward=3),
            rule("go", "b", "done", top="bottom", reward=10),
        ],
        final="done",
        exclusive=["ab"],
    )
    model = alone(machine)
    assert list(model.names.components) == ["bottom", "A"]
    discounted = recurl.discount_steps(model, "1/2")
    # a b pays -1 + 3/2 and halves the rest twice: ending at once, 10, is best.
    assert recurl.solve(discounted).value == pytest.approx(10, abs=1e-6)


def test_a_machine_in_a_file_of_its_own_is_discounted() -> None:
    rules = "[{from: go, read: a, reward: 1}]"
    assert recurl.solve(loads(f"{{recurl: 1, machine: {{rules: {rules}}}}}")).value == (
        pytest.approx(100)
    )
    given = loads(f"{{recurl: 1, name: say, machine: {{rules: {rules}}}, discount: 0.9}}")
    assert recurl.solve(given).value == pytest.approx(10)
    assert given.name == "say"
    endless = loads(f"{{recurl: 1, machine: {{rules: {rules}}}, discount: 1}}")
    assert recurl.analyse(endless).verdict == "not proper"


def test_a_discount_and_a_start_distribution() -> None:
    text = (
        "{recurl: 1, grid: {map: a.b, start: {0 0: 1/4, 0 2: 3/4}, rewards: {a: 1}}, discount: 0.5}"
    )
    model = loads(text)
    # On a: bumping pays 1 at once, and half as much again ...: 2. From b: 1/4 of 1 + ... = 1.
    assert recurl.solve(model).value == pytest.approx(1 / 4 * 2 + 3 / 4 * 1, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WORLD.replace("slip: 1/10", "slip: 2"), "line 4: grid: slip"),
        (WORLD.replace("  map: |\n    S.A\n    ..B\n", ""), "grid: has no map"),
        (WORLD.replace("  slip", "  slop"), "line 8: .*did you mean 'slip'"),
        (
            WORLD.replace("S.A", "S.."),
            "line 11: machine: label, A: the process does not have it",
        ),
        ("{recurl: 1, grid: {map: a.b, start: {x: 1}}}", "is not a cell"),
        ("{recurl: 1,\ngrid: {map: a.b,\nstart: {0 0: 1/2}}}", "line 3: grid, start: .*sum to"),
        ("{recurl: 1, grid: {map: a.b, rewards: {c: 1}}}", "rewards: no cell of the map shows 'c'"),
        ("{recurl: 1, grid: {map: a.b, ends: c}}", "ends: no cell of the map shows 'c'"),
        ("{recurl: 1, grid: {map: a.b, sideways: perhaps}}", "neither true nor false"),
        ("{recurl: 1, machine: nowhere.yaml}", "cannot be read"),
        ("{recurl: 1, name: a}", "holds no model .give one of components, grammar, grid, machine"),
        ("{recurl: 1, gird: {map: a.b}}", "did you mean 'grid'"),
        ("{recurl: 2, grid: {map: a.b}}", "format '2' is not known"),
        ("{grid: {map: a.b}}", "the key `recurl` is missing"),
        ("{recurl: 1, grid: {map: a.b}, discount: 2}", "discount: '2' is not in"),
        ("{recurl: 1, grid: {map: a.b}, discount: some}", "discount: 'some' is not in"),
    ],
)
def test_what_is_wrong_is_reported(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        loads(text)
