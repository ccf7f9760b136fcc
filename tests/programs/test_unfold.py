from __future__ import annotations

import numpy as np
import pytest
from tests.programs.small import VALUES
from tests.programs.written import program_of

import recurl
from recurl import zoo
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
    program, _, _ = VALUES["factorial_reward"]
    unfolded = program.unfold()
    t = unfolded.model.tables
    ports = int((t.vertex_kind == 3).sum())
    known = sum(v in unfolded.vertex_state for v in np.flatnonzero(t.vertex_kind == 3).tolist())
    assert (ports, known) == (5 * 4, 5)


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
