from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.programs.random_programs import random_program
from tests.programs.small import VALUES
from tests.programs.test_unfold import CLOUD
from tests.programs.written import program_of, written

import recurl
from recurl.errors import RecurlError
from recurl.programs.completion import simplified
from recurl.programs.program_policy import ProgramPolicy


@pytest.mark.parametrize("name", VALUES)
def test_the_completed_source_earns_what_is_claimed(name: str) -> None:
    program, arguments, value = VALUES[name]
    completion = program.solve(*arguments)
    returns = completion.run(2000)
    error = 5 * returns.std() / np.sqrt(len(returns)) + 1e-6
    assert abs(returns.mean() - float(value)) <= error


def test_cloud_is_completed_with_a_context() -> None:
    completion = program_of(CLOUD, "T").solve()
    assert completion.value == pytest.approx(-5.34248536, abs=1e-6)
    assert not completion.stackless
    source = completion.source()
    assert "mono" not in source
    assert "def S():\n    reward(-1.5)\n    if flip(0.3):\n        H(0)\n" in source
    assert "    if context >= 8:\n        reward(-0.2)\n" in source
    assert "H(context + 1) or H(context)" in source
    assert "# context 0: called by S or H\n# context 1 to 8: called by H\ndef H(" in source
    returns = completion.run(20_000)
    error = 5 * returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - completion.value) <= error


def test_cloud_learned_is_stackless_and_nearly_as_good() -> None:
    completion = program_of(CLOUD, "T").learn(steps=200_000, learning_rate=0.02, episode_limit=200)
    assert completion.value == pytest.approx(-5.3425, abs=0.02)
    assert completion.solution is None


def test_the_source_needs_nothing_of_this_library(tmp_path: Path) -> None:
    program, arguments, _ = VALUES["roll_again"]
    path = tmp_path / "completed.py"
    path.write_text(program.solve(*arguments).source() + "\nroll_again()\nprint(total)\n")
    assert "recurl" not in path.read_text()
    done = subprocess.run(
        [sys.executable, "-I", path], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert 1 <= float(done.stdout) <= 6


def test_one_play_tells_result_and_total() -> None:
    program, _, _ = VALUES["disjunction"]
    play = program.solve().play(seed=1)
    assert play.result in (True, False)
    assert play.total in (-1.0, -2.0)


def test_other_questions_can_be_asked() -> None:
    program, _, _ = VALUES["retry"]
    completion = program.solve(of="steps", objective="min")
    assert completion.solution is not None
    assert completion.solution.value == pytest.approx(1)
    assert completion.value == pytest.approx(1)
    assert completion.source().endswith("def retry():\n    reward(-2)\n")


def test_the_value_is_that_of_the_exit_that_was_asked_for() -> None:
    program, arguments, _ = VALUES["disjunction"]
    completion = program.solve(*arguments, of="exit:True")
    assert completion.solution is not None
    assert completion.value == pytest.approx(completion.solution.value, abs=1e-6)
    assert 0 <= completion.value <= 1


REPEATED = """
@program
def f(n):
    if choose("call", "stop") == "call":
        reward(-1)
        if flip(0.4):
            f(n)
        reward(1.5)
        if flip(0.4):
            f(n)
"""


@pytest.mark.parametrize("gamma", [0.5, "0.9", 1])
def test_the_value_is_discounted_where_that_was_asked_for(gamma: float | str) -> None:
    completion = program_of(REPEATED).solve(0, gamma=gamma)
    solution = completion.solution
    assert solution is not None
    assert solution.lower <= completion.value <= solution.upper
    assert recurl.verify(completion.model, solution.certificate)
    # The policy is one of the program's own model, and worth the same there.
    assert completion.policy.model == program_of(REPEATED).model(0)
    assert recurl.evaluate(completion.policy, gamma=float(gamma)).value == completion.value


@pytest.mark.parametrize("seed", range(6))
def test_discounted_values_of_random_programs_lie_in_their_intervals(seed: int) -> None:
    completion = random_program(seed, endless=True).solve(1, gamma=0.8, epsilon=1e-3)
    assert completion.solution is not None
    low, high = completion.solution.lower, completion.solution.upper
    assert low - 1e-9 <= completion.value <= high + 1e-9


def test_the_value_given_an_end_is_that_of_the_runs_that_end() -> None:
    completion = program_of(
        """
        @program
        def f():
            reward(3)
            if flip(0.5):
                while True:
                    reward(-1)
        """
    ).solve(of="reward given end")
    assert completion.value == pytest.approx(3)


@pytest.mark.parametrize(
    "options", ["1, True", "0, False", "1, 1.0", "(1,), (True,)", "(0, 1), (0, 1.0)", "[1, True]"]
)
def test_equal_options_of_different_types_are_different(options: str) -> None:
    # Only the second one pays, and the run knows which it got.
    completion = program_of(
        f"""
        @program
        def f():
            x = choose({options})
            if flip(0.5):
                reward(5 if "rue" in repr(x) or "als" in repr(x) or ".0" in repr(x) else 0)
        """
    ).solve()
    assert completion.value == pytest.approx(2.5)
    assert completion.run(400).mean() == pytest.approx(2.5, abs=0.7)


def test_a_choice_may_depend_on_the_types_inside_a_value() -> None:
    completion = program_of(
        """
        @program
        def f():
            x = pick({(1, 2): 0.5, (3, 2): 0.5})
            x = (True, 2) if x == (1, 2) else (1, 2)
            if choose("truth", "number") == ("truth" if x[0] is True else "number"):
                reward(1)
        """
    ).solve()
    assert completion.value == pytest.approx(1)
    assert completion.run(50).min() == 1


def test_the_source_says_what_it_holds_for_and_leaves_open_what_no_run_reaches() -> None:
    program = program_of(
        """
        @program
        def f(n, way):
            if n > 3:
                if choose("drop everything", "keep") == "drop everything":
                    reward(-100)
            reward(choose(1, n))
        """
    )
    completion = program.solve(2, "net")
    source = completion.source()
    assert source.startswith("# f(2, 'net'): the greatest expected total reward is 2.\n")
    assert '        if unreached("drop everything", "keep") == "drop everything":\n' in source
    assert completion.play().total == 2
    namespace: dict[str, Any] = {}
    exec(source, namespace)  # noqa: S102 (our own text)
    with pytest.raises(AssertionError, match=r"a choice that was not solved for: .'drop everyth"):
        namespace["f"](5, "net")
    least = program.solve(5, "net", objective="min", of="reward", gamma="0.5").source()
    assert least.startswith("# f(5, 'net'): the least expected total reward is ")
    assert ", discounted by 0.5 per step.\n" in least.split("import")[0].replace("\n# ", " ")
    assert "unreached" not in least
    learned = program.learn(2, "net", steps=2000).source()
    assert learned.startswith("# f(2, 'net'): with choices that were learned, worth 2 on average.")


def test_truth_values_are_rewards() -> None:
    program = program_of("@program\ndef f():\n    reward(choose(True, False) and flip(0.5))")
    completion = program.solve()
    assert completion.value == pytest.approx(0.5)
    assert completion.run(200).mean() == pytest.approx(0.5, abs=0.2)
    assert program.play(chooser=max).total in (0, 1)
    live = program.live()
    live()
    assert live.total in (0, 1)


def test_a_program_that_never_returns_warns() -> None:
    program = program_of("@program\ndef f():\n    while True:\n        choose(1, 2)")
    with pytest.warns(UserWarning, match="f never returns, whatever is chosen"):
        program.solve()


def test_methods_and_arguments_that_do_not_fit() -> None:
    text = "class Agent:\n    @program\n    def run(self):\n        reward(choose(1, 2))"
    agent = written(text)["Agent"]()
    with pytest.raises(RecurlError, match="run is a method, and its object is an argument like"):
        agent.run.solve()
    live = agent.run.live()
    live(agent)
    assert live.total in (1, 2)
    with pytest.raises(RecurlError, match=r"f\(n\): missing a required argument: 'n'"):
        program_of("@program\ndef f(n):\n    reward(n)").solve()


def test_words() -> None:
    completion = VALUES["retry"][0].solve()
    assert repr(completion) == "<Completion of retry: worth -1.66667>"
    assert str(completion).startswith("retry completed (stackless), worth -1.66667:\n\n# retry(): ")
    assert completion.model == VALUES["retry"][0].model()
    assert recurl.evaluate(completion.policy).value == completion.value


def test_notebooks_show_the_source() -> None:
    html = VALUES["retry"][0].solve()._repr_html_()
    assert html.startswith("<p>retry, worth -1.66667</p><pre># retry(): the greatest")
    assert "while flip(" not in html
    assert "    if flip(0.4):\n        retry()" in html


def test_calls_that_come_to_the_same_choice_may_want_different_things() -> None:
    # In g the argument is forgotten: as a model, its two entries may do different things in one
    # context, as a program they cannot.
    completion = program_of(
        """
        @program
        def f():
            reward(g(1))
            reward(-g(2))

        @program
        def g(n):
            return choose(1, 2)
        """
    ).solve()
    assert completion.value == pytest.approx(1)
    assert completion.play().total == 1


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
    assert len(ProgramPolicy(unfolded, solution.policy).groups[1]) > 2
    simple = simplified(solution.policy, solution.lower)
    assert recurl.evaluate(simple).value == pytest.approx(-1.5, abs=1e-9)
    assert len(ProgramPolicy(unfolded, simple).groups[1]) == 2


def test_nothing_is_given_up_below_the_floor() -> None:
    solution = recurl.solve(recurl.zoo.cloud())
    assert solution.policy is not None
    assert recurl.evaluate(simplified(solution.policy, solution.lower)).value >= solution.lower
    assert simplified(solution.policy, float("inf")) == solution.policy
