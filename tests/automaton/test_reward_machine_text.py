from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import recurl
from recurl.automaton import LabelledMDP, Move, load_reward_machine, product, read_reward_machine
from recurl.automaton.moves import Moves
from recurl.errors import DocumentError

TEXT = """0       # initial state
[3, 4]  # terminal states
(0,0,'!e&!n',ConstantRewardFunction(0))
(0,1,'e&!n',ConstantRewardFunction(-0.5))
(1, 3, "True", 2.5)
(3,3,'True',ConstantRewardFunction(0))
"""


def test_the_published_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "task.txt"
    path.write_text(TEXT)
    machine = load_reward_machine(path)
    assert (machine.name, machine.start, machine.final) == ("task", "0", ("3",))
    assert machine.otherwise == "stop"
    assert machine.symbols == ("bottom",)
    assert [str(r.guard) for r in machine.rules] == ["!e & !n", "e & !n", "True"]
    assert [r.reward for r in machine.rules] == [0, Fraction(-1, 2), Fraction(5, 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: '' is not one initial state"),
        ("0\n3\n", "line 2: '3' is not a list of terminal states"),
        ("0\n[1]\n(0,1,'a')", "line 3"),
        ("0\n[1]\n(0,1,'a &',ConstantRewardFunction(1))", "line 3: the guard"),
        (
            "0\n[1]\n(0,1,'a',RewardForward())",
            r"line 3: RewardForward\(...\) is not a constant reward",
        ),
        ("0\n[1]\n(0,1,__import__('os').system('true'),1)", "line 3"),
        (
            "0\n[1]\n(0,1,'a',ConstantRewardFunction(__import__('os').getpid()))",
            "not a constant reward",
        ),
        ("0\n[1]\n(0,1,'__import__(1)',1)", "line 3: the guard .* is not a formula"),
    ],
)
def test_what_is_wrong_is_named_by_line(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read_reward_machine(text)


OVERLAPPING = """0
[2, 3]
(0, 2, 'f', ConstantRewardFunction(1))
(0, 3, 'a', ConstantRewardFunction(5))
(0, 0, '!a|!f', ConstantRewardFunction(0))
"""


def test_the_first_tuple_whose_guard_holds_applies() -> None:
    machine = read_reward_machine(OVERLAPPING)
    assert machine.first_match
    moves = Moves(machine)

    def after(*labels: str) -> tuple[str, int]:
        effect = moves.read(0, 0, "", labels)
        return machine.states[effect.state], int(effect.reward)

    assert after("a", "f") == ("2", 1)
    assert after("a") == ("3", 5)
    assert after() == ("0", 0)


def test_a_product_takes_the_first_tuple_whose_guard_holds() -> None:
    both = LabelledMDP.explore(
        "both", {"s": 1}, lambda s: ["go"], lambda s, a: [Move("s", labels=["a", "f"])]
    )
    assert recurl.solve(product(both, read_reward_machine(OVERLAPPING))).value == 1


def test_with_exclusive_labels_guards_must_not_overlap(tmp_path: Path) -> None:
    text = "0\n[1]\n(0,0,'a',1)\n\n(0,1,'b',1)"
    machine = read_reward_machine(text, exclusive=["ab"])
    assert (machine.exclusive, machine.first_match) == ((("a", "b"),), False)
    with pytest.raises(DocumentError, match=r"line 5: .*overlap"):
        read_reward_machine(text, exclusive=[])
    path = tmp_path / "task.txt"
    path.write_text(text)
    with pytest.raises(DocumentError, match=r"line 5: .*overlap"):
        load_reward_machine(path, exclusive=["ac"])


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        load_reward_machine("nowhere.txt")
