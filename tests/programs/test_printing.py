from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.programs.random_programs import printed
from tests.programs.small import VALUES
from tests.programs.written import program_of


def test_contexts_are_handed_over_and_explained() -> None:
    text = VALUES["two_callers"][0].solve().source()
    assert "if not tries(1, 2):" in text
    assert "# context 0: called by two_callers or tries\n" in text
    assert "# context 1: called by two_callers\ndef tries(context, n):\n" in text
    assert "    if n == 0 or context == 1:\n" in text


def test_contexts_come_first_also_before_positional_parameters() -> None:
    text = """
    @program
    def f():
        if not g(2): reward(-5)
        if not g(2): reward(-0.5)

    @program
    def g(n, /, m=1, *rest, k=2):
        if n == 0 or choose("try", "give up") == "give up":
            return False
        reward(-1)
        return flip(0.5) or g(n - 1, m, *rest, k=k)
    """
    assert "def g(context, n, /, m=1, *rest, k=2):" in printed(text)


def test_words_give_way_to_names_of_the_program() -> None:
    text = """
    import recurl
    @program
    def f():
        flip = recurl.flip(0.5)
        recurl.reward(choose(1, 2) * flip)
        total()

    @program
    def total():
        reward(choose(1, 2))
    """
    completion = program_of(text).solve()
    assert "flip = flip_(0.5)" in completion.source()
    assert completion.run(200).mean() == pytest.approx(3, abs=0.5)


def test_texts_are_numbers() -> None:
    text = (
        '@program\ndef f():\n    reward("1/3")\n    return flip("1/3") or pick({1: "1/2", 2: 0.5})'
    )
    completion = program_of(text).solve()
    assert 'return flip("1/3") or pick(' in completion.source()
    assert {completion.play(seed).result for seed in range(20)} == {True, 2}
    assert completion.play().total == pytest.approx(1 / 3)
    assert program_of(text).play().total == pytest.approx(1 / 3)


def test_break_in_the_else_of_a_loop_leaves_the_outer_loop() -> None:
    completion = program_of(
        """
        @program
        def f():
            for _ in range(3):
                while flip(0.5):
                    reward(1)
                else:
                    reward(10)
                    break
        """
    ).solve()
    assert completion.value == pytest.approx(11)
    assert completion.run(2000).mean() == pytest.approx(11, abs=0.2)


def test_annotations_and_decorators_are_left_out() -> None:
    text = VALUES["climb"][0].solve(5).source()
    assert "def climb(n):" in text
    assert "program" not in text


def test_boolean_programs_are_printed_too() -> None:
    from recurl.programs.boolean.translate import boolean_program

    program = boolean_program("var x; void main() { x = *; if (x) { assert(flip(0.5)); } }")
    source = program.solve().source()
    assert "def main(x):\n    x = False\n    if x:\n        if not flip('0.5'):\n" in source


def test_the_order_of_texts_does_not_depend_on_the_process(tmp_path: Path) -> None:
    program = program_of(
        """
        @program
        def f():
            for x in sorted({"a", "b", "c"}):
                reward(1 if choose("a", "b", "c") == x else 0)
        """
    )
    path = tmp_path / "completed.py"
    path.write_text(program.solve().source() + "\nf()\nassert total == 3\n")
    subprocess.run([sys.executable, "-I", path], check=True)
