from __future__ import annotations

from tests.programs.small import VALUES
from tests.programs.written import program_of

import recurl
from recurl.programs.program_policy import ProgramPolicy


def program_policy(name: str) -> ProgramPolicy:
    program, arguments, _ = VALUES[name]
    unfolded = program.unfold(*arguments)
    policy = recurl.solve(unfolded.model).policy
    assert policy is not None
    return ProgramPolicy(unfolded, policy)


def test_one_context_is_enough_where_nothing_depends_on_the_caller() -> None:
    found = program_policy("retry")
    assert found.stackless
    (group,) = found.groups[0]
    assert list(group.choices.values()) == [0]


def test_callers_that_want_different_things_make_contexts() -> None:
    found = program_policy("two_callers")
    assert not found.stackless
    assert len(found.groups[0]) == 1
    assert len(found.groups[1]) >= 2
    entered = {found.group_of[c] for c in found.groups[0][0].calls.values()}
    assert len(entered) == 2
    function, number = next(iter(entered))
    assert all(caller[0] in (0, 1) for caller in found.callers(function, number))


def test_vertices_of_one_state_do_the_same() -> None:
    # The start stands at the choice, and so does a node of its own, which the loop leads to.
    program = program_of(
        """
        @program
        def f():
            while choose(True, False):
                reward(-1)
                if flip(0.5):
                    return
        """
    )
    unfolded = program.unfold()
    model = unfolded.model
    start, node = model.find("f.start"), model.find("f.line 3")
    assert unfolded.vertex_state[start] == unfolded.vertex_state[node]
    policy = recurl.Policy.stackless(model, {"f.start": "True", "f.line 3": "False"})
    assert recurl.evaluate(policy).value == -1
    evened = ProgramPolicy(unfolded, policy).policy
    assert evened.action(start) == evened.action(node) == policy.action(start)
    assert recurl.evaluate(evened).value == -2
