from __future__ import annotations

import msgspec
import numpy as np
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.model.tables import CALL, EXIT
from recurl.solving import finite
from recurl.solving.hierarchical import general_certificate, solve_hierarchical
from recurl.solving.question import Question


def nested() -> recurl.RMDP:
    """B pays 1 and leaves by x, or 3 and leaves by y or x; A pays 10 after x, 4 after y."""
    builder = recurl.Builder("nested").component("A", entries="in", exits=["out", "bad"])
    builder.box("b", "B").at("in").action("call").to("b")
    builder.at("b.x").action("up", reward=10).to("out")
    builder.at("b.y").action("up", reward=4).to("bad")
    builder.component("B", entries="in", exits=["x", "y"])
    builder.at("in").action("safe", reward=1).to("x")
    builder.action("bold", reward=3).to("x", "1/2").to("y", "1/2")
    return builder.build("A")


def test_by_hand() -> None:
    found = solve_hierarchical(nested(), Question(), 1e-9)
    assert found is not None
    assert found.value == pytest.approx(11)
    assert found.policy is not None
    assert recurl.evaluate(found.policy).value == pytest.approx(11)
    least = solve_hierarchical(nested(), Question("min"), 1e-9)
    assert least is not None
    assert least.value == pytest.approx(3 + 7)


def test_exits_of_the_start_are_worth_something() -> None:
    model = nested()
    assert recurl.solve(model, of="exit:bad").value == pytest.approx(0.5)
    assert recurl.solve(model, of="exit:bad", objective="min").value == pytest.approx(0.0)
    found = solve_hierarchical(model, Question("max", "model", (0.0, 100.0)), 1e-9)
    assert found is not None
    assert found.value == pytest.approx(3 + 5 + 2 + 50)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("objective", ["max", "min"])
def test_against_the_equations_with_exit_values(seed: int, objective: str) -> None:
    model = recurl.zoo.random_model(seed, 2, 2, kind="hierarchical", exits=2, exit_probability=0.6)
    found = solve_hierarchical(model, Question(objective), 1e-9)
    assert found is not None
    expected = Equations(model, 1 if objective == "max" else -1).start()
    assert found.lower - 1e-8 <= expected <= found.upper + 1e-8
    assert found.policy is not None
    assert recurl.evaluate(found.policy).value == pytest.approx(expected, abs=1e-8)


class Equations:
    """x(v, q) of the theory: recursion over calls, plain iteration within a component."""

    def __init__(self, model: recurl.RMDP, sign: int) -> None:
        self.t, self.sign = model.tables, sign

    def start(self) -> float:
        t = self.t
        x = self.values(t.start_component, [0.0] * int(t.n_exits[t.start_component]))
        return self.sign * float(t.start_prob @ x[: len(t.start_prob)])

    def values(self, c: int, v: list[float]) -> list[float]:
        t, x = self.t, [0.0] * self.t.n_vertices
        block = range(t.component_start[c], t.component_start[c + 1])
        first = t.component_start[c] + t.n_entries[c]
        x[first : first + len(v)] = v
        change = 1.0
        while change > 1e-10:
            change = 0.0
            for q in block:
                if t.vertex_kind[q] != EXIT:
                    before, x[q] = x[q], self.worth(q, x)
                    change = max(change, abs(x[q] - before))
        return x[block.start : block.stop]

    def worth(self, q: int, x: list[float]) -> float:
        t = self.t
        if t.vertex_kind[q] == CALL:
            callee, back = t.box_component[t.vertex_box[q]], t.box_return[t.vertex_box[q]]
            inside = self.values(int(callee), x[back : back + t.n_exits[callee]])
            return inside[t.vertex_port[q]]
        return max(
            sum(
                t.prob[i] * (self.sign * t.reward[i] + x[t.target[i]])
                for i in range(t.transition_start[a], t.transition_start[a + 1])
            )
            for a in range(t.action_start[q], t.action_start[q + 1])
        )


def test_models_that_are_too_large_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "LIMIT", 3)
    assert solve_hierarchical(nested(), Question(), 1e-6) is None
    assert recurl.solve(nested()).method == "certified"


def test_a_policy_that_never_ends_is_found_on_the_stacks() -> None:
    """Whoever is called decides whether the caller goes round once more."""
    builder = recurl.Builder("round").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "B").box("b", "B")
    builder.at("in").action("go").to("a")
    builder.at("a.more").action("go").to("b").at("a.enough").action("go").to("x")
    builder.at("b.more").action("go").to("y").at("b.enough").action("go").to("a")
    builder.component("B", entries="in", exits=["more", "enough"])
    builder.at("in").action("yes").to("more").action("no").to("enough")
    builder.action("toss").to("more", "1/2").to("enough", "1/2")
    found = recurl.analyse(builder.build())
    assert found.verdict == "not proper"
    assert found.witness is not None
    assert recurl.evaluate(found.witness).steps == np.inf


@pytest.mark.parametrize("last", ["n", "y"])
def test_probabilities_that_vanish_beside_1(last: str) -> None:
    builder = recurl.Builder("tiny").component("M", entries="in", exits=["x", "y"]).box("b", "S")
    builder.at("in").action("go", reward=1).to("b").action("no", reward=-1).to("b")
    builder.at("b.x").action("on", reward=1).to("x").at("b.y").action("on", reward=1).to("y")
    builder.component("S", entries="in", exits=["x", "y"])
    builder.at("n").action("on", reward=2).to("x").at("in").action("a", reward=1)
    shares = {"n": "0.99999999999999999", "y": "0.00000000000000001"}
    for target in sorted(shares, key=lambda name: name == last):
        builder.to(target, shares[target])
    solution = recurl.solve(builder.build("M"))
    assert solution.lower <= 5 <= solution.upper
    assert solution.gap < 1e-9


@pytest.mark.parametrize("model", [recurl.zoo.succinct(5), recurl.zoo.stack_matters()])
def test_a_general_method_proves_it(model: recurl.RMDP) -> None:
    value = recurl.solve(model).value
    verdict = recurl.verify(model, general_certificate(model, Question(), 1e-6, {}))
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower - 1e-6 <= value <= verdict.upper + 1e-6


def test_answers_of_models_in_which_staying_costs_have_certificates() -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("stay", reward=-1).to("n").action("x", reward=-3).to("x")
    builder.at("n").action("stay", reward=-1).to("n").action("y", reward=-1).to("y")
    model = builder.build()
    solution = recurl.solve(model)
    assert solution.value == -2
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.theorems == ("costs", "policy")
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower <= -2 <= verdict.upper < verdict.lower + 1e-9


def test_there_is_none_without_a_theorem() -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("stay").to("n").action("x", reward=-3).to("x")
    builder.at("n").action("stay").to("n").action("y", reward=-1).to("y")
    with pytest.raises(CertificateError, match="this answer has no certificate: walk is not"):
        general_certificate(builder.build(), Question(), 1e-6, {})


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("seed", range(3))
def test_the_certificate_proves_the_interval_of_the_solution(seed: int, objective: str) -> None:
    model = recurl.zoo.random_model(kind="hierarchical", components=3, nodes=5, seed=seed)
    solution = recurl.solve(model, objective=objective)
    assert solution.method.startswith("flattening")
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
    assert verdict.theorems == ("stacks",)


def test_rewards_of_both_signs_need_policies_that_end() -> None:
    model = recurl.zoo.random_model(kind="hierarchical", components=3, nodes=5, seed=0)
    own = recurl.solve(model).certificate
    assert own.values is not None
    for name, by in (("progress", -1e6), ("lower", 0.1), ("upper", -0.1)):
        numbers = [x + by for x in getattr(own.values, name)]
        values = msgspec.structs.replace(own.values, **{name: numbers})
        with pytest.raises(CertificateError, match="not proved"):
            recurl.verify(model, msgspec.structs.replace(own, values=values))
    level = msgspec.structs.replace(own.values, progress=[1.0] * len(own.values.progress))
    with pytest.raises(CertificateError, match="not proved"):
        recurl.verify(model, msgspec.structs.replace(own, values=level))


@pytest.mark.parametrize(("objective", "of"), [("max", "reward"), ("min", "steps")])
def test_the_interval_is_that_of_the_certificate_where_asking_again_costs(
    objective: str, of: str
) -> None:
    builder = recurl.Builder("desk").component("desk", entries="in", exits=["done", "failed"])
    builder.box("agent", "agent").at("in").action("ask", reward=-1).to("agent")
    builder.at("agent.solved").action("thank", reward=-1).to("done")
    builder.at("agent.refused").action("retry", reward=-1).to("agent")
    builder.action("give up", reward=-20).to("failed")
    builder.component("agent", entries="in", exits=["solved", "refused"])
    builder.at("in").action("work", reward=-3).to("solved", 0.6).to("refused", 0.4)
    model = builder.action("refuse", reward=-1).to("refused").build("desk")
    solution = recurl.solve(model, objective=objective, of=of)
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.theorems == ("costs", "policy")
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
    assert solution.gap < 1e-6
