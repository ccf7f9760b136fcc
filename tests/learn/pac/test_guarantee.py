"""The statement holds every number."""

from __future__ import annotations

import recurl
from recurl.env.model_env import ModelEnv
from recurl.learn.pac.guarantee import Guarantee


def made(**changes: object) -> Guarantee:
    parts: dict[str, object] = {
        "policy": None, "loss": 0.5, "epsilon": 0.1, "delta": 0.05, "reached": False,
        "samples": 1234, "planned": 10_000, "method": "adaptive",
        "numbers": {"K": 7.0, "Rule": "x"},
        "unseen": ("1 exit: S.u9",), "warnings": ("b is too small",),
    }  # fmt: skip
    return Guarantee(recurl.zoo.cloud(), -6.0, -5.5, -5.75, **{**parts, **changes})  # type: ignore[arg-type]


def test_a_statement_says_it_all() -> None:
    text = str(made())
    for part in (
        "With probability 0.95, the optimum of cloud lies in [-6, -5.5], width 0.5",
        "Asked for: 0.1, which was not reached",
        "Samples: 1,234 (adaptive); planned beforehand: 10,000, 0.12 of it",
        "K: 7",
        "Rule: x",
        "Never seen: 1 exit: S.u9",
        "Warning: b is too small",
    ):
        assert part in text.splitlines()
    assert "policy" not in text


def test_a_policy_and_its_loss_are_stated() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.cloud())
    text = made(policy=policy, planned=None, reached=True).statement
    assert "The policy falls short of the optimum by at most 0.5" in text
    assert "no plan beforehand is possible" in text
    assert "not reached" not in text


def test_the_policy_states_its_rules() -> None:
    model = recurl.zoo.stack_matters()
    learned = recurl.PACLearner(epsilon=0.6, delta=0.1, seed=1).learn(model)
    assert learned.policy is not None
    best = "even when called at G.first1, hope1 when called at main.game or G.second1"
    assert learned.policy.explain("G.in").text.startswith(best)
    assert [row.action for row in learned.policy.table()] == ["hope1", "even"]


def test_the_policy_of_an_environment_says_what_it_has_seen() -> None:
    env = ModelEnv(recurl.zoo.cloud(exits=1))
    learner = recurl.PACLearner(20.0, 0.1, steps=12, reward_bound=8, support=3, seed=1)
    policy = learner.learn(env).policy
    assert policy is not None
    first, seen = policy.table()[0], env.reset(seed=0)[0]
    assert first.place == f"{first.vertex} (seen as {seen})"
    assert f"(seen as {seen})" in str(policy.explain(first.vertex))
