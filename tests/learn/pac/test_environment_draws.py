"""Workers that share the draws of a model or an environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.learn.pac.foreign import Gamble

import recurl
from recurl.errors import ProtocolError
from recurl.execution.engine import Mailbox
from recurl.learn.pac.environment_draws import Draws, draw_outcomes
from recurl.learn.pac.learner import PACLearner

BOUNDS: dict[str, Any] = {"steps": 6, "reward_bound": 1, "support": 2, "starts": 1}


def facts(found: Any) -> tuple[float, ...]:
    return found.lower, found.upper, found.samples


def test_an_answer_does_not_depend_on_where_the_workers_are() -> None:
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    model = recurl.zoo.gambler(p=0.25)
    here, there = (
        [
            PACLearner(1.5, 0.1, seed=3, workers=4, on=on, **BOUNDS).learn(env),
            PACLearner(0.5, 0.1, seed=3, workers=4, on=on).learn(model),
        ]
        for on in ("local", "processes")
    )
    for one, other in zip(here, there, strict=True):
        assert facts(one) == facts(other)
        assert one.lower <= 3 <= one.upper
    alone = PACLearner(1.5, 0.1, seed=3, **BOUNDS).learn(env)
    assert alone.samples == here[0].samples
    assert facts(alone) != facts(here[0])


@pytest.mark.parametrize("access", [None, "generative"])
def test_a_plan_is_fulfilled_by_workers(access: str | None) -> None:
    learner = PACLearner(3, 0.1, method="plan", seed=1, workers=3, access=access, **BOUNDS)
    found = learner.learn(Gamble())
    assert found.lower <= 3 <= found.upper
    assert found.samples == found.planned


def test_workers_hold_as_often_as_claimed_without_a_model() -> None:
    held = 0
    for seed in range(10):
        found = PACLearner(1.5, 0.1, seed=seed, workers=4, **BOUNDS).learn(Gamble())
        held += found.lower <= 3 <= found.upper
    assert held >= 9


def test_no_more_draws_than_allowed() -> None:
    found = PACLearner(0.01, 0.1, workers=3, **BOUNDS).learn(Gamble(), most=500)
    assert found.samples == 500


def test_equal_outcomes_are_counted_where_they_are_drawn() -> None:
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    state, _ = env.reset(seed=0)
    draws = Draws([(state, 0)], [1000], [1, 2])
    found = draw_outcomes(env, draws, Mailbox(0))
    assert len(found) == 2
    assert sum(times for _, _, times in found) == 1000
    again = draw_outcomes(env, draws, Mailbox(0))
    assert [times for *_, times in again] == [times for *_, times in found]
    other = draw_outcomes(env, draws._replace(seed=[1, 3]), Mailbox(0))
    assert [times for *_, times in other] != [times for *_, times in found]


class Elsewhere(Gamble):
    """Begins where it likes."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)


def test_an_environment_that_begins_at_another_state_is_refused() -> None:
    with pytest.raises(ProtocolError, match="did not begin at the state given"):
        draw_outcomes(Elsewhere(), Draws([(2, 0)], [1], [0]), Mailbox(0))


def test_episodes_are_played_by_one() -> None:
    with pytest.raises(ValueError, match="episodes are played by one"):
        PACLearner(1.5, 0.1, access="episodes", workers=2, **BOUNDS).learn(Gamble())
    with pytest.raises(ValueError, match="at least one worker"):
        PACLearner(workers=0)


def test_pairs_and_shares_are_whole() -> None:
    from recurl.learn.pac.model_access import shares_of

    wanted = np.array([0, 1, 7, 100])
    assert np.array_equal(sum(shares_of(wanted, 4)), wanted)
