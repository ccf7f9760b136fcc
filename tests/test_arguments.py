"""Unknown arguments are answered with the one that is meant, wherever settings are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import recurl
from recurl.arguments import with_known_names
from recurl.automaton import MachineEnv, load_reward_machine
from recurl.errors import UnknownSettingError

MODEL = recurl.zoo.cloud()
CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: recurl.simulate(MODEL, discount=0.9), "simulate has .* mean gamma"),
    (lambda: recurl.solve(MODEL, discount=0.9), "solve has .* mean gamma"),
    (lambda: recurl.evaluate(recurl.Policy.uniform(MODEL), gama=1), "evaluate has .* mean gamma"),
    (lambda: recurl.ModelEnv(MODEL, discount=0.9), "ModelEnv has .* mean gamma"),
    (lambda: recurl.check_recursive_env(recurl.ModelEnv(MODEL), step=4), "mean steps"),
    (lambda: recurl.register_network("one", int, aply=int), "register_network has .* mean apply"),
    (lambda: recurl.learn_many(MODEL, 2, 10, seed=1), "learn_many has .* mean seeds"),
    (
        lambda: recurl.QLearning.load("run", MODEL, evaluate_env=0),
        "QLearning.load has .* mean eval",
    ),
    (lambda: recurl.QLearning(MODEL).save(pth="run"), "QLearning.save has .* mean path"),
    (lambda: recurl.QLearning(MODEL).warm_start(visit=1), "warm_start has .* mean visits"),
    (lambda: recurl.DQN(MODEL).policy(max_context=1), "DQN.policy has .* mean max_contexts"),
    (lambda: recurl.callbacks.StopAtReward(1, test=2), "StopAtReward has .* mean tests"),
    (lambda: recurl.callbacks.KeepBest(paths="run"), "KeepBest has .* mean path"),
    (lambda: recurl.callbacks.SaveEvery(step=1, path=""), "SaveEvery has .* mean steps"),
    (lambda: recurl.loggers.TensorBoard(folders="run"), "TensorBoard has .* mean folder"),
    (lambda: recurl.loggers.CSVLogger(paths="run"), "CSVLogger has .* mean path"),
    (lambda: recurl.loggers.RunLogger(runs=0), "RunLogger has .* mean run"),
    (lambda: recurl.schedules.linear(1, 0, frction=0.5), "linear has .* mean fraction"),
    (lambda: recurl.schedules.harmonic(ofset=1), "harmonic has .* mean offset"),
    (
        lambda: MachineEnv(gym.make("CartPole-v1"), counterfactuals=True),
        "MachineEnv .* counterfactual",
    ),
    (lambda: load_reward_machine("file", exclusiv=True), "load_reward_machine has .* exclusive"),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_one_meant_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UnknownSettingError, match=message):
        call()


NOT_NUMBERS: list[tuple[Callable[[], Any], str]] = [
    (lambda: recurl.simulate(MODEL, gamma="x"), "gamma must be .* 'x'"),
    (lambda: recurl.simulate(MODEL, episodes="9"), "episodes must be a number, not '9'"),
    (lambda: recurl.ModelEnv(MODEL, gamma="x"), "gamma must be .* 'x'"),
    (lambda: recurl.PACLearner(gamma="x"), "gamma must be .* 'x'"),
    (lambda: recurl.PACLearner(delta="x"), "delta must be a number"),
    (lambda: recurl.PACLearner(MODEL), "give the model to its method learn"),
]


@pytest.mark.parametrize(("call", "message"), NOT_NUMBERS)
def test_what_is_not_a_number_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_what_is_known_passes_and_the_signature_stays() -> None:
    @with_known_names
    def run(model: Any, *, gamma: float = 1.0) -> Any:
        """Run it."""
        return model, gamma

    assert run(1, gamma=0.5) == run(model=1, gamma=0.5) == (1, 0.5)
    assert list(inspect.signature(run).parameters) == ["model", "gamma"]
    assert (run.__name__, run.__doc__) == ("run", "Run it.")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'model'"):
        run()  # type: ignore[call-arg]
