"""What a learner says of itself."""

from __future__ import annotations

import math

import recurl
from recurl.learn.explain import explain


def test_actions_margins_and_visits_are_those_of_the_table() -> None:
    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), preset="swift", episode_limit=200)
    learner.learn(50_000)
    reports = explain(learner._model_engine(""), 2)
    assert [report.component for report in reports] == ["T", "S", "H", "H"]
    server = reports[1]
    choice = next(c for c in server.choices if c.vertex == "u3")
    q = learner.q_values("S.u3")
    assert q is not None
    assert (choice.action, choice.value) == ("reliable", q.max())
    assert choice.margin == q[0] - q[1]
    assert server.label == "S with u4 0"
    assert server.worth == {"u4": 0.0}
    assert set(reports[2].worth) == {"u6", "u7"}
    assert reports[2].visits >= reports[3].visits
    assert any(math.isinf(c.margin) for c in server.choices)


def test_flat_learners_have_one_context() -> None:
    learner = recurl.QLearning(recurl.zoo.cloud()).learn(5000)
    (report,) = explain(learner._model_engine(""))
    assert (report.component, report.label, report.worth) == ("any", "any context", {})
    assert {c.vertex for c in report.choices} >= {"T.u1", "S.u3"}


def test_contexts_that_rounding_merges_are_noted_where_their_best_actions_differ() -> None:
    """Between an exit worth 0.7 more and one worth 1.2 more the best action changes, at 0.9."""
    model = (
        recurl.Builder("near")
        .component("Main", entries="start", exits="done").box("a", "Inside").box("b", "Inside")
        .at("start").action("call").to("a.in", 0.5).to("b.in", 0.5)
        .at("a.first").action("go").to("done")
        .at("a.second").action("go", reward=0.7).to("done")
        .at("b.first").action("go").to("done")
        .at("b.second").action("go", reward=1.2).to("done")
        .component("Inside", entries="in", exits=["first", "second"])
        .at("in").action("small", reward=0.9).to("first").action("pass").to("second")
        .build()
    )  # fmt: skip
    found = {}
    for quantum in (0.5, 0.001):
        learner = recurl.RecursiveQLearning(model, quantum=quantum, grain=0).learn(5_000)
        reports = explain(learner.engine, most=2)
        found[quantum] = [one.undecided for one in reports if one.component == "Inside"]
    assert found == {0.5: [("in",), ("in",)], 0.001: [(), ()]}
