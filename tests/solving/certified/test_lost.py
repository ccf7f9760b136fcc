"""Models in which every step costs, and some places are never left."""

from __future__ import annotations

import math

import numpy as np
import pytest

import recurl
from recurl.solving.certified.lost import PRICES, leaving, paying, with_way_out
from recurl.solving.certified.lower import lower_bound
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.search import first_bounds, stackless_actions
from recurl.solving.question import Question


def fetching(hangs: str = "0.05") -> recurl.RMDP:
    """A client that may retry; one of its two sources hangs now and then, for good."""
    rest = str(round(0.2 - float(hangs), 12))
    return (
        recurl.Builder("fetching")
        .component("Job", entries="in", exits=["done", "stopped"])
        .box("f", "Fetch")
        .at("in").action("ask", reward=-1).to("f.in")
        .at("f.ok").action("go", reward=-1).to("done")
        .at("f.bad").action("retry", reward=-1).to("f.in")
        .action("stop", reward=-20).to("stopped")
        .component("Fetch", entries="in", exits=["ok", "bad"])
        .box("part", "Fetch")
        .at("in").action("mirror", reward=-1)
        .to("ok", "0.3").to("part.in", "0.5").to("bad", rest).to("hung", hangs)
        .action("origin", reward=-4).to("ok", "0.7").to("bad", "0.3")
        .at("part.ok").action("go", reward=-1).to("ok")
        .at("part.bad").action("go", reward=-1).to("bad")
        .at("hung").action("wait", reward=-1).to("hung")
        .build()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("of", "objective", "truth"), [("reward", "max", -57 / 7), ("steps", "min", 3.0)]
)
def test_a_place_that_hangs_is_avoided(of: str, objective: str, truth: float) -> None:
    # From the origin until it works: x = -4 - 0.7 + 0.3 (x - 1). In fewest steps: stop at once.
    model = fetching()
    found = recurl.solve(model, of=of, objective=objective)
    assert found.gap <= 1e-6
    assert found.lower <= truth <= found.upper
    verdict = recurl.verify(model, found.certificate)
    assert (verdict.lower, verdict.upper) == (found.lower, found.upper)
    assert verdict.theorems == ("costs", "policy")
    assert found.policy is not None
    value = recurl.evaluate(found.policy)
    assert (value.value if of == "reward" else value.steps) == pytest.approx(truth, abs=1e-6)


def test_a_rare_loss_takes_a_higher_price() -> None:
    # With the first price, giving up once in a million is cheaper than the origin.
    model, truth = fetching("0.000001"), -57 / 7
    problem = SearchProblem.of(model, Question(), PRICES[0])
    mirror = first_bounds(problem)[0].contexts.parts[1].gain
    assert mirror.min() * 1e-6 > -1.0
    found = recurl.solve(model)
    assert found.lower <= truth <= found.upper
    assert found.lower == pytest.approx(truth, abs=1e-6)
    assert found.gap <= 1e-6


def test_lost_places_have_no_finite_value() -> None:
    # Walking until it does not call: x = -9 + 0.1 (x - 1).
    model = (
        recurl.Builder("ledge")
        .component("A", entries="in", exits=["left", "right"])
        .box("f", "A")
        .at("in").action("jump", reward=-1).to("pit", "0.5").to("left", "0.5")
        .action("walk", reward=-9).to("left", "0.6").to("right", "0.3").to("f.in", "0.1")
        .at("pit").action("wait", reward=-1).to("pit")
        .at("f.left").action("go", reward=-1).to("left")
        .at("f.right").action("go", reward=-1).to("right")
        .build()
    )  # fmt: skip
    found = recurl.solve(model)
    assert found.gap <= 1e-6
    assert found.lower <= -91 / 9 <= found.upper
    pit = [model.vertex_name(q) for q in range(model.tables.n_vertices)].index("A.pit")
    assert found.values_lower is not None
    assert found.values_lower[pit] == -math.inf


def test_one_more_action_leaves_by_the_first_exit() -> None:
    model = fetching()
    t = model.tables
    lost = np.zeros(t.n_vertices, np.bool_)
    hung = [model.vertex_name(q) for q in range(t.n_vertices)].index("Fetch.hung")
    lost[hung] = True
    more = with_way_out(t, lost)
    last = int(more.action_start[hung + 1]) - 1
    assert more.n_actions == t.n_actions + 1
    assert model.vertex_name(int(more.target[more.transition_start[last]])) == "Fetch.ok"
    assert more.action_vertex[last] == hung
    gain = np.arange(1.0, t.n_actions + 1)
    own = np.delete(np.arange(more.n_actions), last)
    assert paying(t, lost, gain, 7.0)[own].tolist() == gain.tolist()
    assert paying(t, lost, gain, 7.0)[last] == -7.0
    assert leaving(t, lost, np.zeros(t.n_vertices, np.int32))[hung] == 1


def test_who_may_give_up() -> None:
    model = fetching()
    problem = SearchProblem.of(model, Question())
    contexts = first_bounds(problem)[0].contexts
    assert problem.first is not None
    names = [model.vertex_name(q) for q in range(problem.tables.n_vertices)]
    callee = np.zeros(int(contexts.call_base[-1]), np.int64)
    for mirror, expected in ((False, {"Fetch.hung"}), (True, {"Job.in", "Fetch.in"})):
        chosen = problem.first.copy()
        chosen[names.index("Fetch.in")] = not mirror
        lower = lower_bound(contexts, stackless_actions(problem, chosen), callee, 1e-10)
        found = {names[q] for q in np.flatnonzero(lower.giving_up)}
        assert expected <= found
        assert ("Job.in" in found) == mirror
        assert lower.ends != mirror
