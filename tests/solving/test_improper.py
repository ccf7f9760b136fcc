from __future__ import annotations

import math

import pytest
from tests.solving.oracle import COSTS, random_spec
from tests.solving.references import stuck

import recurl
from recurl.errors import CertificateError, NotProperError
from recurl.grammar import Grammar
from recurl.grammar.model import model_of
from recurl.solving.certified.policy_bound import policy_bound
from recurl.solving.improper import _trivial, improper_optimum
from recurl.solving.leaving import may_not_end
from recurl.solving.properness import Analysis


def walk(stay: float, go: float) -> recurl.RMDP:
    """Leave, or stay as long as one likes."""
    return (
        recurl.Builder("walk")
        .component("A", entries="in", exits="out")
        .at("in").action("stay", reward=stay).to("n").action("go", reward=go).to("out")
        .at("n").action("stay", reward=stay).to("n").action("go", reward=go).to("out")
        .build()
    )  # fmt: skip


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("of", ["reward", "steps"])
def test_a_chain_that_need_not_end_pays_infinitely_much(objective: str, of: str) -> None:
    solution = recurl.solve(recurl.zoo.gambler(p=0.6), objective=objective, of=of)
    assert solution.lower == solution.upper == math.inf
    assert solution.at_least(1e300) is True


def test_positive_loop() -> None:
    solution = recurl.solve(walk(1, 5), "policy-iteration")
    assert solution.value == math.inf
    assert solution.policy.action_name("A.n") == "stay"


def test_negative_loop_when_the_least_is_asked_for() -> None:
    assert recurl.solve(walk(-1, -5), "policy-iteration", objective="min").value == -math.inf


def test_no_way_out() -> None:
    model = stuck()
    assert recurl.solve(model, "policy-iteration").value == -math.inf
    assert recurl.solve(model, "policy-iteration", of="steps", objective="min").value == math.inf


def test_gains_without_end_at_a_finite_price() -> None:
    assert recurl.solve(walk(1, -5), "policy-iteration").value == math.inf
    assert recurl.solve(walk(-1, 5), "policy-iteration", objective="min").value == -math.inf


def test_costs_without_end_are_avoided() -> None:
    assert recurl.solve(walk(-1, -5), "policy-iteration").value == pytest.approx(-5)
    assert recurl.solve(walk(1, 5), objective="min").value == 5


@pytest.mark.parametrize(("stay", "go"), [(-1, 0), (-1, 5)])
def test_leaving_need_not_cost_where_staying_does(stay: float, go: float) -> None:
    for method in ("auto", "policy-iteration"):
        solution = recurl.solve(walk(stay, go), method)
        assert solution.lower <= go <= solution.upper
        assert solution.gap < 1e-9
    mirrored = recurl.solve(walk(-stay, -go), objective="min")
    assert mirrored.lower <= -go <= mirrored.upper


def test_branching_with_free_steps_in_between() -> None:
    """Grow costs 1, die 5; the steps from one call to the next are free."""
    grammar = Grammar("g", {"A": {"grow": ["A A {1}"], "die": ["{5}"]}})
    solution = recurl.solve(model_of(grammar), objective="min")
    assert solution.lower <= 5 <= solution.upper
    assert solution.gap < 1e-9


def help_desk() -> recurl.RMDP:
    """An agent may refuse, the desk may retry; every step costs 1, and escalating 3 more."""
    return (
        recurl.Builder("desk")
        .component("Desk", entries="in", exits="out").box("b", "Agent")
        .at("in").action("ask", reward=-1).to("b")
        .at("b.out").action("retry", reward=-1).to("b", "1/2").to("out", "1/2")
                    .action("again", reward=-1).to("b").action("up", reward=-4).to("out")
        .component("Agent", entries="in", exits="out").box("d", "Desk")
        .at("in").action("help", reward=-2).to("out").action("refuse", reward=-1).to("d")
        .at("d.out").action("back", reward=-1).to("out")
        .build()
    )  # fmt: skip


def test_a_help_desk_that_may_retry_for_ever() -> None:
    # ask (1) and help (2), then retry: x = 1 + (2 + x) / 2 = 4, as much as to give up at once.
    solution = recurl.solve(help_desk())
    assert solution.lower <= -7 <= solution.upper
    assert solution.gap < 1e-9


@pytest.mark.parametrize("build", ["one exit", "several exits", "recursive"])
@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("go", [1, -1])
def test_where_staying_is_free(build: str, objective: str, go: float) -> None:
    """Whoever stays earns nothing; whoever calls again and again may earn more and more."""
    models = {"one exit": walk, "several exits": two_ways, "recursive": free_recursion}
    model = models[build](0, go)
    solution = recurl.solve(model, "certified", objective=objective)
    best = max(go, 0) if objective == "max" else min(go, 0)
    assert solution.lower <= best <= solution.upper
    assert "is not proper" in solution.reason
    assert "--discount 0.99" in solution.reason
    verdict = recurl.verify(model, solution.certificate)
    if build != "recursive" or best == 0:
        assert solution.gap < 1e-9
        assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
        assert verdict.theorems == ("values",)
    else:
        claimed, open_end = (verdict.lower, verdict.upper)[:: 1 if objective == "max" else -1]
        assert claimed == pytest.approx(go)
        assert open_end is None


def free_recursion(stay: float, go: float) -> recurl.RMDP:
    """Two exits, calls itself as often as one likes."""
    builder = recurl.Builder("deep").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("call", reward=stay).to("a").action("x", reward=go).to("x")
    builder.action("toss", reward=go).to("x", 0.5).to("y", 0.5)
    builder.at("a.x").action("again", reward=stay).to("a").action("up", reward=stay).to("x")
    return builder.at("a.y").action("up", reward=stay).to("y").build()


def test_a_better_policy_is_not_evaluated_where_another_one_never_comes() -> None:
    """Going on to a place that the first policy avoids looks free as long as nobody looks there."""
    found = policy_bound(walk(0, -1), recurl.Question())
    assert found is not None
    assert found.earns <= -1
    assert recurl.verify(walk(0, -1), found.certificate).lower == found.earns


def test_nothing_is_known() -> None:
    builder = recurl.Builder("odd").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go", reward=1).to("n")
    model = (
        builder.at("n")
        .action("back", reward=-1)
        .to("m")
        .at("m")
        .action("on", reward=1)
        .to("n")
        .action("wait", reward=-1)
        .to("n")
        .build()
    )
    with pytest.raises(NotProperError, match=r"is not proper: .* a cost per step"):
        recurl.solve(model)


@pytest.mark.parametrize(("rewards", "best"), [((0, 1), 1), ((0, -1), 0), ((0, 0), 0)])
@pytest.mark.parametrize("method", ["auto", "policy-iteration"])
def test_to_stay_for_nothing_is_worth_nothing(
    rewards: tuple[float, float], best: float, method: str
) -> None:
    model = walk(*rewards)
    found = recurl.solve(model, method)
    assert found.lower <= best <= found.upper
    assert found.gap <= 1e-6
    assert recurl.verify(model, found.certificate).upper == found.upper


@pytest.mark.parametrize(("objective", "probability"), [("max", 2 / 3), ("min", 2 / 3)])
def test_probability_to_end(objective: str, probability: float) -> None:
    model = recurl.zoo.gambler(p=0.6)
    name = model.local_name(int(model.tables.n_entries[0]))
    solution = recurl.solve(model, of=f"exit:{name}", objective=objective)
    assert solution.value == pytest.approx(probability, abs=1e-9)
    assert solution.lower <= probability <= solution.upper


def two_ways(stay: float, go: float) -> recurl.RMDP:
    """Leave by either of two exits, or stay as long as one likes; staying may not work."""
    builder = recurl.Builder("two_ways").component("A", entries="in", exits=["x", "y"])
    for vertex in ("in", "n"):
        builder.at(vertex).action("stay", reward=stay).to("n")
        builder.action("x", reward=go).to("x").action("toss", reward=go).to("x", 0.5).to("y", 0.5)
    return builder.build()


@pytest.mark.parametrize("method", ["auto", "certified"])
def test_several_exits(method: str) -> None:
    assert recurl.solve(two_ways(1, 5), method).value == math.inf
    assert recurl.solve(two_ways(1, -5), method).value == math.inf
    assert recurl.solve(two_ways(-1, 5), method, objective="min").value == -math.inf
    assert recurl.solve(two_ways(0, 1), method, of="steps").value == math.inf
    for go in (1, -1, 0):
        solution = recurl.solve(two_ways(0, go), "certified")
        assert solution.lower <= max(go, 0) <= solution.upper
        assert "'stay' at A.n" in solution.reason
    for rewards, best in (((0, 1), 1), ((0, -1), 0), ((0, 0), 0)) if method == "auto" else ():
        found = recurl.solve(two_ways(*rewards))
        assert found.value == pytest.approx(best, abs=1e-6)


def test_no_exit_can_be_reached() -> None:
    builder = recurl.Builder("shut").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go", reward=-1).to("a").action("come", reward=-2).to("a")
    for exit_name in ("x", "y"):
        builder.at(f"a.{exit_name}").action("up", reward=-1).to(exit_name)
    model = builder.build()
    assert recurl.solve(model).value == -math.inf
    assert recurl.solve(model, of="steps", objective="min").value == math.inf


def test_starts_that_never_happen_do_no_harm() -> None:
    builder = recurl.Builder("spare").component("A", entries=["in", "never"], exits="out")
    builder.at("in").action("go", reward=2).to("out", 0.5).to("on", 0.5)
    builder.at("on").action("go", reward=-1).to("out")
    builder.at("never").action("turn").to("round").at("round").action("turn").to("round")
    model = builder.build({"A.in": 1})
    solution = recurl.solve(model)
    assert solution.value == pytest.approx(1.5)
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)


def one_of_two(stay: float) -> recurl.RMDP:
    """Not recursive, two exits: stay as long as one likes, or toss a coin."""
    builder = recurl.Builder("one_of_two").component("A", entries="in", exits=["done", "fail"])
    for vertex in ("in", "n"):
        builder.at(vertex).action("stay", reward=stay).to("n")
        builder.action("go").to("done", "1/2").to("fail", "1/2")
    return builder.build()


def test_exits_of_a_process_in_which_a_run_may_stay() -> None:
    most = recurl.solve(one_of_two(0), of="exit:done")
    assert most.lower <= 0.5 <= most.upper
    least = recurl.solve(one_of_two(0), of="exit:done", objective="min")
    assert least.lower == least.upper == 0.0
    total = recurl.solve(one_of_two(-1))
    assert total.lower <= 0 <= total.upper
    assert total.gap < 1e-9


def test_loops_that_no_run_visits_do_no_harm_with_several_exits() -> None:
    builder = recurl.Builder("odd").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go", reward=1).to("x", "1/2").to("a", "1/2")
    builder.action("on", reward=1).to("x", "3/4").to("a", "1/4")
    builder.at("lost").action("stay").to("lost")
    builder.at("a.x").action("up").to("x")
    builder.at("a.y").action("turn").to("lost")  # behind an exit that is never taken
    model = builder.build()
    solution = recurl.solve(model)
    assert solution.lower <= 2 <= solution.upper
    assert solution.gap < 1e-6
    assert solution.policy is not None
    assert recurl.evaluate(solution.policy).value == pytest.approx(2)
    assert "no run visits" in solution.reason
    assert recurl.verify(model, solution.certificate).theorems == ("steps",)


def test_what_a_policy_pays_and_that_none_gains_are_proved_together() -> None:
    """Only contexts tell the policies apart; no stackless one is as good as the mixed ends."""
    model = free_recursion(0, -1)
    found = policy_bound(model, recurl.Question())
    assert found is not None
    certificate = _trivial(model, recurl.Question(), (found.earns, 0.0), found.certificate)
    proved = recurl.verify(model, certificate)
    assert (proved.lower, proved.upper) == (found.earns, 0.0)
    assert proved.theorems == ("nonnegative", "policy")
    wrong = _trivial(model, recurl.Question(), (found.earns, -0.5), found.certificate)
    with pytest.raises(CertificateError, match="not proved"):
        recurl.verify(model, wrong)


def test_costs_are_infinite_if_no_policy_surely_ends_with_several_exits() -> None:
    builder = recurl.Builder("grow").component("A", entries="in", exits=["x", "y"])
    builder.box("one", "A").box("two", "A").at("in").action("half", reward=-1)
    builder.to("one", "3/5").to("x", "1/5").to("y", "1/5")
    builder.action("more", reward=-1).to("one", "7/10").to("x", "3/10")
    for name in "xy":
        builder.at(f"one.{name}").action("next", reward=-1).to("two")
        builder.action("skip", reward=-1).to("two", "0.9").to(name, "0.1")
        builder.at(f"two.{name}").action("up", reward=-1).to(name)
    model = builder.build()
    for of, objective, total in (("reward", "max", -math.inf), ("steps", "min", math.inf)):
        found = recurl.solve(model, of=of, objective=objective)
        assert found.lower == found.upper == total
        verdict = recurl.verify(model, found.certificate)
        assert (verdict.lower, verdict.theorems) == (total, ("must go on",))
        other = may_not_end(model, found.question, total)
        assert other is not None
        verdict = recurl.verify(model, other)
        assert (verdict.lower, verdict.theorems) == (total, ("may not end",))


def test_the_reason_names_a_choice_that_goes_on_and_no_place_without_one() -> None:
    builder = recurl.Builder("retries").component("A", entries="in", exits=("done", "lost"))
    builder.box("b", "A").at("in").action("begin").to("try")
    builder.at("try").action("wait", reward=-1).to("try").action("end", reward=1).to("done")
    builder.at("try").action("call", reward=2).to("b.in").action("drop", reward=-3).to("lost")
    builder.at("b.done").action("up").to("done")
    model = builder.at("b.lost").action("again", reward=-9).to("try").build()
    solution = recurl.solve(model)
    assert solution.lower == solution.upper == math.inf
    assert "for example with 'wait' at A.try. Totals" in solution.reason


@pytest.mark.parametrize("objective", ["max", "min"])
def test_totals_of_nothing_are_certified(objective: str) -> None:
    model = random_spec(700352, exits=2, actions=2)  # not proper; no run is ever paid
    found = recurl.solve(model, objective=objective)
    assert (found.lower, found.upper) == (0, 0)
    verdict = recurl.verify(model, found.certificate)
    assert verdict.theorems == ("nonnegative", "nonpositive")


def test_a_policy_that_goes_on_may_look_at_the_stack() -> None:
    model = random_spec(1000412, exits=2, actions=2)
    witness = recurl.analyse(model).witness
    assert witness is not None
    assert witness.kind == "by context"
    found = recurl.solve(model, objective="min")
    assert "for example a policy that looks at the stack" in found.reason


def test_who_pays_already_is_not_asked_to_pay() -> None:
    # No stackless policy ends with more than 0.949, and every step costs.
    model = random_spec(21000430, exits=3, actions=2, rewards=COSTS)
    known = Analysis(model, "not proper", "a policy may not end")
    with pytest.raises(NotProperError, match="no policy was found that surely ends") as refusal:
        improper_optimum(model, recurl.Question(), known, began=0.0)
    assert "a cost per step" not in str(refusal.value)


def test_the_cycle_of_a_policy_that_does_not_end_is_named() -> None:
    builder = recurl.Builder("round").component("A", entries="in", exits=["out"])
    builder.at("in").action("left", reward=1).to("x").action("right", reward=-1).to("y")
    builder.at("x").action("go", reward=5).to("y").action("stop", reward=-5).to("out")
    builder.at("y").action("back", reward=-0.5).to("w").action("leave", reward=2).to("out")
    builder.at("w").action("wait", reward=-1).to("w", 0.5).to("x", 0.5)
    said = recurl.solve(builder.build()).reason
    assert "is not proper: a policy can go on forever" in said
    assert ", in turn. Totals" in said
    assert "A.in" not in said
    for place in ("'go' at A.x", "'back' at A.y", "'wait' at A.w"):
        assert place in said
