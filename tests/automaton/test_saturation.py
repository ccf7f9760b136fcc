from __future__ import annotations

from recurl.automaton import Machine, gridworld, rule
from recurl.automaton.expansion import Expansion
from recurl.automaton.moves import OVER, Moves
from recurl.automaton.saturation import Box, saturate


def test_what_is_reached_of_a_corridor() -> None:
    mdp = gridworld("a.b", start="a", ends="b")
    machine = Machine("m", [rule("p", "a", "q", push="A _"), rule("q", "a", "p", top="A", push="")])
    reached = saturate(Expansion(mdp, Moves(machine)), 100)
    cells, states = mdp.states, len(machine.states)
    west = cells.index("r0c0") * states
    assert reached.entries == {0: {west}, 1: {west + 1}}
    assert reached.exits[1] == {west}
    assert reached.boxes == {Box(0, 1, 0)}
    assert reached.lanes == {0: {OVER}, 1: {OVER}}


def test_an_end_inside_a_call_is_one_of_the_caller() -> None:
    mdp = gridworld("a.b", start="a")
    machine = Machine("m", [rule("p", "a", "q", push="A _"), rule("q", "b", "end")], final="end")
    reached = saturate(Expansion(mdp, Moves(machine)), 100)
    assert reached.lanes == {0: {2}, 1: {2}}
    assert not reached.exits[1]
