"""Environments of which nothing is known but bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from tests.learn.breaches import BREACHES, STEPS_BEFORE, Breach
from tests.learn.pac.foreign import Gamble

import recurl
from recurl.errors import LimitError, ProtocolError
from recurl.learn.pac.bounds import RobustIteration
from recurl.learn.pac.confidence import sets_of
from recurl.learn.pac.drift import Drift
from recurl.learn.pac.environment import EnvironmentAccess, EpisodeAccess
from recurl.learn.pac.learner import PACLearner
from recurl.learn.pac.loop import PACTask
from recurl.learn.pac.plan import weissman_samples

BOUNDS: dict[str, Any] = {"steps": 6, "reward_bound": 1, "support": 2}
ACCESS = ("episodes", "generative")


@pytest.mark.parametrize("access", ACCESS)
def test_repetitions_without_a_model_hold_as_often_as_claimed(access: str) -> None:
    held = 0
    for seed in range(10):
        rounds: list[bool] = []
        found = PACLearner(1.5, 0.1, seed=seed, access=access, starts=1, **BOUNDS).learn(
            Gamble(),
            callback=lambda low, high, _, rounds=rounds: rounds.append(low <= 3 <= high),  # type: ignore[misc]
        )
        assert found.reached
        assert found.numbers["Access"] == access
        held += all(rounds)
    assert held >= 9


@pytest.mark.parametrize("access", ACCESS)
def test_a_plan_draws_what_each_discovery_needs(access: str) -> None:
    learner = PACLearner(3.0, 0.1, "plan", access=access, starts=1, **BOUNDS)
    found = learner.learn(Gamble())
    closeness = 0.999 * 3.0 / (2 * 6**2)
    wanted = [int(weissman_samples(closeness, [2], 0.1 / (i * (i + 1)))[0]) for i in (1, 2, 3)]
    assert found.planned == sum(wanted)
    assert found.samples == sum(wanted) if access == "generative" else found.samples >= sum(wanted)
    assert found.lower <= 3 <= found.upper
    assert found.upper - found.lower == pytest.approx(6, rel=2e-3)
    with pytest.raises(LimitError, match="adaptively"):
        learner.learn(Gamble(), most=1000)


def test_a_random_start_takes_its_share() -> None:
    """Two entries, one worth 1, the other 0; runs start at the first with 3/4."""
    model = (
        recurl.Builder("two")
        .component("A", entries=["one", "none"], exits="out")
        .at("one").action("go", reward=1).to("out")
        .at("none").action("go").to("out")
        .build(start={"A.one": "3/4", "A.none": "1/4"})
    )  # fmt: skip
    for access in ACCESS:
        given: dict[str, Any] = {"steps": 1, "reward_bound": 1, "support": 1, "starts": 2}
        found = PACLearner(0.2, 0.1, access=access, **given).learn(recurl.ModelEnv(model))
        assert found.reached
        assert found.lower <= 0.75 <= found.upper
        assert 0.05 < found.upper - found.lower <= 0.2
        planned = PACLearner(0.5, 0.1, "plan", access=access, **given).learn(recurl.ModelEnv(model))
        assert planned.lower <= 0.75 <= planned.upper
        assert planned.numbers["Starts drawn"] >= weissman_samples(0.1 * 0.5, [2], 0.05)[0]


def test_the_environment_says_which_access_it_gives() -> None:
    class Plain(Gamble):
        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    learner = PACLearner(3, 0.1, **BOUNDS)
    assert learner.learn(Gamble()).numbers["Access"] == "generative"
    assert learner.learn(Plain()).numbers["Access"] == "episodes"
    assert learner.learn(gym.make("recurl/Gambler-v0", p=0.25)).numbers["Access"] == "generative"


def test_what_is_seen_of_a_model_has_its_value() -> None:
    model = recurl.zoo.random_model(seed=3, components=2, nodes=3, kind="one_exit")
    bound = recurl.analyse(model).bound_everywhere
    given: dict[str, Any] = {"steps": bound, "reward_bound": 1, "support": 4, "starts": 1}
    env = recurl.ModelEnv(model, observation="onehot")
    found = PACLearner(1e-3, 0.1, **given).learn(env, most=30_000)
    truth = recurl.solve(model).value
    assert not found.reached
    assert found.samples == 30_000
    assert found.lower <= truth <= found.upper
    assert recurl.solve(found.model).value == pytest.approx(truth, abs=0.1)


def test_the_statement_says_what_was_not_seen() -> None:
    found = PACLearner(0.1, 0.1, access="episodes", **BOUNDS).learn(Gamble(), most=2000)
    assert not found.reached
    assert found.samples == 2000
    assert any("outcomes of 2 pairs that may exist" in text for text in found.unseen)
    assert any("starts that may exist" in text for text in found.unseen)
    assert found.numbers["States discovered"] == 3
    assert found.policy is not None


def test_a_choice_is_learned() -> None:
    model = (
        recurl.Builder("choice")
        .component("A", entries="in", exits="out")
        .at("in").action("bad", reward=0).to("out")
                 .action("good", reward=1).to("out", 0.5).to("x", 0.5)
        .at("x").action("up", reward=1).to("out")
        .build()
    )  # fmt: skip
    learner = PACLearner(0.5, 0.1, steps=2, reward_bound=1, support=2, starts=1)
    found = learner.learn(recurl.ModelEnv(model))
    assert found.lower <= 1.5 <= found.upper
    assert found.policy is not None
    assert found.policy.actions[0] == 1
    assert found.model.label(0) == "0"


@pytest.mark.parametrize("access", ACCESS)
def test_counts_on_disk_go_on_with_new_draws(access: str, tmp_path: Path) -> None:
    learner = PACLearner(1.0, 0.1, access=access, starts=1, **BOUNDS)
    short = learner.learn(Gamble(), most=600, checkpoint=tmp_path / "seen")
    assert not short.reached
    env = Gamble()
    whole = learner.learn(env, checkpoint=tmp_path / "seen")
    assert whole.reached
    assert whole.samples == short.samples + env.steps
    assert whole.lower <= 3 <= whole.upper
    nothing = Gamble()
    again = learner.learn(nothing, checkpoint=tmp_path / "seen")
    assert nothing.steps == 0
    assert (again.samples, again.upper) == (whole.samples, whole.upper)


def played(samples: int = 3000, **given: Any) -> EpisodeAccess:
    """Episodes of the gambler."""
    source = EpisodeAccess(
        Gamble(), PACTask(1.0, 0.1, **{**BOUNDS, "starts": 1, "seed": 3, **given})
    )
    source.seed_round()
    source.play(samples)
    return source


def bounds_of(source: EnvironmentAccess) -> RobustIteration:
    bounds = RobustIteration(source.task, (-1.0, 1.0))
    bounds.tighten(source.observed(), np.inf)
    return bounds


def unobserved(source: EnvironmentAccess) -> tuple[str, ...]:
    observed = source.observed()
    return source.unobserved(observed, sets_of(observed, "clopper-pearson", 0.1))


def test_numbers_name_the_settings_and_the_discoveries() -> None:
    numbers = played(500).numbers()
    assert numbers["Bound K on expected steps, given"] == 6
    assert numbers["States discovered"] == numbers["Pairs discovered"] == 3
    # The start, which is called too, and what follows its two calls, belong to one component.
    assert numbers["Exits"] == "1 discovered, 1 of them taken"
    assert EpisodeAccess(Gamble(), played(1).task, 0.5).numbers()["Discount"] == 0.5


def test_the_learned_model_has_the_counted_frequencies() -> None:
    source = played()
    first = source.experience.pairs[0]
    prob = source.observed().learned().tables.prob[:2]
    assert sorted(prob) == pytest.approx(sorted(np.array(first.at_level) / sum(first.at_level)))


def test_an_unknown_start_widens_the_bounds_and_is_stated() -> None:
    sure, unsure = played(starts=1), played(starts=3)
    one, other = bounds_of(sure), bounds_of(unsure)
    assert other.bounds.upper > one.bounds.upper
    assert other.bounds.lower < one.bounds.lower
    assert any("starts that may exist" in text for text in unobserved(unsure))
    assert not any("starts" in text for text in unobserved(sure))
    assert one.start_score() == pytest.approx(0, abs=1e-9)
    assert other.start_score() > 0


def test_contradictions_of_the_settings_are_stated() -> None:
    source = played(reward_bound=0.5, support=1)
    assert source.contradictions(source.observed()) == (
        "a pair has shown 2 outcomes, more than the support of 1",
        "a step paid 1 in absolute value, beyond the bound 0.5",
    )
    source = played()
    assert source.contradictions(source.observed()) == ()


def test_what_must_be_given_is_said() -> None:
    with pytest.raises(ValueError, match="reward_bound"):
        PACLearner().learn(Gamble())
    with pytest.raises(ValueError, match="are for models"):
        PACLearner(drift=Drift(2, 0.5, 3), **BOUNDS).learn(Gamble())


BROKEN = [case for case in BREACHES if "last" not in case[0]]
GIVEN: dict[str, Any] = {"gamma": 0.5, "reward_bound": 2, "support": 2, "starts": 1}


@pytest.mark.parametrize(("changes", "message"), BROKEN)
def test_a_breach_of_the_protocol_is_named(changes: dict[str, Any], message: str) -> None:
    learner = PACLearner(0.1, 0.1, **GIVEN)
    at = r"step 3[123]: (with a (call|return), )?"
    with pytest.raises(ProtocolError, match=at + message):
        learner.learn(Breach(STEPS_BEFORE, **changes), most=200)


def test_an_end_with_an_event_is_named() -> None:
    with pytest.raises(ProtocolError, match=r"step \d+: a run ends with the event None"):
        PACLearner(0.1, 0.1, **GIVEN).learn(Breach(1, last="return"), most=200)


def test_exits_are_seen_as_wrappers_show_them() -> None:
    def states(env: Any) -> Any:
        found = PACLearner(0.1, 0.1, seed=1, **GIVEN).learn(env, most=100)
        return found.numbers["States discovered"], found.numbers["Exits"]

    env = recurl.ModelEnv(recurl.zoo.cloud())
    assert states(gym.wrappers.FlattenObservation(env)) == states(env)


def test_an_id_will_do_and_vector_environments_are_refused() -> None:
    learner = PACLearner(1, 0.1, gamma=0.5, reward_bound=8, support=2, starts=1)
    assert learner.learn("recurl/Cloud-v0", most=50).samples >= 50
    with pytest.raises(TypeError, match=r"PACLearner.learn takes a model, .* not a int"):
        learner.learn(5)  # type: ignore[arg-type]
    envs: Any = gym.make_vec("recurl/Cloud-v0", 2, vectorization_mode="sync")
    with pytest.raises(ProtocolError, match="not in a vector environment"):
        learner.learn(envs)


def test_actions_are_counted_from_the_start_of_their_space() -> None:
    class Shifted(gym.ActionWrapper[Any, Any, Any]):
        def __init__(self) -> None:
            super().__init__(recurl.ModelEnv(recurl.zoo.cloud()))
            self.action_space = spaces.Discrete(2, start=5)

        def action(self, action: Any) -> Any:
            assert action in self.action_space
            return int(action) - 5

    learner = PACLearner(1, 0.1, gamma=0.5, reward_bound=8, support=2, starts=1)
    assert learner.learn(Shifted(), most=50).samples >= 50
