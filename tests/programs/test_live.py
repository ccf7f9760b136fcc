from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from tests.programs.written import program_of, written

import recurl
from recurl import QLearning, RecursiveQLearning
from recurl.errors import BusyError, LimitError, RecurlError
from recurl.programs.live import MOST_OPTIONS, LiveWorld, observer


def mean_total(live: Any, runs: int, *arguments: Any) -> float:
    totals = []
    for _ in range(runs):
        live.greedy(*arguments)
        totals.append(live.total)
    return float(np.mean(totals))


def test_side_effects_happen_once_and_results_come_back() -> None:
    names = written(
        """
        DONE = []
        @program
        def f(n):
            DONE.append(n)
            reward(-choose(1, 2))
            return n + 1
        """
    )
    live = names["f"].live(seed=1)
    assert [live(n) for n in range(50)] == list(range(1, 51))
    assert names["DONE"] == list(range(50))
    assert live.greedy(7) == 8
    assert live.total == -1.0
    assert live.decisions == 51


TWO_CALLERS = """
@program
def page():
    if flip(0.5):
        if not fetch(2):
            reward(-20)
    else:
        if not fetch(2):
            reward(-1)

@program(observe=("n",), returns=(True, False))
def fetch(n):
    if n == 0 or choose("give up", "try") == "give up":
        return False
    reward(-2)
    return flip(0.5) or fetch(n - 1)
"""


@pytest.mark.parametrize(
    ("learner", "least", "most"),
    [
        # Try twice with 20 at stake: -2 + (-2 - 10) / 2 = -8; give up with 1: on average -4.5.
        (RecursiveQLearning, -4.8, -4.2),
        # One rule for both: always try: (-8 - 3.25) / 2 = -5.625; give up: -10.5.
        (QLearning, -6.1, -5.2),
    ],
)
def test_what_is_best_depends_on_the_caller(learner: Any, least: float, most: float) -> None:
    live = program_of(TWO_CALLERS, "page").live(learner, quantum=0.5, exploration=0.2)
    for _ in range(4000):
        live()
    assert least < mean_total(live, 3000) < most


def test_the_model_agrees_on_the_optimum() -> None:
    assert program_of(TWO_CALLERS, "page").solve().value == pytest.approx(-4.5)


def test_what_is_observed_may_be_computed() -> None:
    names = written(
        """
        def size(xs):
            return len(xs) > 3

        @program(observe=size)
        def f(xs):
            cost = {"small": len(xs), "large": 3}
            reward(-cost[choose("small", "large")])
        """
    )
    live = names["f"].live(exploration=0.3)
    for n in range(600):
        live([0] * (n % 6))
    assert live.greedy([0] * 5) is None
    assert live.total == -3
    live.greedy([0])
    assert live.total == -1


def test_declared_exceptions_are_branches_that_the_learner_sees() -> None:
    names = written(
        """
        CALLS = [0]
        def work():
            CALLS[0] += 1
            if CALLS[0] % 2:
                raise TimeoutError

        @program
        def f():
            result = outcome(work, TimeoutError)
            if choose("report", "hide") == "report":
                reward(1 if isinstance(result, TimeoutError) else -1)
        """
    )
    live = names["f"].live(exploration=0.2)
    for _ in range(400):
        live()
    names["CALLS"][0] = 0
    assert mean_total(live, 10) == 0.5


def test_other_exceptions_propagate_and_learning_goes_on() -> None:
    program = program_of(
        """
        @program
        def f(bad):
            if choose("good", "poor") == "good":
                reward(1)
            g(bad)

        @program
        def g(bad):
            choose(1, 2)
            if bad:
                raise ConnectionError("lost")
        """
    )
    live = program.live(exploration=0.2)
    for n in range(300):
        if n % 3 == 0:
            with pytest.raises(ConnectionError, match="lost"):
                live(True)
        else:
            live(False)
    assert live.greedy(False) is None
    assert live.total == 1.0
    assert live.learner.engine.episodes == 300
    with pytest.raises(RecurlError, match="outside a program"):
        recurl.reward(1)


def test_an_exception_that_a_caller_catches_is_a_return() -> None:
    program = program_of(
        """
        @program
        def f():
            for _ in range(2):
                try:
                    g()
                except ConnectionError:
                    reward(-5)

        @program(returns=(None, OSError))
        def g():
            if choose("risk", "safe") == "risk":
                raise ConnectionError
            reward(-1)
        """
    )
    live = program.live(exploration=0.2)
    for _ in range(300):
        live()
    live.greedy()
    assert live.total == -2.0
    assert live.learner.engine.episodes == 300


def test_calls_without_choices_in_between() -> None:
    program = program_of(
        """
        @program
        def f():
            g()
            h()
            reward(choose(1, 3))

        @program
        def g():
            h()
            reward(-1)

        @program
        def h():
            reward(2)
        """
    )
    live = program.live(exploration=0.2)
    for _ in range(100):
        live()
    assert live.greedy() is None
    assert live.total == 2 - 1 + 2 + 3


def test_what_was_learned_can_be_saved_and_taken_up(tmp_path: Path) -> None:
    text = "@program\ndef f():\n    reward(choose(1, 3, 2))"
    program = program_of(text)
    live = program.live(exploration=0.3)
    for _ in range(200):
        live()
    live.learner.save(tmp_path / "learned")
    again = RecursiveQLearning.load(tmp_path / "learned", LiveWorld())
    fresh = program.live(again)
    fresh.greedy()
    assert fresh.total == 3.0


STORED = """
@program(observe=("n",))
def f(n):
    if g(n) == choose("yes", "no"):
        reward(1)

@program(observe=("n",))
def g(n):
    return choose("no", "yes")
"""


@pytest.mark.parametrize(
    "edited",
    [
        STORED,
        "# One comment.\n" + STORED,
        STORED.replace("def f(n):", "def f(n):\n    # Another.\n    m = str(n) + repr(n)"),
        STORED.replace("    if g", "    print(end='')\n    if g"),
    ],
)
def test_a_run_goes_on_after_edits_beside_its_choices(edited: str, tmp_path: Path) -> None:
    live = program_of(STORED).live(exploration=0.3, seed=1)
    for n in range(600):
        live(n % 2)
    live.learner.save(tmp_path / "learned")
    again = program_of(edited).live(tmp_path / "learned")
    assert again.choices() == live.choices()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (0, 1):
            again.greedy(n)
            assert again.total == 1
    assert list(again.choices().values()) == list(live.choices().values())
    vertices = again.learner.engine.header_fields()["vertices"]
    assert vertices == live.learner.engine.header_fields()["vertices"]


def test_a_learner_that_knows_nothing_of_the_program_warns(tmp_path: Path) -> None:
    live = program_of(STORED).live()
    live(0)
    live.learner.save(tmp_path / "learned")
    other = program_of("@program\ndef h():\n    reward(choose(1, 2))", "h")
    again = other.live(tmp_path / "learned")
    with pytest.warns(UserWarning, match="h met none of the 4 places that the learner knows"):
        again()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again()


def test_functions_of_the_same_name_are_told_apart() -> None:
    programs = [program_of(f"@program\ndef g():\n    reward(choose({x}, 2))", "g") for x in (1, 3)]
    made = program_of("@program\ndef f():\n    one()\n    other()\none = other = None")
    one, other = programs
    made.function.__globals__.update(one=one, other=other)
    live = made.live(exploration=0.3, seed=1)
    for _ in range(300):
        live()
    live.greedy()
    assert live.total == 2 + 3


def test_lists_can_be_observed() -> None:
    text = """
    @program(observe=("xs", "names"))
    def f(xs, names):
        reward(1 if choose("short", "long") == ("short" if len(xs) < 2 else "long") else 0)
    """
    live = program_of(text).live(exploration=0.3, seed=1)
    for n in range(400):
        live([n % 3] * (n % 3), {"a": {1, 2}})
    assert set(live.choices()["f", 3].values()) == {"short", "long"}
    live.greedy([2, 2], {"a": {1, 2}})
    assert live.total == 1


def test_runs_deeper_than_python_can_go_are_a_clear_error() -> None:
    live = program_of("@program\ndef f(n):\n    reward(choose(1, 2))\n    if n:\n        f(n - 1)")
    with pytest.raises(LimitError, match=r"f calls deeper than Python's recursion limit of .*four"):
        live.live()(10 * sys.getrecursionlimit())


def test_choices_can_be_read_off() -> None:
    program = program_of(
        """
        @program(observe=("n",))
        def f(n):
            reward(-abs(n - choose(0, 5)))
        """
    )
    live = program.live(exploration=0.3)
    for n in range(600):
        live(n % 6)
    assert live.choices() == {("f", 3): {(n,): 0 if n < 3 else 5 for n in range(6)}}


def test_what_cannot_be_is_said() -> None:
    program = program_of("@program\ndef f():\n    choose(range(100))")
    with pytest.raises(LimitError, match=f"at most {MOST_OPTIONS}"):
        program.live()()
    with pytest.raises(RecurlError, match=r"LiveWorld\(\), not on a model"):
        program.live(RecursiveQLearning(recurl.zoo.cloud()))
    with pytest.raises(RecurlError, match="call it, as in live"):
        LiveWorld().step(0)


def test_locals_without_a_value_are_seen_as_none() -> None:
    import sys

    there = 3
    frame = sys._getframe()
    assert observer(None)(frame) is None
    assert observer(("there", "nowhere"))(frame) == (3, None)
    assert observer(lambda there: there + 1)(frame) == 4
    assert observer(lambda there, nowhere: (nowhere, there))(frame) == (None, there)


def test_rewards_may_be_texts() -> None:
    live = program_of('@program\ndef f():\n    reward("1/2")\n    reward(2)').live()
    live()
    assert live.total == 2.5


@pytest.mark.parametrize("inside", [False, True])
def test_what_was_paid_before_an_exception_is_learned(inside: bool) -> None:
    source = """
    @program
    def work():
        if choose("crash", "safe") == "crash":
            reward(-10)
            raise OSError("gone")
        reward(-1)

    @program
    def outer():
        work()
        reward(-1)
    """
    live = program_of(source, "outer" if inside else "work").live(seed=1, exploration=0.1)
    crashes = 0
    for _ in range(200):
        try:
            live()
        except OSError:
            crashes += 1
    assert 1 <= crashes < 40
    assert live.learner.engine.episodes == 200
    live.greedy()
    assert live.total == (-2 if inside else -1)


def test_an_interrupt_says_nothing_about_a_choice() -> None:
    names = written(
        """
        STOPS = [True]
        @program
        def work():
            choose("a", "a")
            reward(-1)
            if STOPS:
                raise KeyboardInterrupt
        """
    )
    live = names["work"].live()
    with pytest.raises(KeyboardInterrupt):
        live()
    assert (live.learner.steps, live.learner.engine.episodes) == (0, 0)
    names["STOPS"].clear()
    live()
    assert (live.learner.steps, live.learner.engine.episodes) == (1, 1)


def test_one_thread_at_a_time_runs_a_live_program() -> None:
    names = written(
        """
        INSIDE = [None]
        @program
        def f(n):
            reward(-choose(1, 2))
            INSIDE[0] and INSIDE[0]()
            if n:
                f(n - 1)
        """
    )
    live = names["f"].live(seed=1)
    with ThreadPoolExecutor(1) as pool:
        names["INSIDE"][0] = lambda: pool.submit(live, 0).result()
        with pytest.raises(BusyError, match="another thread is using this Live"):
            live(2)
        names["INSIDE"][0] = None
        pool.submit(live, 2).result()
    names["INSIDE"][0] = lambda: live(0)
    with pytest.raises(BusyError, match=r"f runs live already: inside, call f\("):
        live(2)
    names["INSIDE"][0] = None
    live.greedy(2)
    assert -6 <= live.total <= -3


def test_threads_that_wait_for_each_other_learn_together() -> None:
    program = program_of(
        """
        @program
        def f(n):
            reward(-choose(1, 2))
            if n:
                f(n - 1)
        """
    )
    live, lock = program.live(seed=1), Lock()

    def run(_: int) -> None:
        with lock:
            live(3)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(400)))
    live.greedy(3)
    assert live.total == -4
