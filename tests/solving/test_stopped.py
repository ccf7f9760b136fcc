"""Free loops as places to stop, in models with rewards of both signs."""

from __future__ import annotations

import itertools
import math
import random

import msgspec
import pytest

import recurl
from recurl.errors import CertificateError


def client(wait: float = 0) -> recurl.RMDP:
    """Jobs earn, may come to idle, and are left at a loss; at idle one may wait."""
    builder = recurl.Builder("client").component("Job", entries="in", exits=["ok", "lost"])
    builder.box("sub", "Job").at("in").action("work", reward=5)
    builder.to("sub", "0.3").to("idle", "0.3").to("ok", "0.4")
    builder.at("idle").action("wait", reward=wait).to("idle")
    builder.action("pay", reward=-15).to("ok").action("drop", reward=-20).to("lost")
    builder.at("sub.ok").action("go", reward=1).to("ok")
    builder.at("sub.lost").action("go", reward=-3).to("lost")
    return builder.build()


def test_a_free_loop_is_a_place_to_stop() -> None:
    model = client()
    solution = recurl.solve(model)
    # x = 5 + 0.3 (x + 0.4 / 0.7), as to wait is worth 0 to every caller
    best = (5 + 0.3 * 4 / 7) / 0.7
    assert solution.lower <= best <= solution.upper < solution.lower + 1e-6
    assert "Job.idle" in solution.reason
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
    assert verdict.loops == ("Job.idle",)
    assert "to stay in a free loop (at Job.idle) is to stop" in str(verdict)
    assert solution.policy is not None
    assert solution.policy.model == model
    assert recurl.evaluate(solution.policy).value == pytest.approx(best)


def test_certificates_name_the_loops_of_their_model() -> None:
    model = client()
    given = recurl.solve(model).certificate
    assert given.loops == [model.find("Job.idle")]
    for changed in (
        {"loops": []},
        {"loops": [model.find("Job.in")]},
        {"loops": [*given.loops, 0]},
        {"endless": "-inf"},
        {"upper": given.lower - 1},
        {"lower": given.upper + 1},
        {"rewards": "steps"},
        {"exit_values": [1.0, 1.0]},
    ):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(given, **changed))
    paid = client(wait=-1e-9)
    other = msgspec.structs.replace(given, model=paid.fingerprint)
    with pytest.raises(CertificateError, match="free loops"):
        recurl.verify(paid, other)


def test_a_certificate_survives_its_file(tmp_path) -> None:
    given = recurl.solve(client()).certificate
    given.save(tmp_path / "c.cert")
    again = type(given).load(tmp_path / "c.cert")
    assert recurl.verify(client(), again).upper == given.upper


def random_process(seed: int) -> recurl.RMDP:
    """A process without calls, with free loops and rewards of both signs."""
    draw = random.Random(seed)
    n = draw.randint(2, 4)
    names = [*(f"s{i}" for i in range(n)), "out"]
    builder = recurl.Builder("random").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("s0")
    for i in range(n):
        builder.at(f"s{i}").action("on", reward=draw.choice([-2, -1, 1, 3]))
        builder.to(names[draw.randrange(i + 1, n + 1)], "1/2").to("out", "1/2")
        builder.action("free").to(names[draw.randrange(n)])
    return builder.build()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("objective", ["max", "min"])
def test_no_policy_is_better(seed: int, objective: str) -> None:
    """In a finite process some stackless policy is best, if the optimum is finite."""
    model = random_process(seed)
    t, extreme = model.tables, max if objective == "max" else min
    states = [v for v in range(t.n_vertices) if t.action_start[v + 1] - t.action_start[v] == 2]
    totals = []
    for chosen in itertools.product((0, 1), repeat=len(states)):
        actions = dict(zip(states, chosen, strict=True))
        policy = recurl.Policy.stackless(
            model, {model.vertex_name(v): ("on", "free")[a] for v, a in actions.items()}
        )
        totals.append(recurl.evaluate(policy).value)
    solution = recurl.solve(model, objective=objective, epsilon=1e-9)
    best = extreme(totals)
    assert solution.lower - 1e-9 <= best <= solution.upper + 1e-9
    assert solution.gap < 1e-8
    assert recurl.evaluate(solution.policy).value == pytest.approx(best, abs=1e-7)
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)


def test_loops_of_several_nodes_are_left_by_what_may_leave_them() -> None:
    builder = recurl.Builder("round").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward=-1).to("a")
    builder.at("a").action("round").to("b", "1/2").to("c", "1/2")
    builder.at("b").action("round").to("c").action("off", reward=-5).to("out")
    builder.at("c").action("round").to("a").action("out", reward=3).to("end")
    builder.at("end").action("go", reward=-1).to("out")
    model = builder.build()
    solution = recurl.solve(model)
    assert solution.value == pytest.approx(1)
    assert recurl.evaluate(solution.policy).value == pytest.approx(1)
    worst = recurl.solve(model, objective="min")
    assert worst.value == pytest.approx(-6)
    assert recurl.evaluate(worst.policy).value == pytest.approx(-6)
    for found in (solution, worst):
        recurl.verify(model, found.certificate)


def test_a_loop_that_pays_is_not_free() -> None:
    """It gains without end, which no method proves here."""
    assert math.isinf(recurl.solve(client(wait=1)).upper)
