from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.model.examples import two_exits
from tests.strategies import models, proper_models, specs

from recurl.errors import ModelError
from recurl.model.assemble import assemble, disassemble
from recurl.model.numbers import exact
from recurl.model.report import Report
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, EdgeSpec, ModelSpec


@given(specs())
def test_every_transition_is_as_specified(spec: ModelSpec) -> None:
    model = assemble(spec)
    t = model.tables
    seen = 0
    for component, part in spec.components.items():
        for vertex, actions in part.vertices.items():
            v = model.find(f"{component}.{vertex}")
            assert list(model.action_names(v)) == list(actions)
            for a, action in enumerate(actions.values(), start=int(t.action_start[v])):
                row = range(t.transition_start[a], t.transition_start[a + 1])
                assert len(row) == len(action.edges)
                for i, edge in zip(row, action.edges, strict=True):
                    paid = action.reward if edge.reward is None else edge.reward
                    assert model.vertex_name(t.target[i]) == f"{component}.{edge.target}"
                    assert model.exact.prob(i) == exact(edge.prob)
                    assert model.exact.reward(i) == exact(paid)
                    assert t.prob[i] == float(exact(edge.prob))
                    assert t.reward[i] == float(exact(paid))
                    seen += 1
    assert seen == t.n_transitions


@given(specs())
def test_start_features_and_labels_are_as_specified(spec: ModelSpec) -> None:
    model = assemble(spec)
    start = {model.vertex_name(v): p for v, p in model.start_exact().items()}
    assert start == {name: exact(p) for name, p in spec.start.items()}
    features = np.zeros((model.tables.n_vertices, len(spec.feature_names)))
    labels = {}
    for component, part in spec.components.items():
        for vertex, row in part.features.items():
            features[model.find(f"{component}.{vertex}")] = row
        for vertex, text in part.labels.items():
            labels[model.find(f"{component}.{vertex}")] = text
    assert model.labels == labels
    assert model.feature_names == tuple(spec.feature_names)
    if spec.feature_names:
        np.testing.assert_array_equal(model.features, features)
    else:
        assert model.features is None


@given(proper_models())
def test_proper_models_leave_with_probability_three_fifths(model: RMDP) -> None:
    t = model.tables
    leaving = np.bincount(
        np.repeat(np.arange(t.n_actions), np.diff(t.transition_start)),
        np.where(t.move == 2, t.prob, 0),
    )
    alone = np.diff(t.transition_start) == 1
    assert (leaving[~alone] >= 0.6 - 1e-12).all()
    assert (leaving[alone] == 1).all()


def test_problems_found_before_are_raised_with_those_found_here() -> None:
    report = Report("file: ")
    report.add(("name",), "is odd")
    with pytest.raises(ModelError, match="file: 2 problems") as caught:
        assemble(ModelSpec(), report)
    assert [problem.place for problem in caught.value.problems] == ["name", "components"]


@given(models())
def test_assembling_again_gives_an_equal_model(model: RMDP) -> None:
    again = assemble(disassemble(model))
    assert again == model
    assert again.exact.binary == model.exact.binary
    t = model.tables
    assert all(again.exact.prob(i) == model.exact.prob(i) for i in range(t.n_transitions))


def test_forms_are_short() -> None:
    spec = disassemble(two_exits().build(start="A.other"))
    a, b = spec.components["A"], spec.components["B"]
    assert spec.start == {"A.other": "1"}
    assert a.vertices["in"] == {"go": ActionSpec("1", [EdgeSpec("ask", "1")])}
    assert a.vertices["other"]["go"].edges == [
        EdgeSpec("ask", "1/3", "0"),
        EdgeSpec("again.in", "2/3", "5"),
    ]
    assert b.vertices["mid"]["answer"] == ActionSpec(
        "0", [EdgeSpec("yes", "0.25"), EdgeSpec("no", "0.75")]
    )
    assert a.boxes == {"ask": "B", "again": "A"}
    assert a.features == {"in": [1.0, 2.0]}
    assert a.labels == {"in": "the first"}
