"""Certified bounds against closed forms, other methods, and what their policies earn."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests.solving.oracle import random_spec
from tests.strategies import proper_models
from tests.zoo.reference import best_exit_values

import recurl
from recurl.errors import NotProperError
from recurl.solving.certified import solve_certified, solver
from recurl.solving.question import Question


def certified(model: recurl.RMDP, epsilon: float = 1e-6, **question: object) -> recurl.Solution:
    return solve_certified(model, Question(**question), epsilon)  # type: ignore[arg-type]


def test_cloud_is_better_than_never_upgrading() -> None:
    # Deep in nested H, returning true once is cheaper than 8 calls of b7: the optimum lies above
    # the -5.3425 of the best stackless policy, in the fifth digit.
    solution = certified(recurl.zoo.cloud(), 1e-9)
    assert solution.gap <= 1e-9
    assert solution.lower == pytest.approx(-5.34248536, abs=1e-8)
    assert solution.policy is not None
    assert solution.policy.kind == "by pieces"


def test_the_stack_matters() -> None:
    solution = certified(recurl.zoo.stack_matters())
    assert solution.lower <= 43 / 55 + 1e-12
    assert solution.upper >= 43 / 55 - 1e-12
    assert solution.gap <= 1e-6


@pytest.mark.parametrize("epsilon", [1e-4, 1e-6, 1e-8])
def test_where_the_best_choice_changes_at_the_exit_values_themselves(epsilon: float) -> None:
    # Paying 0.02 until the lane is taken, with 1/10 each time: all calls are then worth -0.2, and
    # that is where leaving evenly becomes as good.
    solution = certified(recurl.zoo.stack_matters(), epsilon, objective="min")
    assert solution.gap <= epsilon
    assert solution.lower <= -0.2 + 1e-12
    assert solution.upper >= -0.2 - 1e-12


def test_small_gaps_of_many_calls_are_followed_too() -> None:
    # Trials that turn back at 3 % of the width asked for stopped here at 1.7e-3.
    model = recurl.zoo.random_model(seed=4, components=3, nodes=20, exits=6)
    assert certified(model, 1e-3).gap <= 1e-3


def test_slack_is_small_where_runs_are_longer_than_known() -> None:
    # The slack of all steps added up to 1.27 times the width asked for, and no point could help.
    model = random_spec(100, exits=2, actions=2, rewards=("-1", "-2", "-1/3", "-5", "-0.7", "-1"))
    assert solve_certified(model, Question(), 1e-6, time_limit=20.0).gap <= 1e-6


def test_many_exits_are_closed_by_mixes_of_points() -> None:
    # Without mixes, 26 s and 1,262 points came to 3.3e-3.
    model = recurl.zoo.random_model(seed=3, components=3, nodes=20, exits=8)
    solution = certified(model, 1e-3)
    assert solution.gap <= 1e-3
    assert solution.certificate is not None
    assert max(len(mix) for point in solution.certificate.points for mix in point.calls) > 2
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.upper is not None
    assert verdict.lower is not None
    assert verdict.upper - verdict.lower <= 1e-3


@pytest.mark.parametrize("objective", ["max", "min"])
def test_trials_go_on_where_points_cannot_be_solved_together(objective: str) -> None:
    # Exits worth up to 5,000 apart: no fixed point is found on a mesh that wide, and ten rounds of
    # Newton's method without one took most of a minute.
    solution = certified(recurl.zoo.taxi(), objective=objective)
    assert solution.gap <= 1e-6
    assert solution.work["rounds"] <= 2
    assert solution.work["trials"] >= 20


def test_palindrome() -> None:
    solution = certified(recurl.zoo.palindrome())
    assert solution.gap <= 1e-6
    assert solution.lower == pytest.approx(41.0325964913, abs=1e-6)


@pytest.mark.parametrize("name", ["leaky_pfa", "cloud", "countdown"])
def test_the_policy_attains_the_lower_end(name: str) -> None:
    model = recurl.zoo.make(name)
    solution = certified(model)
    assert solution.policy is not None
    value = recurl.evaluate(solution.policy).value
    assert solution.lower - 1e-9 <= value <= solution.upper + 1e-9
    result = recurl.simulate(model, solution.policy, 100_000, seed=3)
    assert abs(result.mean - value) <= 5 * result.standard_error + 1e-9


def test_random_two_exit_model_closes() -> None:
    model = recurl.zoo.random_model(seed=4, components=4, nodes=12)
    for objective in ("max", "min"):
        solution = certified(model, 1e-6, objective=objective)
        assert solution.gap <= 1e-6
        assert recurl.verify(model, solution.certificate).checked > 100


@pytest.mark.parametrize(
    ("seed", "nodes", "exits", "epsilon"),
    [
        (2, 10, 3, 1e-6),
        (2, 10, 4, 1e-4),
        (260124, 10, 4, 1e-4),  # with points that Qhull cannot tell apart
        (869920, 15, 4, 1e-4),  # with a start between points, some of weight 0
        (2, 10, 5, 1e-2),
    ],
)
def test_random_models_with_more_exits_close(
    seed: int, nodes: int, exits: int, epsilon: float
) -> None:
    model = recurl.zoo.random_model(seed=seed, components=4, nodes=nodes, exits=exits)
    solution = certified(model, epsilon)
    assert solution.gap <= epsilon
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.upper - verdict.lower <= 1.01 * epsilon
    assert solution.policy is not None
    assert recurl.evaluate(solution.policy).value >= solution.lower - 1e-9


def test_least_of_a_model_is_minus_the_greatest_of_its_negative() -> None:
    model = recurl.zoo.random_model(seed=5, components=3, nodes=8)
    t = model.tables
    negative = recurl.RMDP.from_arrays(
        t.layout,
        action_start=t.action_start,
        transition_start=t.transition_start,
        target=t.target,
        prob=t.prob,
        reward=-t.reward,
        start_component=t.start_component,
        start_prob=t.start_prob,
    )
    least = certified(model, objective="min")
    greatest = certified(negative)
    assert least.lower <= -greatest.lower + 1e-12
    assert -greatest.upper <= least.upper + 1e-12


@settings(max_examples=25)
@given(proper_models())
def test_the_interval_meets_those_of_the_unravelled_model(model: recurl.RMDP) -> None:
    solution = certified(model, 1e-4)
    depth = 4
    steps = recurl.analyse(model).bound_everywhere
    # Whatever is pending: at most depth + 2 components are still to be left.
    rest = float(abs(model.tables.reward).max()) * steps * (depth + 2)
    ends = []
    for bound in (-rest, rest):
        finite = recurl.unravel(model, depth, bound)
        ends.append(finite.start_value(best_exit_values(finite)))
    assert ends[0] <= solution.upper + 1e-9
    assert ends[1] >= solution.lower - 1e-9
    assert ends[1] - ends[0] < 2 * rest or rest == 0


def test_threshold_stops_early() -> None:
    model = recurl.zoo.palindrome()
    solution = solve_certified(model, Question(), 1e-9, at_least=0.0)
    assert solution.at_least(0.0) is True
    assert solution.gap > 1e-6
    solution = solve_certified(model, Question(), 1e-9, at_least=100.0)
    assert solution.at_least(100.0) is False


def test_bounds_improve_monotonically() -> None:
    seen: list[tuple[float, float]] = []
    solve_certified(
        recurl.zoo.palindrome(), Question(), 1e-6, callback=lambda a, b, _: seen.append((a, b))
    )
    assert seen == sorted(seen, key=lambda pair: (pair[0], -pair[1]))
    assert all(a <= b + 1e-9 for a, b in seen)


def test_probability_to_leave_by_an_exit() -> None:
    model = (
        recurl.Builder("pick")
        .component("A", entries="in", exits=["left", "right"])
        .at("in")
        .action("even")
        .to("left", "1/2")
        .to("right", "1/2")
        .action("mostly left")
        .to("left", "3/4")
        .to("right", "1/4")
        .build()
    )
    for objective, value in (("max", 0.5), ("min", 0.25)):
        solution = recurl.solve(model, of="exit:right", objective=objective)
        assert solution.lower <= value <= solution.upper
        assert solution.gap <= 1e-6


def test_an_improper_model_is_explained() -> None:
    with pytest.raises(NotProperError, match="gambler"):
        certified(recurl.zoo.gambler(p=0.6))


def test_reach_proves_what_steps_alone_do_not() -> None:
    model = recurl.zoo.and_or()
    solution = recurl.solve(model, "certified", of="steps")
    assert solution.lower <= recurl.evaluate(recurl.Policy.uniform(model)).steps <= solution.upper
    assert solution.gap <= 1e-6
    certificate = solution.certificate
    assert certificate.reach is not None
    recurl.verify(model, certificate)


def test_many_points_with_many_exits_are_left_to_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    model = recurl.zoo.random_model(seed=1, components=3, nodes=8, exits=5)
    together = solve_certified(model, Question(), 2e-5)
    assert together.work["rounds"] > 1
    for limit in ("_TOGETHER", "_MIXED"):
        monkeypatch.setattr(solver, limit, 0)
    alone = solve_certified(model, Question(), 2e-5, time_limit=60)
    assert alone.work["rounds"] == 1  # after which there are too many
    assert alone.work["trials"] > together.work["trials"]
    assert alone.lower <= together.upper
    assert together.lower <= alone.upper
    assert alone.gap < 0.05
