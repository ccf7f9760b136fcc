from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models

import recurl
from recurl.policy.outcomes import outcomes_of_policy
from recurl.simulation.kernel import run_episodes
from recurl.simulation.random import streams
from recurl.simulation.trace import Trace


def run(
    policy: recurl.Policy, seed: int, first: int, last: int, limit: int, **more: object
) -> tuple[int, np.ndarray, np.ndarray]:
    """Episodes run, their returns, and their lengths, depths and cuts."""
    o = outcomes_of_policy(policy)
    options = {"gamma": 1.0, "log": np.empty(0, np.int32), "room": 64, **more}
    totals, counts = np.zeros(last - first), np.zeros((last - first, 3), np.int64)
    done = run_episodes(
        o.row_start, o.packed(), o.start, o.start_below, streams(seed, first, last),
        np.empty(options["room"], np.int32), np.empty(options["room"]), limit, options["gamma"],
        1.0, totals, counts, options["log"],
    )  # fmt: skip
    return done, totals, counts


@given(models(), st.integers(0, 2**63 - 1))
def test_a_logged_episode_is_the_one_that_was_run(model: recurl.RMDP, seed: int) -> None:
    policy = recurl.Policy.uniform(model)
    _, totals, counts = run(policy, seed, 0, 3, 20)
    for episode in range(3):
        log = np.empty(counts[episode, 0], np.int32)
        run(policy, seed, episode, episode + 1, 20, log=log)
        taken = outcomes_of_policy(policy).transition[log].tolist()
        steps = list(Trace(model, tuple(taken)))
        assert np.isclose(sum(s.reward for s in steps), totals[episode])
        heights = [len(s.stack) + 1 for s in steps]
        landed = [len(s.stack) + 2 for s in steps[-1:] if model.tables.move[s.transition] == 1]
        assert max(heights + landed) == counts[episode, 1]
        assert counts[episode, 2] == (steps[-1].landing is not None)


def test_episodes_are_the_same_whichever_are_run_together() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.cloud())
    _, totals, counts = run(policy, 4, 0, 10, 1000)
    _, some, own = run(policy, 4, 3, 7, 1000)
    np.testing.assert_array_equal(totals[3:7], some)
    np.testing.assert_array_equal(counts[3:7], own)


def test_an_episode_that_needs_a_longer_stack_is_not_run() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.cloud())
    _, _, counts = run(policy, 0, 0, 200, 1000)
    first = int(np.flatnonzero(counts[:, 1] > 4)[0])
    done, _, short = run(policy, 0, 0, 200, 1000, room=3)
    assert done == first
    np.testing.assert_array_equal(short[:first], counts[:first])


def test_rewards_are_discounted_by_the_step() -> None:
    model = recurl.zoo.cloud()
    policy = recurl.Policy.uniform(model)
    log = np.empty(1000, np.int32)
    _, totals, counts = run(policy, 3, 0, 1, 1000, gamma=0.9, log=log)
    rewards = model.tables.reward[outcomes_of_policy(policy).transition[log[: counts[0, 0]]]]
    assert totals[0] == pytest.approx(float(rewards @ 0.9 ** np.arange(len(rewards))))


def test_a_step_of_probability_zero_is_never_drawn() -> None:
    # 0.1 is drawn by u < 0.1 and 0.9 by the rest: no rounding leaves a gap at the end of a row.
    model = (
        recurl.Builder()
        .component("A", entries="in", exits="out")
        .at("in").action("go")
        .to("out", 0.1, reward=1).to("x", 0.2, reward=2).to("y", 0.7, reward=3)
        .at("x").action("go").to("out").at("y").action("go").to("out")
        .build()
    )  # fmt: skip
    _, returns, _ = run(recurl.Policy.uniform(model), 1, 0, 100_000, 10)
    share = np.bincount(returns.astype(int)) / 100_000
    np.testing.assert_allclose(share, [0, 0.1, 0.2, 0.7], atol=5 * np.sqrt(0.25 / 100_000))
