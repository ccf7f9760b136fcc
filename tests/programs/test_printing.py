from __future__ import annotations

from tests.programs.small import VALUES
from tests.programs.written import program_of


def source(text: str, *arguments: object) -> str:
    return program_of(text).solve(*arguments).source()


def test_choices_by_locals_become_conditions() -> None:
    program, _, _ = VALUES["roll_again"]
    assert "if ('again' if first <= 3 else 'keep') == 'keep':" in program.solve().source()


def test_contexts_are_handed_over_and_explained() -> None:
    text = VALUES["two_callers"][0].solve().source()
    assert "if not tries(1, 2):" in text
    assert "def tries(context, n):" in text
    assert "# context 0: called by two_callers on line " in text
    assert "'give up' if context == 0 else 'try'" in text


def test_choices_that_depend_on_temporaries_are_printed_in_normal_form() -> None:
    text = source(
        """
        @program
        def f():
            reward(g() * choose(1, 2))

        @program
        def g():
            return 1 if flip(0.5) else -1
        """
    )
    assert "result_1 = g()\n    choice_2 = 2 if result_1 == 1 else 1\n" in text


def test_a_loop_whose_rest_matters_is_printed_with_its_rest() -> None:
    # To wait earns 0.9 and another turn with 0.7; in the last turn leaving earns more.
    text = source(
        """
        @program
        def f():
            for _ in range(3):
                if choose("leave", "wait") == "leave":
                    reward(1)
                    return
                if flip(0.3):
                    reward(3)
                    return
        """
    )
    assert "rest_1 = tuple(range(3))" in text
    assert "while rest_1:" in text


def test_fractions_in_text_are_understood() -> None:
    program = program_of('@program\ndef f():\n    return flip("1/3") or pick({1: "1/2", 2: 0.5})')
    completion = program.solve()
    assert "flip('1/3')" in completion.source()
    assert {completion.play(seed).result for seed in range(20)} == {True, 2}


def test_choices_never_met_take_any_option() -> None:
    text = source(
        """
        @program
        def f():
            if choose(True, False):
                reward(1)
            else:
                reward(-choose(1, 2) - choose(*range(3)))
        """
    )
    assert "if True:" in text
    assert "reward(-1 - [*range(3)][0])" in text


def test_annotations_and_decorators_are_left_out() -> None:
    text = VALUES["climb"][0].solve(5).source()
    assert "def climb(n):" in text
    assert "program" not in text
