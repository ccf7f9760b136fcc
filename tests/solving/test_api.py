from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.solving.api import ONE_EXIT, question_of


def test_unknown_methods_are_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"linear-program, policy-iteration, value-iter"):
        recurl.solve(recurl.zoo.countdown(), "policy_iteration")


@pytest.mark.parametrize("method", ONE_EXIT)
def test_one_exit_methods_are_not_for_several_exits(method: str) -> None:
    with pytest.raises(UnknownNameError, match="multi-exit model"):
        recurl.solve(recurl.zoo.cloud(), method)


@pytest.mark.parametrize("epsilon", [-1.0, float("nan")])
def test_widths_are_not_negative(epsilon: float) -> None:
    with pytest.raises(ValueError, match="width"):
        recurl.solve(recurl.zoo.countdown(), epsilon=epsilon)


def test_questions() -> None:
    model = recurl.zoo.cloud(exits=1)
    assert question_of(model, "reward").rewards == "model"
    assert question_of(model, "steps", "min").sign == -1
    assert question_of(model, "exit:u2").exit_values == (1.0,)
    with pytest.raises(UnknownNameError, match="Known: u2"):
        question_of(model, "exit:u9")
    with pytest.raises(UnknownNameError, match="exit:NAME, reward, reward given end, steps"):
        question_of(model, "return")
    with pytest.raises(UnknownNameError, match="max, min"):
        recurl.solve(model, objective="most")


def test_a_proper_model_ends_surely() -> None:
    solution = recurl.solve(recurl.zoo.cloud(exits=1), of="exit:u2")
    assert (solution.lower, solution.upper) == (1.0, 1.0)


@pytest.mark.parametrize("method", ["auto", *ONE_EXIT])
def test_steps_of_the_gambler(method: str) -> None:
    """Wins with 2/5, one step a round: x = 1 + 2/5 (x + 1 + x + 1) gives 9."""
    solution = recurl.solve(recurl.zoo.gambler(p="2/5"), method, of="steps")
    assert solution.value == pytest.approx(9, abs=1e-6)


def test_text() -> None:
    text = str(recurl.solve(recurl.zoo.cloud(exits=1)))
    assert text.startswith("cloud: the greatest expected total reward is in [-5.3425, -5.3425]")
    assert "Method: policy-iteration (10 states in 9 blocks" in text
    assert "stackless" in text


def test_callback_and_progress_see_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[float, float]] = []
    solution = recurl.solve(
        recurl.zoo.spelunking(),
        callback=lambda low, high, work: seen.append((low, high)),
        progress=True,
    )
    assert seen[-1] == (solution.lower, solution.upper)


def test_what_is_no_model_is_answered_with_where_to_get_one() -> None:
    for function in (recurl.solve, recurl.analyse, recurl.termination, recurl.simulate):
        with pytest.raises(TypeError, match=r"takes a model, .* recurl\.zoo\.make\('cloud'\)"):
            function("cloud")
    with pytest.raises(TypeError, match=r"solve takes a model .*not a Policy: take its \.model"):
        recurl.solve(recurl.Policy.uniform(recurl.zoo.cloud()))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ModelEnv takes a model"):
        recurl.ModelEnv(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0, -1e-3, math.nan, math.inf])
def test_a_width_that_is_none_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon "):
        recurl.solve(recurl.zoo.cloud(), epsilon=epsilon)
    with pytest.raises(ValueError, match=r"^at_least "):
        recurl.solve(recurl.zoo.cloud(), at_least=math.nan)


def test_gamma_discounts_every_step() -> None:
    builder = recurl.Builder("ever").component("A", entries="in", exits="out")
    builder.at("in").action("stay", reward=1).to("n").action("go").to("out")
    model = builder.at("n").action("stay", reward=1).to("n").action("go").to("out").build()
    solution = recurl.solve(model, gamma="0.9")
    assert solution.lower <= 10 <= solution.upper
    assert solution.gap <= 1e-6
    assert recurl.verify(solution.model, solution.certificate).theorems == ("values",)
    plain = recurl.solve(recurl.zoo.cloud())
    same = recurl.solve(recurl.zoo.cloud(), gamma="1.0")
    assert (same.lower, same.upper) == (plain.lower, plain.upper)
    assert recurl.evaluate(plain, gamma=1.0).value == recurl.evaluate(plain).value
    with pytest.raises(ValueError, match="gamma discounts rewards, not 'steps'"):
        recurl.solve(model, gamma=0.9, of="steps")


@pytest.mark.parametrize("gamma", [1, 0.9])
@pytest.mark.parametrize("objective", ["max", "min"])
def test_a_similar_solution_saves_work(gamma: float, objective: str) -> None:
    model, other = recurl.zoo.cloud(), recurl.zoo.cloud().with_rewards_times(1.001)
    given: dict[str, Any] = {"gamma": gamma, "objective": objective, "epsilon": 1e-2}
    alone = recurl.solve(other, **given)
    found = recurl.solve(other, near=recurl.solve(model, **given).points, **given)
    assert found.gap <= 1e-2
    assert found.lower <= alone.upper
    assert alone.lower <= found.upper
    assert found.work["rounds"] + found.work["trials"] == 0
    assert recurl.verify(found.model, found.certificate).upper is not None


def test_points_of_another_model_do_no_harm() -> None:
    model = recurl.zoo.stack_matters()
    found = recurl.solve(model, near=recurl.solve(recurl.zoo.cloud(), epsilon=0.1).points)
    assert (found.lower, found.upper) == (recurl.solve(model).lower, recurl.solve(model).upper)


def test_points_may_be_lists_and_anything_else_is_refused() -> None:
    model = recurl.zoo.cloud()
    points = recurl.solve(model, epsilon=0.1).points
    found = recurl.solve(model, epsilon=0.1, near=[own.tolist() for own in points])
    assert found.lower <= -5.3425 <= found.upper
    for wrong in (5, ["a"]):
        with pytest.raises(TypeError, match=r"near=solution\.points"):
            recurl.solve(model, near=wrong)  # type: ignore[arg-type]
    nothing = [np.full_like(own, np.nan) for own in points]
    assert recurl.solve(model, epsilon=0.1, near=nothing).gap <= 0.1
