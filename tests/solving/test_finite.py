from __future__ import annotations

import dataclasses
from functools import cache
from itertools import product

import msgspec
import numpy as np
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.solving.end_components import Process, staying_actions
from recurl.solving.finite import solve_finite
from recurl.solving.question import Question


def stay(reward: float = 0.0) -> recurl.RMDP:
    """One may stay, or try: done with 1/4, lost with 1/4."""
    builder = recurl.Builder("stay").component("A", entries="in", exits=["done", "lost"])
    builder.at("in").action("go").to("room")
    builder.at("room").action("stay", reward=reward).to("room")
    builder.action("try").to("done", 0.25).to("lost", 0.25).to("room", 0.5)
    return builder.build()


def nested_stay() -> recurl.RMDP:
    """Whoever is called may stay forever, or fail; the caller asks twice at most."""
    builder = recurl.Builder("nested").component("A", entries="in", exits=["done", "lost"])
    builder.box("first", "B").box("second", "B")
    builder.at("in").action("go").to("first")
    builder.at("first.ok").action("go").to("done")
    builder.at("first.bad").action("again").to("second").action("give up").to("lost")
    builder.at("second.ok").action("go").to("done").at("second.bad").action("go").to("lost")
    builder.component("B", entries="in", exits=["ok", "bad"])
    builder.at("in").action("wait").to("loop").action("try").to("ok", 0.5).to("bad", 0.5)
    builder.at("loop").action("wait").to("loop").action("try").to("ok", 0.75).to("bad", 0.25)
    return builder.build("A")


@pytest.mark.parametrize(
    ("model", "exit_name", "objective", "truth"),
    [
        (stay(), "done", "max", 0.5),
        (stay(), "done", "min", 0.0),
        (nested_stay(), "done", "max", 0.9375),
        (nested_stay(), "lost", "max", 0.5),
        (nested_stay(), "lost", "min", 0.0),
    ],
)
def test_probabilities_are_tight_and_certified(
    model: recurl.RMDP, exit_name: str, objective: str, truth: float
) -> None:
    found = recurl.solve(model, of=f"exit:{exit_name}", objective=objective, epsilon=1e-9)
    assert found.lower <= truth <= found.upper
    assert found.gap <= 1e-9
    proved = recurl.verify(model, Certificate.decode(msgspec.json.encode(found.certificate)))
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert found.policy is not None
    reached = recurl.evaluate(found.policy).exit_probabilities
    assert reached[exit_name] == pytest.approx(truth, abs=1e-9)


def test_staying_may_cost_nothing() -> None:
    """The greatest total of stay = -1 is that of leaving at once; the least is -inf."""
    model = stay(reward=-1.0)
    found = recurl.solve(model)
    assert found.lower <= 0 <= found.upper
    assert found.gap <= 1e-6
    assert recurl.verify(model, found.certificate).upper == found.upper


@cache
def random_process(seed: int) -> recurl.RMDP:
    """A few states with loops; rewards are 0 or 1, and 0 wherever one may stay for sure."""
    random = np.random.default_rng(seed)
    states = int(random.integers(2, 5))
    builder = recurl.Builder(f"random {seed}")
    builder.component("A", entries="in", exits=["x", "y"]).at("in").action("go").to("s0")
    for s in range(states):
        builder.at(f"s{s}")
        for a in range(int(random.integers(1, 4))):
            targets = random.choice([*(f"s{k}" for k in range(states)), "x", "y"], 2, replace=False)
            builder.action(f"a{a}").to(str(targets[0]), 0.5).to(str(targets[1]), 0.5)
        if random.random() < 0.5:
            builder.action("move").to(f"s{random.integers(states)}")
    return builder.build()


@cache
def by_policy(model: recurl.RMDP) -> list[float]:
    """How probably each stackless policy leaves by x."""
    t = model.tables
    count = np.maximum(np.diff(t.action_start), 1).tolist()
    policies = (
        recurl.Policy.stackless(model, np.array(actions, np.int32))
        for actions in product(*map(range, count))
    )
    return [recurl.evaluate(policy).exit_probabilities["x"] for policy in policies]


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("seed", range(12))
def test_random_processes_agree_with_all_policies(seed: int, objective: str) -> None:
    model = random_process(seed)
    found = solve_finite(model, Question(objective, "none", (1.0, 0.0)), 1e-9)
    assert found is not None
    truth = (max if objective == "max" else min)(by_policy(model))
    assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
    assert found.gap <= 1e-9
    recurl.verify(model, found.certificate)


def test_positive_rewards_where_one_can_stay_have_no_finite_answer_here() -> None:
    assert solve_finite(stay(reward=1.0), Question(), 1e-6) is None


def test_totals_of_both_signs_are_left_to_others() -> None:
    assert solve_finite(stay(reward=-1.0), Question("max", "model", (1.0, 0.0)), 1e-6) is None


def test_the_actions_of_a_mere_circle_stay() -> None:
    builder = recurl.Builder("circle").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("a").at("a").action("on").to("b")
    builder.at("b").action("back").to("a").action("half").to("a", 0.5).to("out", 0.5)
    model = builder.build()
    process = Process.of(model, Question("max", "none", (1.0,)))
    assert process is not None
    stays, group = staying_actions(process, model.tables.states)
    assert stays.tolist() == [False, True, True, False]
    assert group[model.find("A.a")] == group[model.find("A.b")]


TAMPERED = {
    "a higher lower claim": lambda c: msgspec.structs.replace(c, lower=c.lower + 0.01),
    "a lower upper claim": lambda c: msgspec.structs.replace(c, upper=c.upper - 0.01),
    "another objective": lambda c: msgspec.structs.replace(c, objective="min", claim=""),
    "another exit": lambda c: msgspec.structs.replace(c, exit_values=[0.0, 1.0], claim=""),
    "values 1 that go round": lambda c: raised(c),
    "an action that stays": lambda c: changed(c, actions=[0] * len(c.values.actions)),
    "no progress": lambda c: changed(c, progress=[0.0] * len(c.values.progress)),
    "steps backwards": lambda c: changed(c, progress=backwards(c.values.progress)),
    "values below 0": lambda c: changed(c, upper=[-1.0] * len(c.values.upper)),
    "another start": lambda c: changed(c, contexts=[(1, -1, -1), *c.values.contexts[1:]]),
    "a context twice": lambda c: changed(c, contexts=[*c.values.contexts[:2]] * 2),
    "a caller that comes later": lambda c: changed(c, contexts=late(c)),
    "too few numbers": lambda c: changed(c, lower=c.values.lower[:-1]),
    "no contexts": lambda c: changed(c, contexts=[]),
    "an action that does not exist": lambda c: changed(c, actions=[9] * len(c.values.actions)),
    "not a number": lambda c: changed(c, upper=[float("nan")] * len(c.values.upper)),
}


def changed(certificate: Certificate, **fields: object) -> Certificate:
    values = msgspec.structs.replace(certificate.values, **fields)
    return msgspec.structs.replace(certificate, values=values)


def raised(certificate: Certificate) -> Certificate:
    values = certificate.values
    assert values is not None
    return msgspec.structs.replace(
        changed(certificate, lower=[float(x > 0) for x in values.lower]), lower=1.0, upper=1.0
    )


def backwards(progress: list[float]) -> list[float]:
    return [1.0 + max(progress) - x for x in progress]


def late(certificate: Certificate) -> list[tuple[int, int, int]]:
    assert certificate.values is not None
    return [(c, p if p < 0 else 2, b) for c, p, b in certificate.values.contexts]


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_refused(name: str) -> None:
    model = nested_stay()
    certificate = recurl.solve(model, of="exit:done").certificate
    recurl.verify(model, certificate)
    with pytest.raises(CertificateError):
        recurl.verify(model, TAMPERED[name](certificate))


def test_each_number_counts() -> None:
    """A lower bound that is raised, or an upper one that is lowered, where runs come to."""
    model = nested_stay()
    certificate = recurl.solve(model, of="exit:done").certificate
    values = certificate.values
    assert values is not None
    reached = [i for i, x in enumerate(values.upper) if x > 0]
    for i in reached:
        lower, upper = list(values.lower), list(values.upper)
        lower[i], upper[i] = lower[i] + 0.01, upper[i] - 0.01
        for fields in ({"lower": lower}, {"upper": upper}):
            claim = {"lower": 0.94} if "lower" in fields else {"upper": 0.93}
            tampered = msgspec.structs.replace(changed(certificate, **fields), **claim)
            with pytest.raises(CertificateError):
                recurl.verify(model, tampered)


def test_rewards_that_no_run_meets_have_no_sign() -> None:
    builder = recurl.Builder("lost").component("A", entries="in", exits=["x", "y"])
    builder.box("b", "B")
    builder.at("in").action("go", reward=1).to("b").at("b.z").action("go").to("x")
    builder.action("no", reward=2).to("y", 0.5).to("x", 0.5)
    builder.component("B", entries="in", exits="z").at("in").action("go").to("z")
    builder.component("C", entries="in", exits="z").at("in").action("go", reward=-1).to("z")
    model = builder.build("A")
    found = recurl.solve(model)
    assert recurl.verify(model, found.certificate).upper == found.upper


@pytest.mark.parametrize("rewards", [(1, 1), (1, -1)])
def test_vertices_that_no_run_visits_need_no_bounds(rewards: tuple[float, float]) -> None:
    builder = recurl.Builder("lost").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go", reward=rewards[0]).to("x", 0.5).to("y", 0.5)
    builder.action("other", reward=rewards[1]).to("x")
    builder.at("far").action("go").to("far2").at("far2").action("go").to("x").action("no").to("y")
    found = recurl.solve(builder.build())
    assert found.policy is not None
    assert found.value == pytest.approx(1, abs=1e-6)


def test_what_is_found_says_so() -> None:
    found = recurl.solve(nested_stay(), of="exit:done")
    assert "end components" in found.reason
    assert dataclasses.replace(found, seconds=0.0).values_lower is not None


@pytest.mark.parametrize("go", [1e200, 1e-300])
def test_rewards_of_unusual_size_have_certificates(go: float) -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits="out")
    builder.at("in").action("stay").to("n").action("go", reward=go).to("out")
    model = builder.at("n").action("stay").to("n").action("go", reward=go).to("out").build()
    found = recurl.solve(model)
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert found.lower <= go <= found.upper
    assert found.gap < 1e-9 * go


def test_a_detour_that_pays_for_itself_has_a_certificate() -> None:
    """The way back from a call is longer by one exit, though each of its steps counts."""
    builder = recurl.Builder("detour").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go").to("n", "0.55").to("m", "0.45")
    builder.at("n").action("go").to("b", "0.55").to("m", "0.45")
    builder.at("m").action("call").to("out", "0.5").to("b", "0.5")
    builder.action("walk").to("n", "0.5").to("out", "0.25").to("m", "0.25")
    builder.at("b.x").action("back").to("out", "0.55").to("n", "0.45")
    builder.action("on").to("m", "0.4999").to("out", "0.5001")
    builder.at("b.y").action("back").to("b", "1/3").to("n", "2/3")
    builder.action("on").to("out", "1/3").to("m", "2/3")
    builder.component("B", entries="in", exits=["x", "y"])
    builder.at("in").action("x").to("x").action("toss").to("y", "1/3").to("x", "2/3")
    model = builder.build("A")
    found = recurl.solve(model, of="steps", objective="min")
    verdict = recurl.verify(model, found.certificate)
    assert (verdict.lower, verdict.upper) == (found.lower, found.upper)
