from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.definition import models

import recurl
from recurl.errors import UnknownNameError
from recurl.model.rmdp import RMDP


def arrays(result: recurl.Simulation) -> list[np.ndarray]:
    return [result.returns, result.lengths, result.depths, result.truncated]


def close(result: recurl.Simulation, value: float) -> bool:
    return abs(result.mean - value) <= 5 * result.standard_error + 1e-9


def best(model: RMDP) -> recurl.Policy:
    return recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "reliable"})


def test_the_best_policy_of_cloud_earns_its_value() -> None:
    model = recurl.zoo.cloud()
    result = recurl.simulate(model, best(model), 200_000, seed=1)
    assert close(result, -5.3425)
    assert not result.truncated.any()


def test_a_function_of_the_walk_earns_the_same() -> None:
    model = recurl.zoo.cloud()

    def by_name(walk: recurl.Walk) -> str:
        names = walk.model.action_names(walk.vertex)
        return next(name for name in ("divide", "reliable", names[0]) if name in names)

    result = recurl.simulate(model, by_name, 3000, seed=1)
    assert close(result, -5.3425)
    numbers = recurl.simulate(model, lambda walk: int(walk.vertex == 0), 3000, seed=1)
    for one, other in zip(arrays(result), arrays(numbers), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_uniform_policy_is_the_default() -> None:
    model = recurl.zoo.gambler(p=0.25)
    result = recurl.simulate(model, episodes=100_000)
    assert close(result, 3)
    same = recurl.simulate(model, recurl.Policy.uniform(model), 100_000)
    for one, other in zip(arrays(result), arrays(same), strict=True):
        np.testing.assert_array_equal(one, other)


def two_level(model: RMDP) -> recurl.Policy:
    """Takes `fast` in servers that tasks call, and `reliable` in those that servers call."""
    t, size = model.tables, np.diff(model.tables.component_start)
    components = [0, 1, 1, 2]  # T, S from outside, S from inside, H
    actions = [np.zeros(size[c], int) for c in components]
    callees = [np.zeros(size[c], int) for c in components]
    actions[0][0] = actions[1][0] = 1
    for context, component in enumerate(components):
        first = t.component_start[component]
        for box in np.flatnonzero(t.box_owner == component):
            callee = {1: 1 if component == 0 else 2, 2: 3}[int(t.box_component[box])]
            callees[context][t.box_call[box] - first] = callee
    parts = np.concatenate(actions), np.concatenate(callees)
    return recurl.Policy(model, components, parts[0], callees=parts[1], start=[0])


def test_a_policy_by_context_acts_by_the_way_it_was_called() -> None:
    # H never upgrades and costs 1/40. A server inside earns -1.5 + 0.3 (0.2 - 1/40) = -1.4475;
    # one outside -1 + 0.4 (-1.4475) = -1.579; the task three of these and -1.
    model = recurl.zoo.cloud()
    assert close(recurl.simulate(model, two_level(model), 200_000, seed=2), 3 * -1.579 - 1)


@pytest.mark.parametrize("policy", [None, best, two_level])
def test_one_seed_gives_the_same_bits_on_any_number_of_threads(policy) -> None:  # type: ignore[no-untyped-def]
    model = recurl.zoo.cloud()
    policy = policy and policy(model)
    runs = [recurl.simulate(model, policy, 5000, seed=9, threads=n) for n in (1, 2, 4)]
    other = recurl.simulate(model, policy, 5000, seed=10)
    for one, two, four in zip(*map(arrays, runs), strict=True):
        assert one.tobytes() == two.tobytes() == four.tobytes()
    assert runs[0].returns.tobytes() != other.returns.tobytes()


def test_the_first_episodes_do_not_depend_on_how_many_follow() -> None:
    model = recurl.zoo.cloud()
    few, many = recurl.simulate(model, episodes=10), recurl.simulate(model, episodes=1000)
    assert few.returns.tobytes() == many.returns[:10].tobytes()


def test_a_step_limit_marks_what_it_cuts() -> None:
    model = recurl.zoo.gambler(p=0.4)
    result = recurl.simulate(model, episodes=10_000, step_limit=6, seed=1)
    assert (result.lengths[result.truncated] == 6).all()
    assert (result.lengths <= 6).all()
    # A run that calls n times takes 1 + 4 n steps: none with 0.6, one pair of calls with 0.4 0.6².
    assert set(result.lengths[~result.truncated]) == {1, 5}
    assert abs(result.truncated.mean() - (0.4 - 0.4 * 0.6**2)) < 5 * 0.5 / 100
    assert "cut at the step limit" in str(result)
    slow = recurl.simulate(model, lambda walk: 0, 1000, step_limit=6)
    assert abs(slow.truncated.mean() - result.truncated.mean()) < 0.1


def test_a_run_a_million_calls_deep_comes_back() -> None:
    model = recurl.zoo.countdown(p=1e-7)
    result = recurl.simulate(model, episodes=2, seed=1, step_limit=10**9)
    assert result.depths.max() > 1_000_000
    np.testing.assert_array_equal(result.lengths, 2 * result.depths - 1)
    np.testing.assert_array_equal(result.returns, result.depths - 1)
    assert not result.truncated.any()


def test_a_run_that_never_returns_is_cut_a_million_calls_deep() -> None:
    model = (
        recurl.Builder("forever")
        .component("A", entries="in", exits="out").box("b", "A")
        .at("in").action("call").to("b").at("b.out").action("up").to("out")
        .build()
    )  # fmt: skip
    result = recurl.simulate(model, episodes=1, step_limit=1_000_000)
    assert (result.depths[0], bool(result.truncated[0])) == (1_000_001, True)


def flat_value(model: RMDP) -> float:
    """Expected reward of the uniform policy on a model without boxes, by iteration."""
    t = model.tables
    actions = np.diff(t.action_start)[t.action_vertex]
    weight = t.prob / np.repeat(actions, np.diff(t.transition_start))
    vertex = np.repeat(t.action_vertex, np.diff(t.transition_start))
    x = np.zeros(t.n_vertices)
    for _ in range(200):
        x = np.bincount(vertex, weight * (t.reward + x[t.target]), t.n_vertices)
    return model.start_value(x)


@settings(max_examples=30)
@given(models())
def test_the_mean_lies_between_the_values_of_the_unravelled_model(model: RMDP) -> None:
    # Discounted by 1/2, runs are short, and what is deeper than 6 calls is worth at most 2 r_max.
    bound = 2 * float(np.abs(model.tables.reward).max())
    halved = recurl.discount_steps(model, "1/2")
    lower, upper = (flat_value(recurl.unravel(halved, 6, sign * bound)) for sign in (-1, 1))
    assert upper - lower <= 4 * bound / 2**6
    result = recurl.simulate(halved, episodes=20_000, seed=5)
    slack = 5 * result.standard_error + 1e-9
    assert lower - slack <= result.mean <= upper + slack


def test_traces_are_the_first_episodes() -> None:
    model = recurl.zoo.cloud()
    result = recurl.simulate(model, episodes=50, traces=3, seed=3)
    assert len(result.traces) == 3
    for i, trace in enumerate(result.traces):
        assert len(trace) == result.lengths[i]
        assert np.isclose(sum(step.reward for step in trace), result.returns[i])
    slow = recurl.simulate(model, lambda walk: 0, 5, traces=9)
    assert [len(trace) for trace in slow.traces] == slow.lengths.tolist()


def test_what_it_prints() -> None:
    model = recurl.zoo.cloud()
    policy = recurl.Policy.stackless(model, {"T.u1": "mono"})
    result = recurl.simulate(model, policy, 4)
    assert str(result) == (
        "4 episodes: mean return -8 ± 0 (sampled, 95 %), mean length 1, greatest depth 1"
    )
    assert recurl.simulate(model, policy, 1).standard_error == np.inf


def test_a_policy_for_another_model_is_refused() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.gambler())
    with pytest.raises(ValueError, match="another model than cloud"):
        recurl.simulate(recurl.zoo.cloud(), policy)


def test_an_action_that_is_not_there_is_refused() -> None:
    model = recurl.zoo.cloud()
    with pytest.raises(ValueError, match=r"T\.u1 has no action 'stop', only mono, divide"):
        recurl.simulate(model, lambda walk: "stop", 1)
    with pytest.raises(ValueError, match=r"T\.u1 has 2 actions, and 2 is not among them"):
        recurl.simulate(model, lambda walk: 2, 1)


def test_policies_by_name_and_of_solutions() -> None:
    model = recurl.zoo.cloud()
    runs = recurl.simulate(model, "uniform", 50)
    assert runs.returns.tolist() == recurl.simulate(model, episodes=50).returns.tolist()
    solution = recurl.solve(model, epsilon=0.01)
    runs = recurl.simulate(model, solution, 50)  # type: ignore[arg-type]
    assert runs.returns.tolist() == recurl.simulate(model, solution.policy, 50).returns.tolist()
    with pytest.raises(UnknownNameError, match="uniform"):
        recurl.simulate(model, "unifrom")
    with pytest.raises(TypeError, match=r"give learner\.policy\(\)"):
        recurl.simulate(model, recurl.QLearning(model))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a int"):
        recurl.simulate(model, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [("episodes", 0), ("step_limit", 0), ("seed", -1), ("traces", -1), ("threads", -2)],
)
def test_values_out_of_range_are_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be at least"):
        recurl.simulate(recurl.zoo.cloud(), **{name: value})  # type: ignore[arg-type]
