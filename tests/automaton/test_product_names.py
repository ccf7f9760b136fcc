from __future__ import annotations

from recurl.automaton import Machine, gridworld, product, rule


def test_names_tell_state_machine_state_and_stack() -> None:
    mdp = gridworld("a.b", start="a", breakdown="1/2")
    rules = [
        rule("p", "a", "q", push="A B _"),
        rule("q", "b", "p", top="A", push=""),
        rule("p", "b", "p", top="B", push=""),
    ]
    model = product(mdp, Machine("m", rules, exclusive=["ab"]))
    assert list(model.names.components) == ["bottom", "A B"]
    assert model.local_name(model.find("A B.in r0c0 / q")) == "in r0c0 / q"
    assert model.vertex_name(model.find("A B.at r0c2 / p, B")) == "A B.at r0c2 / p, B"
    assert model.vertex_name(model.find("bottom.A B.r0c2 / p")) == "bottom.A B.r0c2 / p"


def test_boxes_with_the_same_callee_are_told_apart() -> None:
    mdp = gridworld("a.b", start="a", breakdown="1/2")
    rules = [
        rule("p", "a", "p", push="A _"),
        rule("p", "b", "p", top="A", push="B"),
        rule("p", "b", "p", top="B", push="A C"),
        rule("p", "b", "p", top="C", push=""),
    ]
    model = product(mdp, Machine("m", rules, exclusive=["ab"]))
    assert {"A on A", "A on B", "A on C"} <= set(model.names.boxes)
