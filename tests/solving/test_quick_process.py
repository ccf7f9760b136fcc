from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recurl
from recurl.model.tables import Layout
from recurl.solving import end_components, quick_process
from recurl.solving.end_components import Process, solve_process
from recurl.solving.finite import solve_finite
from recurl.solving.quick_process import solve_quickly


def random_process(seed: int, states: int, sign: float) -> recurl.RMDP:
    """A process in which policies may stay forever, lose their way, or end."""
    random = np.random.default_rng(seed)
    actions = np.append([1, 0], random.integers(1, 4, size=states))
    count = random.integers(1, 4, size=actions.sum())
    count[0] = 1
    target = random.integers(1, 2 + states, size=count.sum())
    action = np.repeat(np.arange(len(count)), count)
    weight = random.integers(1, 9, size=len(target))
    prob = weight / np.bincount(action, weight)[action]
    reward = sign * random.integers(0, 3, size=len(target)) * (random.random(len(target)) < 0.2)
    return recurl.RMDP.from_arrays(
        Layout.of([1], [1], [states]),
        action_start=np.append(0, np.cumsum(actions)),
        transition_start=np.append(0, np.cumsum(count)),
        target=target,
        prob=prob,
        reward=reward,
    )


questions = st.sampled_from(
    [
        recurl.Question("max", "none", (1.0,)),
        recurl.Question("min", "none", (1.0,)),
        recurl.Question("max"),
        recurl.Question("min"),
    ]
)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10_000),
    states=st.integers(1, 25),
    sign=st.sampled_from([1.0, -1.0]),
    question=questions,
)
def test_quick_bounds_are_certified_and_agree(
    seed: int, states: int, sign: float, question: recurl.Question
) -> None:
    model = random_process(seed, states, sign)
    found = solve_finite(model, question, 1e-6, quickly=True)
    if found is None:
        return
    assert found.gap <= 1e-6
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(end_components, "MOST", 0)
        slowly = solve_finite(model, question, 1e-6)
    if slowly is not None:
        assert found.lower <= slowly.upper
        assert slowly.lower <= found.upper


def test_most_processes_are_solved_quickly() -> None:
    question = recurl.Question("max", "none", (1.0,))
    models = [random_process(seed, 20, 1.0) for seed in range(40)]
    assert sum(solve_finite(m, question, 1e-6, quickly=True) is not None for m in models) > 20


@pytest.mark.parametrize("rounds", [0, 5])
@pytest.mark.parametrize("seed", range(20))
def test_states_that_surely_pay_are_those_of_the_slow_search(
    seed: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_process, "_SEARCHES", rounds)
    model = random_process(seed, 30, 1.0)
    process = Process.of(model, recurl.Question("min", "none", (1.0,)))
    assert process is not None
    paying, idle = quick_process._surely_paying(process)
    slowly = solve_process(model, recurl.Question("min", "none", (1.0,)), 1e-6)
    assert slowly is not None
    np.testing.assert_array_equal(paying[2:], slowly.upper[2:] > 0)
    free = idle[~paying[process.owner[idle]]]
    assert set(process.owner[free]) == set(np.flatnonzero(model.tables.states & ~paying))


def test_a_process_with_end_components_between_0_and_1_is_left_to_the_slow_search() -> None:
    builder = recurl.Builder("m").component("A", entries="in", exits=["done", "lost"])
    builder = builder.at("in").action("go").to("room").at("room").action("stay").to("hall")
    builder = builder.action("try").to("done", 0.25).to("room", 0.5).to("lost", 0.25)
    model = builder.at("hall").action("back").to("room").build()
    question = recurl.Question("max", "none", (1.0, 0.0))
    process = Process.of(model, question)
    assert process is not None
    assert solve_quickly(process, 1e-6) is None
    found = solve_finite(model, question, 1e-6)
    assert found is not None
    assert found.value == pytest.approx(0.5)
