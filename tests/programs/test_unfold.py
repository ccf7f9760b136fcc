from __future__ import annotations

import functools
import re
import time

import numpy as np
import pytest
from tests.programs.written import program_of

import recurl
from recurl import zoo
from recurl.errors import LimitError
from recurl.programs.unfold import GO

CLOUD = """
@program
def T():
    if choose("mono", "divide") == "mono":
        reward(-8)
    else:
        reward(-0.5)
        S()
        S()
        S()
        reward(-0.5)

@program
def S():
    if choose("reliable", "fast") == "fast":
        reward(-1)
        if flip(0.4):
            S()
    else:
        reward(-1.5)
        if flip(0.3):
            H()
            reward(0.2)

@program
def H():
    if choose("no", "yes") == "yes":
        reward(-0.2)
        return True
    reward(-0.01)
    return flip(0.3) and (H() or H())
"""


def test_cloud_has_the_structure_of_the_zoo_model() -> None:
    ours, theirs = program_of(CLOUD, "T").model(), zoo.cloud()
    a, b = ours.tables, theirs.tables
    assert list(ours.names.components) == list(theirs.names.components)
    for name in ("component_start", "n_entries", "vertex_kind", "action_start"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert sorted(a.box_component) == sorted(b.box_component)
    assert sorted(zip(a.prob, a.reward, strict=True)) == sorted(zip(b.prob, b.reward, strict=True))
    assert list(ours.action_names(ours.find("S.start"))) == ["reliable", "fast"]


def test_cloud_is_worth_what_the_zoo_model_is() -> None:
    solution = recurl.solve(program_of(CLOUD, "T").model())
    assert solution.value == pytest.approx(-5.34248536, abs=1e-6)


def test_draws_and_rewards_belong_to_the_step_before() -> None:
    model = program_of(
        """
        @program
        def f():
            reward(1)
            if flip(0.5):
                reward(2)
            elif flip(0.5):
                reward(4)
        """
    ).model()
    assert model.tables.n_vertices == 2
    assert model.tables.n_transitions == 1
    assert model.exact.reward(0) == 3  # 1 + 2 / 2 + 4 / 4


def test_a_draw_that_several_steps_lead_to_is_a_vertex() -> None:
    model = program_of("@program\ndef f():\n    while flip(0.5):\n        reward(1)").model()
    assert [model.vertex_name(v) for v in range(model.tables.n_vertices)] == [
        "f.start",
        "f.return",
        "f.line 3",
    ]
    assert list(model.action_names(2)) == [GO]


def test_a_function_that_never_returns_has_an_exit_all_the_same() -> None:
    model = program_of("@program\ndef f():\n    while True:\n        reward(1)").model()
    assert model.local_name(1) == "never returns"
    caller = program_of("@program\ndef g():\n    f()\n@program\ndef f():\n    f()", "g").model()
    assert caller.tables.n_components == 2


def test_exits_that_a_call_cannot_take_lead_out() -> None:
    unfolded = program_of(
        """
        @program
        def f(n):
            if flip(0.5):
                f(1 - n)
            return n
        """
    ).unfold(0)
    t = unfolded.model.tables
    ports = int((t.vertex_kind == 3).sum())
    known = sum(v in unfolded.vertex_state for v in np.flatnonzero(t.vertex_kind == 3).tolist())
    assert (ports, known) == (2 * 2, 2)


RPC = """
@program
def request(deadline):
    ok, left = rpc(deadline, 2)
    reward(10 if ok else -10)

@program
def rpc(deadline, depth):
    if deadline <= 0: return False, 0
    timeout = choose(1, 2, 4)
    used = pick({1: "0.5", 2: "0.25", 3: "0.15", 5: "0.1"})
    if used > timeout:
        deadline = max(deadline - timeout, 0)
        if deadline > 0 and choose("retry", "fail") == "retry": return rpc(deadline, depth)
        return False, deadline
    deadline = max(deadline - used, 0)
    if depth > 0 and flip("0.5"): return rpc(deadline, depth - 1)
    return True, deadline
"""


def best_of_request(deadline: int) -> float:
    """The value of a request, by memoised recursion: the worth of a result is all that matters."""
    odds = {1: 0.5, 2: 0.25, 3: 0.15, 5: 0.1}

    @functools.cache
    def best(deadline: int, depth: int) -> float:
        if deadline <= 0:
            return -10.0
        return max(
            sum(p * after(deadline, depth, timeout, used) for used, p in odds.items())
            for timeout in (1, 2, 4)
        )

    def after(deadline: int, depth: int, timeout: int, used: int) -> float:
        left = max(deadline - min(timeout, used), 0)
        if used > timeout:
            return max(best(left, depth), -10.0)
        return 0.5 * best(left, depth - 1) + 5 if depth else 10.0

    return best(deadline, 2)


@pytest.mark.parametrize("deadline", [6, 12, 18])
def test_what_is_left_of_a_deadline_may_be_part_of_the_result(deadline: int) -> None:
    began = time.process_time()
    solution = recurl.solve(program_of(RPC, "request").model(deadline))
    assert solution.lower - 1e-9 <= best_of_request(deadline) <= solution.upper + 1e-9
    assert solution.gap <= 1e-6
    assert time.process_time() - began < 8  # one component per function: many times that


def test_a_model_that_would_be_too_large_is_refused_before_it_is_made() -> None:
    program = program_of(
        """
        @program
        def fetch(n):
            reward(-1)
            if n == 0: return False, 0
            n, ok = n - 1, True
            if flip("0.2"): ok, n = fetch(n)
            if ok and flip("0.7"): return True, n
            if choose("retry", "give up") == "retry": return fetch(n)
            return False, n
        """,
        "fetch",
    )
    with pytest.raises(LimitError) as caught:
        program.model(60, state_limit=5000)
    found = re.search(
        r"would have about ([\d,]+) vertices, more than 40,000: [\d,]+ of them are ports of calls "
        r"of fetch, which is called with 61 different arguments and gives \d+ different results. "
        r".* took \d+ different values .* Bound or round",
        str(caught.value),
    )
    assert found, str(caught.value)
    made = program.model(60, state_limit=50_000).tables.n_vertices
    assert made / 1.5 <= int(found[1].replace(",", "")) <= 1.5 * made


def test_names_are_printable_and_unlike_each_other() -> None:
    model = program_of(
        """
        @program
        def f(x):
            y = choose("a.b\\n", "a.b?", 1.5)
            flip(0.5)
            return (x, y)
        """
    ).model("long" * 50)
    assert recurl.loads(recurl.dumps(model)) == model
    assert list(model.action_names(0)) == ["a.b?", "a.b? #2", "1.5"]
