"""Model-based recursive learning, end to end."""

from __future__ import annotations

import math
import warnings

import pytest
from tests.learn.breaches import BREACHES, STEPS_BEFORE, Breach, LateToTell
from tests.learn.paid_roots import PAID, Answer, Crawl

import recurl
from recurl import ModelBasedRecursiveLearning
from recurl.errors import CheckpointError, ProtocolError


def learner(model, steps=0, **settings):
    made = ModelBasedRecursiveLearning(model, episode_limit=200, **settings)
    return made.learn(steps) if steps else made


@pytest.mark.parametrize(
    ("model", "steps", "optimum"),
    [
        (recurl.zoo.cloud(), 1200, -5.3425),
        (recurl.zoo.stack_matters(), 1000, 0.7818),
        (recurl.zoo.leaky_pfa(), 2000, 0.6379),
        (recurl.zoo.battery("C.T/S..", 1), 8000, 0.9510),
    ],
    ids=["cloud", "stack_matters", "leaky_pfa", "battery"],
)
def test_learned_policies_are_optimal(model, steps, optimum):
    value = recurl.evaluate(learner(model, steps).policy()).value
    assert value >= optimum - 0.01 * abs(optimum)


@pytest.mark.parametrize(("setting", "steps"), [("epidemic", 20_000), ("fishery", 4_000)])
def test_an_unlucky_beginning_is_overcome(setting, steps):
    found = recurl.suite.find_setting(f"{setting}-small")
    made = ModelBasedRecursiveLearning(found.model(), episode_limit=1000).learn(steps)
    assert recurl.evaluate(made.policy()).value == pytest.approx(found.known.optimum[0])


@pytest.mark.parametrize("seed", [3, 4])
def test_an_action_that_was_unlucky_twice_is_tried_again(seed):
    # Breeding left nothing in both of its first tries.
    model = recurl.zoo.harvest(0.6, litter=0.6)
    found = ModelBasedRecursiveLearning(model, episode_limit=1_000, seed=seed).learn(20_000)
    assert recurl.evaluate(found.policy()).value == pytest.approx(15 / 14)


def test_noise_that_pairs_share_is_learned_from_all_of_them():
    value = recurl.evaluate(learner(recurl.zoo.office(), 20_000, seed=102).policy()).value
    assert value >= 0.99 * 5.2317


def test_a_kept_policy_does_not_charge_forever():
    model = recurl.zoo.battery()
    made = learner(model, 7_663, seed=101)
    assert recurl.evaluate(made.policy()).value > 0.8


def test_environments_are_learned_through_the_protocol_alone():
    model = recurl.zoo.stack_matters()
    hidden = learner(recurl.ModelEnv(model), 1000)
    seen = learner(model, 1000)
    assert hidden.engine.counts.count == seen.engine.counts.count
    hidden.engine.evaluation_env = recurl.ModelEnv(model)
    assert hidden.test(300).mean == pytest.approx(0.7818, abs=0.1)


def test_looks_other_than_numbers_are_learned():
    env = recurl.ModelEnv(recurl.zoo.cloud(), observation="onehot")
    test = recurl.ModelEnv(recurl.zoo.cloud(), observation="onehot")
    made = ModelBasedRecursiveLearning(env, episode_limit=200, evaluation_env=test).learn(1200)
    assert made.test(400).mean == pytest.approx(-5.3425, abs=0.5)
    assert made.learned_model().model.labels


def test_steps_may_be_divided_in_any_way():
    model = recurl.zoo.stack_matters()
    one, other = learner(model, 700), learner(model)
    for part in (1, 230, 19, 450):
        other.learn(part)
    assert one.engine.counts.reward == other.engine.counts.reward
    assert one.engine.counts.count == other.engine.counts.count


def test_a_saved_run_goes_on_to_the_bit(tmp_path):
    model = recurl.zoo.cloud()
    one, other = learner(model, 600), learner(model, 300)
    while not other.engine._stack:  # it is saved within a call
        other.learn(1)
    other.save(tmp_path / "run")
    loaded = ModelBasedRecursiveLearning.load(tmp_path / "run", model).learn(600 - other.steps)
    assert loaded.engine.counts.count == one.engine.counts.count
    assert loaded.engine.counts.reward == one.engine.counts.reward
    values = [
        [context.values for context in made.engine.planner.contexts] for made in (one, loaded)
    ]
    assert values[0] == values[1]
    assert loaded.policy() == one.policy()


def test_a_loaded_run_in_an_environment_keeps_its_counts(tmp_path):
    env = recurl.ModelEnv(recurl.zoo.cloud())
    one = learner(env, 300)
    one.save(tmp_path / "run")
    loaded = ModelBasedRecursiveLearning.load(tmp_path / "run", env)
    assert loaded.engine.counts.count == one.engine.counts.count
    assert loaded.learn(100).steps == 400


def test_damaged_checkpoints_are_refused(tmp_path):
    from recurl.learn.checkpoint import read_checkpoint, write_checkpoint

    model = recurl.zoo.cloud()
    learner(model, 200).save(tmp_path / "run")
    header, arrays = read_checkpoint(tmp_path / "run", "ModelBasedRecursiveLearning")
    for name in ("owner", "context_state", "box_after"):
        write_checkpoint(tmp_path / "bad", header, {**arrays, name: arrays[name] + 1000})
        with pytest.raises(CheckpointError):
            ModelBasedRecursiveLearning.load(tmp_path / "bad", model)
    with pytest.raises(CheckpointError, match="the run was on"):
        ModelBasedRecursiveLearning.load(tmp_path / "run", recurl.zoo.gambler())


def test_callbacks_tests_and_checkpoints_work_as_for_other_learners(tmp_path):
    seen = []
    made = learner(recurl.zoo.cloud(), evaluate_every=200, evaluate_episodes=20)
    made.learn(600, lambda own: seen.append(own.steps), checkpoint=tmp_path / "run")
    assert seen == [200, 400, 600]
    assert made.curve.steps.tolist() == [200, 400, 600]
    assert made.best is not None
    assert made.best.learner.steps in (200, 400, 600)
    assert (tmp_path / "run").exists()


def test_predictions_follow_the_kept_policy():
    model = recurl.zoo.stack_matters()
    made, env = learner(model, 1000), recurl.ModelEnv(model)
    total = 0.0
    for seed in range(100):
        observation, info = env.reset(seed=seed)
        state, terminated = None, False
        while not terminated:
            action, state = made.predict(observation, state, info=info)
            observation, reward, terminated, _, info = env.step(action)
            total += float(reward)
    assert total / 100 == pytest.approx(0.7818, abs=0.15)


def test_discounts_are_learned():
    model = recurl.zoo.cloud()
    made = learner(model, 3000, gamma=0.9)
    optimum = -3.6846  # of solve(model, gamma=0.9)
    assert recurl.evaluate(made.policy(), gamma=0.9).value >= optimum - 0.01 * abs(optimum)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="nothing was observed"):
        learner(recurl.zoo.cloud()).learned_model()
    with pytest.raises(ValueError, match="use predict"):
        learner(recurl.ModelEnv(recurl.zoo.cloud()), 10).policy()
    with pytest.raises(ValueError, match="prior must be positive"):
        learner(recurl.zoo.cloud(), prior=-1.0)
    with pytest.raises(ProtocolError, match="Discrete"):
        ModelBasedRecursiveLearning("Pendulum-v1")


@pytest.mark.parametrize(("changes", "message"), BREACHES)
def test_a_breach_stops_the_run_and_leaves_what_was_learned(changes, message):
    env = Breach(STEPS_BEFORE, **changes)
    found = ModelBasedRecursiveLearning(env).learn(STEPS_BEFORE)
    with pytest.raises(ProtocolError, match=f"step 3[123]: (with a (call|return), )?{message}"):
        found.learn(3)
    assert found.steps == sum(found.engine.counts.tried) == env.step_number - 1
    env.at = math.inf
    assert found.learn(50 - found.steps).steps == 50


def test_an_environment_that_tells_no_event_on_reset_is_not_called_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ModelBasedRecursiveLearning(LateToTell()).learn(20)
    with pytest.warns(UserWarning, match="reports no events") as told:
        ModelBasedRecursiveLearning(recurl.FlatView(Breach())).learn(20).learn(20)
    assert len(told) == 1


@pytest.mark.parametrize("kind", PAID)
def test_a_root_that_is_paid_at_its_end_is_learned_apart(kind):
    made = learner(kind(), 5000 if kind is Crawl else 1500)
    assert made.test(1000).mean == pytest.approx(kind.best, abs=min(kind.tolerance, 1.0))


def test_states_of_the_root_are_told_apart_and_saved(tmp_path):
    made = learner(Answer(), 500)
    assert set(made.learned_model().model.labels.values()) == {"0", "0 at the root"}
    made.save(tmp_path / "run.zip")
    again = ModelBasedRecursiveLearning.load(tmp_path / "run.zip", Answer())
    assert again.learn(100).test(1).mean == 10
    assert learner(Answer(), own_root=False).engine.counts.root_states == set()


def test_components_that_are_never_called_may_call_others() -> None:
    builder = recurl.Builder("idle").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("no").to("out").action("yes", reward=1).to("b")
    builder.at("b.out").action("on").to("out")
    builder.component("C", entries="in", exits="out").box("c", "B")
    builder.at("in").action("go").to("c").at("c.out").action("on").to("out")
    builder.component("B", entries="in", exits="out").at("in").action("go").to("out")
    learner = recurl.ModelBasedRecursiveLearning(builder.build("A")).learn(50)
    assert recurl.evaluate(learner.policy()).value == 1
