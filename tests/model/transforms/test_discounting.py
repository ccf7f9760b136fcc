from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from tests.definition import Way, binary, choices, models, value_after

import recurl
from recurl.errors import ModelError
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL

HALF = Fraction(1, 2)


def equation_iterates(model: RMDP, rounds: int, discount: Fraction) -> list[Fraction]:
    """x(exit) = 0, x(call) = x(entry) + x(return port), x(q) = max Σ p (r + λ x(q')), from 0."""
    x = [Fraction(0)] * model.tables.n_vertices
    actions = choices(model)
    for _ in range(rounds):
        x = [_equation(model, x, actions[v], v, discount) for v in range(len(x))]
    return x


def _equation(
    model: RMDP, x: list[Fraction], actions: list[list[Way]], vertex: int, discount: Fraction
) -> Fraction:
    t = model.tables
    if t.vertex_kind[vertex] == CALL:
        return x[int(t.entry_of_call(vertex))] + x[t.box_return[t.vertex_box[vertex]]]
    values = (sum(p * (r + discount * x[v]) for p, r, v in ways) for ways in actions)
    return max(values, default=Fraction(0))


@given(models())
def test_steps_give_the_discounted_value_by_definition(model: RMDP) -> None:
    factor = Fraction(9, 10)
    discounted = recurl.discount_steps(model, factor)
    for horizon in (1, 2, 4):
        assert value_after(discounted, horizon) == value_after(model, horizon, factor)


@given(models())
def test_moves_through_ports_can_be_discounted_too(model: RMDP) -> None:
    factor = Fraction(9, 10)
    discounted = recurl.discount_steps(model, factor, count="moves")
    for horizon in (1, 2, 4):
        assert value_after(discounted, horizon) == value_after(model, horizon, factor, moves=True)


def test_what_a_discount_counts_is_the_same_for_every_verb() -> None:
    model = recurl.zoo.cloud()
    moves = recurl.solve(recurl.discount_steps(model, "0.9", count="moves"))
    found = recurl.solve(model, gamma="0.9", count="moves")
    assert found.value == pytest.approx(moves.value, abs=1e-5)
    own = recurl.evaluate(found.policy, gamma="0.9", count="moves")
    assert found.lower - 1e-9 <= own.value <= found.upper + 1e-9
    with pytest.raises(recurl.errors.UnknownNameError, match="moves"):
        recurl.solve(model, gamma=0.9, count="move")


@given(models())
def test_steps_keep_the_rules_of_models_and_floats_of_binary_ones(model: RMDP) -> None:
    exact, floats = recurl.discount_steps(model, 0.9), recurl.discount_steps(binary(model), 0.9)
    assert (floats.exact.binary, exact.exact.binary) == (True, False)
    binary(floats)  # checks every rule of arrays
    for one, other in zip(exact.tables, floats.tables, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_every_component_gets_a_lane_that_leads_to_the_lanes_of_its_callers() -> None:
    model = recurl.discount_steps(recurl.zoo.cloud(), "99/100")
    assert model.tables.n_exits.tolist() == [2, 2, 3]
    port = model.find("T.b1.lane")
    assert model.action_names(port) == ["lane"]
    action = model.tables.action_start[port]
    transition = int(model.tables.transition_start[action])
    assert model.vertex_name(int(model.tables.target[transition])) == "T.lane"
    assert (model.exact.prob(transition), model.exact.reward(transition)) == (1, 0)


def test_a_stopped_step_pays_its_expected_reward() -> None:
    model = (
        recurl.Builder()
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("out", "1/4", reward=8).to("x", "3/4", reward="1/3")
        .at("x").action("go", reward=1).to("out")
        .build()
    )  # fmt: skip
    discounted = recurl.discount_steps(model, HALF)
    assert [discounted.exact.prob(i) for i in range(3)] == [HALF / 4, HALF * 3 / 4, HALF]
    assert discounted.exact.reward(2) == 8 * Fraction(1, 4) + Fraction(1, 4)


def test_a_name_that_is_taken_is_not_used_for_the_lane() -> None:
    once = recurl.discount_steps(recurl.zoo.gambler(), 0.5)
    twice = recurl.discount_steps(once, 0.5)
    assert twice.find("W.lane") < twice.find("W.lane2")


def test_features_and_labels_move_with_their_vertices() -> None:
    model = (
        recurl.Builder()
        .features("height")
        .component("A", entries="in", exits="out").box("b", "A")
        .at("in", features=[1], label="begin").action("go").to("b", 0.5).to("out", 0.5)
        .at("b.out", features=[2], label="back").action("up").to("out")
        .build()
    )  # fmt: skip
    discounted = recurl.discount_steps(model, 0.9)
    assert discounted.features is not None
    assert discounted.features[:, 0].tolist() == [1, 0, 0, 0, 2, 0]
    assert discounted.labels == {0: "begin", discounted.find("A.b.out"): "back"}
    assert recurl.discount_boxes(model, 0.9).labels == model.labels


@given(models(max_exits=1))
def test_boxes_solve_the_equations_with_the_factor(model: RMDP) -> None:
    factor = Fraction(4, 5)
    discounted = recurl.discount_boxes(model, factor)
    for rounds in (1, 2, 6):
        expected = equation_iterates(model, rounds, factor)
        assert equation_iterates(discounted, rounds, Fraction(1)) == expected


def test_boxes_of_the_gambler_have_the_closed_form() -> None:
    # x = 1 + λp (x + y), y = 1 + λ (x + z), z = 1, for the entry and the two return ports.
    factor, p = 0.9, 0.4
    matrix = np.eye(3) - factor * np.array([[p, p, 0], [1, 0, 1], [0, 0, 0]])
    closed = np.linalg.solve(matrix, np.ones(3))[0]
    model = recurl.discount_boxes(recurl.zoo.gambler(p=p), factor)
    result = recurl.simulate(model, episodes=200_000, seed=3)
    assert abs(result.mean - closed) < 5 * result.standard_error


def test_boxes_need_one_exit_per_component() -> None:
    with pytest.raises(ModelError, match=r"component H: has 2 exits .*discount_steps"):
        recurl.discount_boxes(recurl.zoo.cloud(), 0.9)


@pytest.mark.parametrize("factor", [0, 1, "3/2", -0.5])
def test_the_discount_lies_between_0_and_1(factor: float) -> None:
    for transform in (recurl.discount_steps, recurl.discount_boxes):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            transform(recurl.zoo.gambler(), factor)
