from __future__ import annotations

import math

import msgspec
import pytest
from tests.solving.oracle import Chain, random_spec, stackless
from tests.solving.references import stop_or_bet

import recurl
from recurl.errors import CertificateError
from recurl.solving.leaving import may_not_end, solve_leaving
from recurl.solving.question import Question


def exits_of(model: recurl.RMDP) -> list[str]:
    t = model.tables
    first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
    return [model.local_name(first + k) for k in range(int(t.n_exits[t.start_component]))]


def grow_or_leave() -> recurl.RMDP:
    """Whoever grows leaves by x more often, and may not end."""
    builder = recurl.Builder("grow or leave").component("A", entries="in", exits=["x", "y"])
    builder.box("one", "A").box("two", "A")
    builder.at("in").action("leave").to("x", "1/4").to("y", "3/4")
    builder.action("grow").to("one", "3/5").to("x", "2/5")
    for exit in "xy":
        builder.at(f"one.{exit}").action("next").to("two")
        builder.at(f"two.{exit}").action("next").to(exit)
    return builder.build()


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("seed", [700030, 700046, 700062])
def test_no_stackless_policy_is_excluded(seed: int, objective: str) -> None:
    model = random_spec(seed, exits=1 + seed // 2 % 3, actions=2)
    truths = [Chain(model, choice).truth() for choice in stackless(model, 64)]
    for k, name in enumerate(exits_of(model)):
        found = solve_leaving(model, Question.leave_by(model, name, objective))
        assert found is not None
        proved = recurl.verify(model, found.certificate)
        assert (proved.lower, proved.upper) == (found.lower, found.upper)
        assert found.policy is not None
        attained = recurl.evaluate(found.policy).exit_intervals[name]
        worth = [float(truth.exits[k]) for truth in truths]
        if objective == "max":
            assert max(worth) <= found.upper + 1e-12
            assert found.lower <= attained[1]
        else:
            assert min(worth) >= found.lower - 1e-12
            assert attained[0] <= found.upper


def test_an_end_that_one_policy_attains_is_exact() -> None:
    model = grow_or_leave()
    most = recurl.solve(model, of="exit:y")
    assert most.lower == pytest.approx(0.75, abs=1e-12)
    assert most.upper == pytest.approx(0.75, abs=1e-12)
    assert "every exit has the best actions for itself" in most.reason
    least = recurl.solve(model, of="exit:y", objective="min")
    assert (least.lower, least.upper) == (0.0, 0.0)
    assert least.policy is not None
    assert least.policy.action_name("A.in") == "grow"


def negotiation(*, waits: bool) -> recurl.RMDP:
    """Two sides ask each other until one gives in; to wait, they may ask without end."""
    builder = recurl.Builder("negotiation").component("Talk", entries="in", exits=["deal", "none"])
    builder.box("ask", "Talk").at("in").action("offer").to("deal", 0.5).to("ask", 0.5)
    builder.action("insist").to("ask", 0.7).to("none", 0.3)
    for exit, share in (("deal", 0.9), ("none", 0.4)):
        builder.at(f"ask.{exit}").action("agree").to("deal", share).to("none", 1 - share)
        builder.action("refuse").to("none")
        if waits:
            builder.action("wait").to("ask")
    return builder.build()


def test_a_call_is_left_by_one_exit_only() -> None:
    # Products alone count both returns in full, and give a greatest probability of at most 1.
    model = negotiation(waits=True)
    found = recurl.solve(model, of="exit:deal")
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert found.lower <= 0.95 <= found.upper
    assert found.gap < 1e-9
    ends = solve_leaving(model, Question("min", "none", (1.0, 1.0)))
    assert ends is not None
    assert ends.lower <= 0.3 <= ends.upper
    assert ends.gap < 1e-9
    sure = solve_leaving(negotiation(waits=False), Question("min", "none", (1.0, 1.0)))
    assert sure is not None
    assert sure.lower > 1 - 1e-9  # every exit by itself can be avoided


def test_a_bound_of_the_exits_together_needs_proof() -> None:
    model = negotiation(waits=True)
    own = recurl.solve(model, of="exit:deal").certificate
    assert own.values is not None
    width = 3  # deal, none, either
    assert own.values.upper[width - 1] == 1
    for by in (0.001, 0.5):
        upper = [x - by * (i % width == width - 1) for i, x in enumerate(own.values.upper)]
        values = msgspec.structs.replace(own.values, upper=upper)
        with pytest.raises(CertificateError, match="not proved"):
            recurl.verify(model, msgspec.structs.replace(own, values=values))


def test_rewards_of_one_sign_have_both_ends_where_runs_may_not_end() -> None:
    builder = recurl.Builder("dig").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("dig", reward=3).to("a", 0.4).to("x", 0.6).action("stop").to("y")
    builder.at("a.x").action("up").to("x").action("stay").to("lost")
    builder.at("a.y").action("up").to("y").at("lost").action("stay").to("lost")
    model = builder.build()
    most = recurl.solve(model)
    assert most.lower <= 5 <= most.upper
    assert most.gap < 1e-9
    assert recurl.verify(model, most.certificate).upper == most.upper
    least = recurl.solve(model, objective="min")
    assert (least.lower, least.upper) == (0, 0)
    assert recurl.verify(model, least.certificate).theorems == ("values",)


def test_steps_of_policies_that_may_wait_at_a_cost() -> None:
    # To wait costs a step: no inequality but that tells it from a policy that ends.
    model = negotiation(waits=True)
    found = solve_leaving(model, Question("min", "steps"))
    assert found is not None
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert 1.99 < found.lower <= found.upper < 3.01


def test_a_policy_must_be_the_one_that_attains_the_end() -> None:
    model = grow_or_leave()
    own = recurl.solve(model, of="exit:y").certificate
    assert own.values is not None
    pairs = zip(names(model), own.values.actions, strict=True)
    others = [1 - a if name == "A.in" else a for name, a in pairs]
    values = msgspec.structs.replace(own.values, actions=others)
    with pytest.raises(CertificateError, match="not proved"):
        recurl.verify(model, msgspec.structs.replace(own, values=values))


def names(model: recurl.RMDP) -> list[str]:
    return [model.vertex_name(v) for v in range(model.tables.n_vertices)]


def test_worths_of_both_signs_are_left_to_others() -> None:
    model = grow_or_leave()
    assert solve_leaving(model, Question("max", "none", (1.0, -1.0))) is None
    assert solve_leaving(model, Question("max", "steps", (-1.0, 0.0))) is None
    below = solve_leaving(model, Question("min", "none", (-1.0, -2.0)))
    assert below is not None
    assert recurl.verify(model, below.certificate).lower == below.lower < -1.7


class TestRunsThatMayNotEnd:
    def test_every_policy_takes_infinitely_many_steps(self) -> None:
        model = recurl.zoo.gambler(p=0.6)
        certificate = may_not_end(model, Question("min", "steps"), math.inf)
        assert certificate is not None
        verdict = recurl.verify(model, certificate)
        assert verdict.lower == verdict.upper == math.inf
        assert verdict.theorems == ("may not end",)

    def test_one_policy_is_enough_for_the_greatest_number(self) -> None:
        model = stop_or_bet()
        most = may_not_end(model, Question("max", "steps"), math.inf)
        assert most is not None
        assert recurl.verify(model, most).upper == math.inf
        assert may_not_end(model, Question("min", "steps"), math.inf) is None
        with pytest.raises(CertificateError, match="not proved"):
            recurl.verify(model, msgspec.structs.replace(most, objective="min", claim=""))

    def test_another_sign_or_question_is_refused(self) -> None:
        model = recurl.zoo.gambler(p=0.6)
        certificate = may_not_end(model, Question("min", "steps"), math.inf)
        assert certificate is not None
        for changes in ({"infinite": "-inf"}, {"rewards": "none"}, {"infinite": "nan"}):
            with pytest.raises(CertificateError):
                recurl.verify(model, msgspec.structs.replace(certificate, **changes))

    def test_runs_that_end_have_none(self) -> None:
        for p in (0.5, 0.4):
            model = recurl.zoo.gambler(p=p)
            assert may_not_end(model, Question("max", "steps"), math.inf) is None


def test_models_that_are_too_large_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    model = grow_or_leave()
    monkeypatch.setattr("recurl.solving.leaving._MOST", 10)
    assert solve_leaving(model, Question("max", "none", (1.0, 0.0))) is None
    assert may_not_end(model, Question("max", "steps"), math.inf) is None
