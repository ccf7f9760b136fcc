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
