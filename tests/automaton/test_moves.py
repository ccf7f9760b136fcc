from __future__ import annotations

import pytest

from recurl.automaton import Machine, rule
from recurl.automaton.moves import CALLS, ENDS, LEAVES, OVER, STAYS, Moves


def moves() -> Moves:
    return Moves(
        Machine(
            "m",
            [
                rule("p", "a", "p", push="A B _"),
                rule("p", "b", "q", top="A", push=""),
                rule("p", "c", "p", top="B", push="C", reward=2),
                rule("p", "d", "end"),
                rule("q", None, "p", choice="back"),
            ],
            stack="A bottom",
            final="end",
            exclusive=["abcd"],
        )
    )


def test_strings_are_what_components_can_be_left_with() -> None:
    found = moves()
    assert found.strings[0] == ("A", "bottom")
    assert set(found.strings) >= {("A", "B"), ("B",), ("C",), ("bottom",)}
    assert len(found.strings) == len(set(found.strings)) < 12


def test_effects() -> None:
    m = moves()
    number = {string: i for i, string in enumerate(m.strings)}
    start, pair, b = number["A", "bottom"], number["A", "B"], number[("B",)]
    call = m.read(0, start, "", {"a"})
    assert (call.kind, call.left, call.callee) == (CALLS, start, pair)
    pop = m.read(0, start, "", {"b"})
    assert (pop.kind, m.strings[pop.left], pop.state) == (STAYS, ("bottom",), 1)
    assert m.strings[m.read(0, pair, "", {"b"}).left] == ("B",)
    rewrite = m.read(0, b, "", {"c"})
    assert (rewrite.kind, m.strings[rewrite.left], rewrite.reward) == (STAYS, ("C",), 2)
    assert m.read(0, b, "", {"d"}).kind == ENDS
    assert m.read(0, b, "", set()) == (STAYS, 0, b, -1, 0)


def test_leaving_and_epsilon_moves() -> None:
    m = Moves(Machine("m", [rule("p", "a", "p", push="A _"), rule("p", "b", "q", top="A", push=""),
                            rule("q", None, "p", choice="back")], exclusive=["ab"]))  # fmt: skip
    top = m.strings.index(("A",))
    assert m.read(0, top, "", {"b"})[:2] == (LEAVES, 1)
    assert m.states_after_pops() == [1]
    assert m.choices(0, top) == [""]
    assert m.choices(1, top) == []  # reads nothing there
    assert [(name, effect.state) for name, effect in m.silent(1, top)] == [("back", 0)]


def test_labels_that_no_rule_reads() -> None:
    stop = Moves(Machine("m", [rule("p", "a", "p")], otherwise="stop"))
    assert stop.read(0, 0, "", set())[:2] == (ENDS, OVER)
    other = Moves(Machine("m", [rule("p", "a", "p"), rule("p", "else", "p", reward=-1)]))
    assert other.read(0, 0, "", {"b"}).reward == -1
    assert other.read(0, 0, "", {"a"}).reward == 0


def test_the_first_of_several_rules_applies_if_asked_for() -> None:
    rules = [
        rule("p", "else", "p", reward=3),
        rule("p", "a", "p", reward=1),
        rule("p", "a | b", "p", reward=2, push="A _"),
    ]
    moves = Moves(Machine("m", rules, first_match=True))
    rewards = [moves.read(0, 0, "", labels).reward for labels in ("a", "ab", "b", "")]
    assert rewards == [1, 1, 2, 3]


def test_two_rules_that_fit_are_refused_even_if_declared_exclusive() -> None:
    m = Moves(Machine("m", [rule("p", "a", "p"), rule("p", "b", "p", push="A _")],
                      exclusive=["ab"]))  # fmt: skip
    with pytest.raises(ValueError, match="fit the labels a, b"):
        m.read(0, 0, "", {"a", "b"})
