from __future__ import annotations

import math

import numpy as np
import pytest
from tests.solving.oracle import COSTS, random_spec
from tests.solving.references import cubic, retry_client, stop_or_bet

import recurl
from recurl.solving.ending_policies import ending_policy, endless_policy


def test_a_client_that_may_retry_for_ever_gives_up() -> None:
    model = retry_client()
    found = ending_policy(model)
    assert found is not None
    actions, steps = found
    policy = recurl.Policy.stackless(model, actions)
    assert recurl.evaluate(policy).steps == steps[model.tables.starts[0]] < np.inf


def test_the_exit_taken_may_decide_whether_it_ends() -> None:
    # Neither the shortest way to any exit nor that to the best one ends surely here.
    model = random_spec(21000454, exits=3, actions=2, rewards=COSTS)
    found = ending_policy(model)
    assert found is not None
    value = recurl.evaluate(recurl.Policy.stackless(model, found[0]))
    assert value.steps == pytest.approx(137.4706876, rel=1e-8)
    assert value.termination[0] == 1.0


def test_none_ends() -> None:
    builder = recurl.Builder("shut").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go").to("a").action("come").to("a")
    for name in ("x", "y"):
        builder.at(f"a.{name}").action("up").to(name)
    assert ending_policy(builder.build()) is None


def test_betting_goes_on() -> None:
    # Uniformly it ends: half of the time one stops. Always betting ends with 2/3 only.
    model = stop_or_bet()
    assert recurl.evaluate(recurl.Policy.uniform(model)).termination[0] == 1.0
    found = endless_policy(model)
    assert found is not None
    assert found.policy.action_name("A.in") == "bet"
    assert recurl.evaluate(found.policy).termination[1] == pytest.approx(2 / 3)
    assert found.reason == "a policy ends with probability 0.666667 only"


def test_without_a_choice() -> None:
    found = endless_policy(cubic())
    assert found is not None
    ends = recurl.evaluate(found.policy).termination[1]
    assert ends == pytest.approx((math.sqrt(5) - 1) / 2)


@pytest.mark.parametrize("more", [(), ("stop",)])
def test_a_policy_that_ends_too_late(more: tuple[str, ...]) -> None:
    # It calls itself twice with 1/2: it ends surely, after infinitely many steps on average.
    builder = recurl.Builder("critical").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "A").box("b", "A").at("in").action("go").to("a", "1/2").to("x", "1/2")
    for name in more:
        builder.action(name).to("y")
    for name in ("x", "y"):
        builder.at(f"a.{name}").action("up").to("b")
        builder.at(f"b.{name}").action("up").to(name)
    model = builder.build()
    found = recurl.analyse(model)
    assert found.verdict == "not proper"
    assert "infinitely many steps" in found.reason
    assert found.witness is not None
    assert found.witness.action_name("A.in") == "go"
    solution = recurl.solve(model, of="steps")
    assert solution.lower == math.inf
    assert recurl.verify(model, solution.certificate).lower == math.inf


@pytest.mark.parametrize("model", [recurl.zoo.cloud(), recurl.zoo.palindrome(), stop_or_bet("2/5")])
def test_proper_models_have_none(model: recurl.RMDP) -> None:
    assert endless_policy(model) is None


@pytest.mark.parametrize(("exits", "seed"), [(2, 3), (3, 1)])
def test_a_witness_against_a_multi_exit_model(exits: int, seed: int) -> None:
    model = recurl.zoo.random_model(
        seed, 2, 3, kind="general", exits=exits, load=1.6, exit_probability=0.4,
        call_fraction=0.6,
    )  # fmt: skip
    found = recurl.analyse(model)
    assert found.verdict == "not proper"
    assert found.witness is not None
    runs = recurl.simulate(model, found.witness, 2000, seed=1, step_limit=3000)
    assert runs.truncated.mean() > 0.05


def help_desk() -> recurl.RMDP:
    """An agent may refuse, and the desk may ask again; refusing shortens a call."""
    builder = recurl.Builder("desk").component("D", entries="in", exits="solved").box("a", "A")
    builder.at("in").action("ask", reward=-1).to("a")
    builder.at("a.ok").action("done", reward=-1).to("solved")
    builder.at("a.refused").action("retry", reward=-1).to("a")
    builder.action("give up", reward=-10).to("solved")
    builder.component("A", entries="in", exits=["ok", "refused"]).box("sub", "A")
    builder.at("in").action("work", reward=-3).to("ok", 0.6).to("sub", 0.4)
    builder.action("refuse", reward=-1).to("refused")
    builder.at("sub.ok").action("up", reward=-1).to("ok")
    builder.at("sub.refused").action("again", reward=-1).to("sub")
    builder.action("up", reward=-1).to("refused")
    return builder.build()


def test_a_desk_and_its_agents_can_go_on_together() -> None:
    found = recurl.analyse(help_desk())
    assert found.verdict == "not proper"
    assert found.witness is not None
    assert found.witness.action_name("A.in") == "refuse"
    assert found.witness.action_name("D.a.refused") == "retry"


@pytest.mark.parametrize(("of", "objective", "value"), [
    ("steps", "max", math.inf), ("reward", "min", -math.inf),
])  # fmt: skip
def test_going_on_is_certified(of: str, objective: str, value: float) -> None:
    model = help_desk()
    found = recurl.solve(model, of=of, objective=objective)
    assert (found.lower, found.upper) == (value, value)
    assert found.certificate is not None
    assert recurl.verify(model, found.certificate).theorems == ("can go on",)
