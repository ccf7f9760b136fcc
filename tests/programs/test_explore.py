from __future__ import annotations

import pytest
from tests.programs.written import program_of

from recurl.errors import ModelError
from recurl.programs.explore import CALLING, CHANCE, CHOICE, RETURN, REWARD, START, Exploration


def explored(text: str, *arguments: object) -> Exploration:
    return Exploration(program_of(text), arguments, 1000)


def test_states_are_positions_and_locals() -> None:
    x = explored("@program\ndef f(n):\n    while n:\n        reward(n)\n        n -= 1", 2)
    kinds = [(state.kind, state.values) for state in x.states]
    assert kinds == [(START, (2,)), (REWARD, (2,)), (REWARD, (1,)), (RETURN, (None,))]
    assert x.describe(1) == "f, line 4: reward(n) with n=2"


def test_what_is_equal_but_of_another_type_is_another_state() -> None:
    x = explored("@program\ndef f():\n    return choose(1, 2) == 1 or 1")
    assert [x.states[s].values[0] for s in x.returns[0]] == [True, 1]
    assert [type(x.states[s].values[0]) for s in x.returns[0]] == [bool, int]


def test_a_call_returns_only_what_its_arguments_allow() -> None:
    x = explored("@program\ndef f(n):\n    return n * f(n - 1) if n else 1", 4)
    assert sorted(x.states[s].values[0] for s in x.returns[0]) == [1, 1, 2, 6, 24][1:]
    calls = [state for state in x.states if state.kind == CALLING]
    assert [len(state.behind) for state in calls] == [1, 1, 1, 1]


def test_draws_and_choices() -> None:
    x = explored('@program\ndef f():\n    return choose("a", "b") if flip("1/3") else flip(1)')
    (choice,) = (s for s in x.states if s.kind == CHOICE)
    assert choice.options == ("a", "b")
    odds = [[str(p) for p in s.odds] for s in x.states if s.kind == CHANCE]
    assert odds == [["1/3", "2/3"], ["1"]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("flip(2)", "line 3: f: ValueError: flip.2.: a probability lies between 0 and 1"),
        ("pick({1: 0.5})", "line 3: f: ValueError: pick: probabilities must be positive and sum"),
        ("choose([])", "line 3: f: ValueError: choose.. has no options"),
        ("reward('much')", "line 3: f: ValueError: 'much' is not a finite"),
        ("f(1)", "line 3: f: TypeError: too many positional arguments"),
    ],
)
def test_wrong_arguments_are_told_with_their_line(body: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        explored(f"@program\ndef f():\n    {body}")


def test_starts_from_which_nothing_is_chosen_are_known() -> None:
    x = explored(
        """
        @program
        def f(n):
            g(n)
            if n:
                f(n - 1)

        @program
        def g(n):
            return choose(0, 1) if n == 1 else 0
        """,
        2,
    )
    starts = {x.describe(number) for number in x.deciding}
    assert starts == {"f(n=2)", "f(n=1)", "g(n=1)"}


LOOPS = """
@program
def loop():
    for n in range(1001):
        if choose('a', 'b') == 'a':
            reward(n)


@program
def pairs():
    for x, y in ((1, 2), (3, 4)):
        reward(flip(0.5) + choose(0, x) + y)
"""


def test_states_of_loops_are_described_by_the_turn() -> None:
    labels = list(program_of(LOOPS, "loop").model().labels.values())
    assert "loop(); loop, line 4: choose('a', 'b') with n=0 (then 1, 2, ... 1000)" in labels
    assert "loop, line 4: choose('a', 'b') with n=998 (then 999, 1000)" in labels
    assert "loop, line 4: choose('a', 'b') with n=1000 (last)" in labels


def test_states_show_what_was_drawn_and_where_a_loop_over_pairs_is() -> None:
    labels = list(program_of(LOOPS, "pairs").model().labels.values())
    for there in (
        "flip(0.5)=True, (x, y)=(1, 2) (then (3, 4))",
        "flip(0.5)=False, (x, y)=(3, 4) (last)",
    ):
        assert any(f"choose(0, x) with {there}" in label for label in labels)
