from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.automaton import Machine, gridworld, product, rule


def test_a_component_that_is_never_left_has_an_exit_all_the_same() -> None:
    mdp = gridworld("a.", start="a")
    model = product(mdp, Machine("m", [rule("p", "a", "p", push="A _")]))
    names = [model.local_name(v) for v in range(model.tables.n_vertices)]
    assert names.count("never") == 2
    assert recurl.analyse(model).verdict == "not proper"


def test_features_are_the_world_then_the_machine() -> None:
    mdp = gridworld("a.b", start="a", breakdown="1/2")
    rules = [rule("p", "a", "q", push="A _"), rule("q", "b", "p", top="A", push="")]
    model = product(mdp, Machine("m", rules))
    assert model.feature_names == ("row", "column", "in p", "in q", "top bottom", "top A")
    assert model.features is not None
    entry = model.find("A.in r0c0 / q")
    assert model.features[entry].tolist() == [0, 0, 0, 1, 0, 1]
    lane = model.find("bottom.A.over")
    assert not model.features[lane].any()
    assert model.action_names(lane) == ["stop"]


def test_transitions_of_every_action_form_a_distribution() -> None:
    mdp = gridworld("a.b/...", slip="1/7", breakdown="1/3")
    rules = [rule("p", "a", "p", push="A _"), rule("p", "b", "p", top="A", push="")]
    t = product(mdp, Machine("m", rules, exclusive=["ab"])).tables
    sums = np.add.reduceat(t.prob, t.transition_start[:-1])
    assert sums == pytest.approx(1, abs=1e-12)
    assert (t.target >= 0).all()


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
