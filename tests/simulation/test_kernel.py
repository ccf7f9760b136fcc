from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models

import recurl
from recurl.simulation.chain import Chain, chain_of
from recurl.simulation.kernel import run_episodes, trace_episode


def run(chain: Chain, episodes: int, seed: int, limit: int) -> list[np.ndarray]:
    out = [np.zeros(episodes, kind) for kind in (np.float64, np.int64, np.int64, np.bool_)]
    run_episodes(chain, seed, 0, episodes, limit, *out)
    return out


@given(models(), st.integers(0, 2**63 - 1))
def test_a_traced_episode_is_the_one_that_was_run(model: recurl.RMDP, seed: int) -> None:
    chain = chain_of(recurl.Policy.uniform(model))
    returns, lengths, depths, truncated = run(chain, 3, seed, 20)
    for episode in range(3):
        _, outcomes = trace_episode(chain, seed, episode, 20)
        steps = list(recurl.simulation.trace.Trace(model, tuple(chain.transition[outcomes])))
        assert len(steps) == lengths[episode]
        assert np.isclose(sum(s.reward for s in steps), returns[episode])
        heights = [len(s.stack) + 1 for s in steps]
        landed = [len(s.stack) + 2 for s in steps[-1:] if model.tables.move[s.transition] == 1]
        assert max(heights + landed) == depths[episode]
        assert truncated[episode] == (steps[-1].landing is not None)


def test_only_the_episodes_asked_for_are_written() -> None:
    chain = chain_of(recurl.Policy.uniform(recurl.zoo.cloud()))
    whole = run(chain, 10, 4, 1000)
    part = [np.full(10, -1, array.dtype) for array in whole]
    run_episodes(chain, 4, 3, 7, 1000, *part)
    for one, other in zip(whole, part, strict=True):
        np.testing.assert_array_equal(one[3:7], other[3:7])
    assert (part[1][[0, 1, 2, 7, 8, 9]] == -1).all()


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
    returns, *_ = run(chain_of(recurl.Policy.uniform(model)), 100_000, 1, 10)
    share = np.bincount(returns.astype(int)) / 100_000
    np.testing.assert_allclose(share, [0, 0.1, 0.2, 0.7], atol=5 * np.sqrt(0.25 / 100_000))
