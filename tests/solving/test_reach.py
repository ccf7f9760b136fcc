from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import models

import recurl
from recurl.model.tables import CALL
from recurl.solving.offsets import by_program
from recurl.solving.properness import step_evidence
from recurl.solving.reach import call_worth, certain_reach, reach_rows


def choosing(p: str) -> recurl.RMDP:
    """Leaves by x with 1/3 or 1/2, as one likes, else by y; calls itself first with p."""
    builder = recurl.Builder("choosing").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "A")
    rest = 1 - Fraction(p)
    for name, share in (("less", Fraction(1, 3)), ("more", Fraction(1, 2))):
        builder.at("in").action(name).to("a", p)
        builder.to("x", rest * share).to("y", rest * (1 - share))
    for exit_name in ("x", "y"):
        builder.at(f"a.{exit_name}").action("up").to(exit_name)
    return builder.build()


def test_least_probabilities_of_each_exit() -> None:
    # Never less than 1/3 by x, and never less than 1/2 by y, whatever the depth.
    model = choosing("3/4")
    found = certain_reach(model.tables)[model.find("A.in")]
    assert found == pytest.approx([1 / 3, 1 / 2], abs=1e-6)
    assert (found <= [1 / 3, 1 / 2]).all()


def test_without_a_choice_they_are_the_leave_probabilities() -> None:
    model = recurl.zoo.and_or()
    root = np.sqrt(10) / 2 - 1
    rows = reach_rows(model.tables, certain_reach(model.tables))
    assert rows[model.find("and.in")] == pytest.approx([1 - root, root], abs=1e-9)
    assert rows[model.find("main.in")] == pytest.approx([1.0])


def exact_reach(model: recurl.RMDP, p: np.ndarray) -> list[bool]:
    """The inequalities, in exact arithmetic."""
    t = model.tables
    q = [[Fraction(x) for x in row] for row in reach_rows(t, p)]
    holds = [min(row) >= 0 and sum(row) <= 1 for row in q]
    for a, v in enumerate(t.action_vertex):
        row = range(t.transition_start[a], t.transition_start[a + 1])
        for k, own in enumerate(q[v]):
            holds.append(own <= sum(model.exact.prob(i) * q[t.target[i]][k] for i in row))
    for v in np.flatnonzero(t.vertex_kind == CALL).tolist():
        entry, ret = int(t.entry_of_call(v)), int(t.box_return[t.vertex_box[v]])
        for k, own in enumerate(q[v]):
            holds.append(own <= sum(x * q[ret + j][k] for j, x in enumerate(q[entry])))
    return holds


def test_they_hold_exactly_where_a_call_surely_comes_back() -> None:
    """A call that was rounded down would be worth less than what leads to it."""
    builder = recurl.Builder("sure").component("A", entries="in", exits="out").box("a", "A")
    builder.at("in").action("go").to("out").at("n").action("call").to("a")
    model = builder.at("a.out").action("up").to("out").build()
    p = certain_reach(model.tables)
    assert p.tolist() == [[1.0]] * model.tables.n_vertices
    assert all(exact_reach(model, p))


@settings(max_examples=25)
@given(models())
def test_the_inequalities_hold_in_exact_arithmetic(model: recurl.RMDP) -> None:
    p = certain_reach(model.tables)
    assert all(exact_reach(model, p))
    ends = recurl.evaluate(recurl.Policy.uniform(model)).exit_intervals
    for entry, share in model.start_exact().items():
        if share == 1:
            most = [high for _, high in ends.values()]
            assert (p[entry, : len(most)] <= np.array(most) + 1e-9).all()


def test_what_a_call_is_worth() -> None:
    model = choosing("1/2")
    x = np.zeros(model.tables.n_vertices)
    x[model.find("A.in")], x[model.find("A.y")] = 5.0, 1.0
    x[model.find("A.a.x")], x[model.find("A.a.y")] = 2.0, 7.0
    p = np.zeros((len(x), 2))
    p[model.find("A.in")] = (0.5, 0.25)
    assert call_worth(model.tables, x, None)[0] == pytest.approx([5 + 6])
    # t = (2, 6): half of the first, a quarter of the second, and a quarter of the best.
    worth, error = call_worth(model.tables, x, p)
    assert worth == pytest.approx([5 + 1 + 1.5 + 1.5])
    assert 0 < error[0] < 1e-13
    assert call_worth(model.tables, x, p, np.minimum)[0] == pytest.approx([5 + 1 + 1.5 + 0.5])


def test_probabilities_that_nothing_reaches_give_no_bounds() -> None:
    # A run that calls itself forever satisfies p <= sum p p with p = (1/2, 1/2).
    builder = recurl.Builder("never").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "A").at("in").action("go").to("a")
    builder.at("a.x").action("go").to("y").at("a.y").action("go").to("x")
    model = builder.build()
    p = np.full((6, 2), 0.5)
    p[model.find("A.x")] = p[model.find("A.a.y")] = (1, 0)
    p[model.find("A.y")] = p[model.find("A.a.x")] = (0, 1)
    assert all(exact_reach(model, p))
    for exit_name in ("A.x", "A.y"):
        zero = np.array([model.find(exit_name)], np.int32)
        assert by_program(model.tables, zero, p) is None


def controlled_tree() -> recurl.RMDP:
    """The and/or tree, in which a leaf may also be read twice."""
    builder = recurl.Builder("controlled")
    for name, parts, decisive in (("and", "or", "false"), ("or", "and", "true")):
        builder.component(name, entries="in", exits=["true", "false"])
        builder.box("left", parts).box("right", parts)
        builder.at("in").action("read").to("true", "1/4").to("false", "1/4").to("left", "1/2")
        builder.action("look", reward=1).to("again")
        builder.at("again").action("read").to("true", "1/4").to("false", "1/4")
        builder.to("left", "1/2")
        for value in ("true", "false"):
            after = value if value == decisive else "right"
            builder.at(f"left.{value}").action("next").to(after)
            builder.at(f"right.{value}").action("up").to(value)
    return builder.build("and")


def test_step_bounds_under_control() -> None:
    model = controlled_tree()
    proved = step_evidence(model.tables)
    assert proved is not None
    assert proved.reach is not None
    # Looking at every tree takes one more step each, and changes nothing else.
    longest = {"and.in": "look", "or.in": "look"}
    steps = recurl.evaluate(recurl.Policy.stackless(model, longest)).steps
    assert recurl.analyse(model).bound == pytest.approx(steps, rel=1e-5)


@pytest.mark.parametrize("objective", ["max", "min"])
def test_controlled_models_are_solved_with_certain_exits(objective: str) -> None:
    # Looking costs a step and pays 1: always, or never.
    model = controlled_tree()
    solution = recurl.solve(model, of="steps", objective=objective, epsilon=1e-6)
    action = "look" if objective == "max" else "read"
    policy = recurl.Policy.stackless(model, {"and.in": action, "or.in": action})
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(recurl.evaluate(policy).steps, abs=1e-6)
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.lower is not None
    assert verdict.lower >= solution.lower - 1e-9
