from __future__ import annotations

import pytest
from tests.programs.written import program_of

import recurl
from recurl.programs.contexts import Conducts
from recurl.programs.simplify import simplified

FETCH = """
@program
def page():
    if flip(0.5):
        if not fetch():
            reward(-20)
    elif not fetch():
        reward(-1)

@program
def fetch():
    if choose("try", "give up") == "give up":
        return False
    reward(-1)
    return flip(0.5) or fetch()
"""


def test_as_many_contexts_as_callers_that_differ() -> None:
    # With 20 at stake one always tries again: 2 on average. With 1 at stake both are worth -1 or
    # worse, and giving up costs 1: (-2 - 1) / 2.
    unfolded = program_of(FETCH, "page").unfold()
    solution = recurl.solve(unfolded.model)
    assert solution.policy is not None
    assert len(Conducts(unfolded, solution.policy).groups[1]) > 2
    simple = simplified(solution.policy, solution.lower)
    assert recurl.evaluate(simple).value == pytest.approx(-1.5, abs=1e-9)
    assert len(Conducts(unfolded, simple).groups[1]) == 2


def test_nothing_is_given_up_below_the_floor() -> None:
    solution = recurl.solve(recurl.zoo.cloud())
    assert solution.policy is not None
    assert recurl.evaluate(simplified(solution.policy, solution.lower)).value >= solution.lower
    assert simplified(solution.policy, float("inf")) == solution.policy
