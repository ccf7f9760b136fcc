from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from recurl.automaton import LabelledMDP, gridworld
from recurl.errors import UnknownNameError


def moves(mdp: LabelledMDP, state: str, action: str) -> dict[tuple[str, frozenset[str]], Fraction]:
    s = mdp.states.index(state)
    names = mdp.actions[mdp.action_start[s] : mdp.action_start[s + 1]]
    a = int(mdp.action_start[s]) + names.index(action)
    found: dict[tuple[str, frozenset[str]], Fraction] = {}
    for t in range(mdp.transition_start[a], mdp.transition_start[a + 1]):
        key = (mdp.states[mdp.target[t]], mdp.label_sets[mdp.label[t]])
        found[key] = found.get(key, Fraction(0)) + mdp.prob_values[mdp.prob[t]]
    return found


def test_walls_letters_and_slips() -> None:
    mdp = gridworld("S.#\n..G", slip="1/5")
    assert moves(mdp, "r0c0", "east") == {
        ("r0c1", frozenset({"east"})): Fraction(4, 5),
        ("r0c0", frozenset({"east", "S"})): Fraction(1, 10),
        ("r1c0", frozenset({"east"})): Fraction(1, 10),
    }
    assert moves(mdp, "r0c1", "east")["r0c1", frozenset({"east"})] == Fraction(9, 10)
    stay = gridworld("S.", slip="1/5", sideways=False)
    assert moves(stay, "r0c0", "east") == {
        ("r0c1", frozenset({"east"})): Fraction(4, 5),
        ("r0c0", frozenset({"east", "S"})): Fraction(1, 5),
    }


def test_further_actions_replacements_and_breakdowns() -> None:
    mdp = gridworld("S.C", stays={"wait": "C", "call": ""}, replaced={"call": "1/4"},
                    breakdown="1/2")  # fmt: skip
    assert "wait" not in mdp.actions[: mdp.action_start[1]]
    assert moves(mdp, "r0c0", "east") == {
        ("r0c0", frozenset()): Fraction(1, 2),
        ("r0c1", frozenset({"east"})): Fraction(3, 8),
        ("r0c0", frozenset({"call", "S"})): Fraction(1, 8),
    }
    assert moves(mdp, "r0c2", "wait")["r0c2", frozenset({"wait", "C"})] == Fraction(3, 8)


def test_rewards_and_ends() -> None:
    mdp = gridworld("SG", step_reward="-1/10", rewards={"G": 5}, ends="G")
    assert mdp.states == ("r0c0",)  # where the run has ended, nothing happens any more
    (t,) = mdp.ends.nonzero()[0]
    assert mdp.reward_values[mdp.reward[t]] == Fraction(49, 10)
    assert mdp.label_sets[mdp.label[t]] == {"east", "G"}


def test_starts() -> None:
    assert gridworld("S.S").start.count(Fraction(1, 2)) == 2
    assert gridworld("..").start == (Fraction(1, 2), Fraction(1, 2))
    assert gridworld("A.B", start="B").start[0] == 1
    assert sorted(gridworld("...", start={(0, 0): "1/4", (0, 2): "3/4"}).start) == [
        0, Fraction(1, 4), Fraction(3, 4)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "settings", "message"),
    [
        ("S.\n.", {}, "equally long"),
        ("###", {}, "no free cell"),
        ("S.", {"slip": 1}, "slip"),
        ("S.", {"breakdown": -1}, "breakdown"),
        ("S.", {"start": "X"}, "no cell of the map"),
        ("S#", {"start": {(0, 1): 1}}, "no free cell in row 0"),
    ],
)
def test_wrong_maps_and_parameters_are_refused(
    layout: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gridworld(layout, **settings)


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="jump"):
        gridworld("S.", replaced={"jump": "1/2"})
