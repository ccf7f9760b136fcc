"""Problems: components as matrices, and first bounds from the steps."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.errors import NotProperError
from recurl.model.tables import CALL, EXIT
from recurl.solving.certified.problem import SearchProblem, with_call_slack
from recurl.solving.question import Question


def test_matrices_are_the_transitions(problem: SearchProblem) -> None:
    t = problem.tables
    values = np.random.default_rng(0).normal(size=t.n_vertices)
    for c, part in enumerate(problem.components):
        own = values[t.component_start[c] : t.component_start[c + 1], None]
        earned, best = part.earned(own)
        chosen = part.greedy(own)
        for i, q in enumerate(part.states):
            worth = []
            for a in range(t.action_start[part.first + q], t.action_start[part.first + q + 1]):
                moves = slice(t.transition_start[a], t.transition_start[a + 1])
                worth.append(problem.gain[a] + t.prob[moves] @ values[t.target[moves]])
            assert best[i, 0] == pytest.approx(max(worth))
            assert earned[chosen[i, 0], 0] == best[i, 0]
            assert chosen[i, 0] == part.begin[i] + int(np.argmax(worth))


def test_expectations_after_chosen_actions(problem: SearchProblem) -> None:
    rng = np.random.default_rng(0)
    for part in problem.components:
        values = rng.normal(size=(part.size, 3, 2))
        action = part.begin[:, None] + rng.integers(part.choices[:, None], size=(1, 3))
        every = part.expected(values)
        chosen = np.take_along_axis(every, action[:, :, None], axis=0)
        assert np.allclose(part.expected_after(action, values), chosen, rtol=1e-15)


def test_calls_know_their_ports(problem: SearchProblem) -> None:
    t = problem.tables
    for part in problem.components:
        for i, q in enumerate(part.calls):
            box = t.vertex_box[part.first + q]
            assert part.callee[i] == t.box_component[box]
            assert part.port[i] == t.vertex_port[part.first + q]
            returns = part.returns[i, part.inside[i]] + part.first
            assert returns.tolist() == [t.box_return[box], t.box_return[box] + 1]
        listed = sorted(i for site in part.sites for i in site.calls.ravel().tolist())
        assert listed == list(range(len(part.calls)))


def test_of_equal_actions_the_first_is_best() -> None:
    model = (
        recurl.Builder("even")
        .component("A", entries="in", exits=["left", "right"])
        .at("in")
        .action("one")
        .to("left", 1)
        .action("other")
        .to("right", 1)
        .build()
    )
    part = SearchProblem.of(model, Question()).components[0]
    assert part.greedy(np.zeros((3, 2))).tolist() == [[0, 0]]


def test_steps_have_slack_at_states_and_calls(problem: SearchProblem) -> None:
    t, d = problem.tables, problem.steps
    expected = np.add.reduceat(t.prob * d[t.target], t.transition_start[:-1])
    assert (d[t.action_vertex] >= 1 + expected - 1e-9).all()
    for q in np.flatnonzero(t.vertex_kind == CALL):
        box = t.vertex_box[q]
        c = t.box_component[box]
        exits = t.component_start[c] + t.n_entries[c] + np.arange(t.n_exits[c])
        rise = (d[t.box_return[box] + np.arange(t.n_exits[c])] - d[exits]).max()
        assert d[q] >= 1 + d[t.component_start[c] + t.vertex_port[q]] + rise - 1e-9


def test_call_slack_doubles() -> None:
    t = recurl.zoo.cloud().tables
    doubled = with_call_slack(t, np.ones(t.n_vertices))
    assert doubled.tolist() == [3.0 if kind == CALL else 2.0 for kind in t.vertex_kind]


def test_crude_values_are_at_least_those_of_the_best_action(problem: SearchProblem) -> None:
    t = problem.tables
    for c, part in enumerate(problem.components):
        vector, values = problem.crude(c)
        exits = t.vertex_kind[part.first : part.first + part.size] == EXIT
        assert values[exits].tolist() == vector.tolist()
        assert (values[part.states] >= part.earned(values[:, None])[1][:, 0] - 1e-9).all()


def test_slack_follows_the_width(problem: SearchProblem) -> None:
    assert problem.slack(1.0) == pytest.approx(1e3 * problem.slack(1e-3))
    assert problem.slack(0.0) == 1e-13


def test_the_least_total_is_the_greatest_of_negated_rewards() -> None:
    model = recurl.zoo.cloud()
    least, greatest = (SearchProblem.of(model, Question(o)) for o in ("min", "max"))
    assert (least.gain == -greatest.gain).all()


def test_an_improper_model_is_refused() -> None:
    with pytest.raises(NotProperError):
        SearchProblem.of(recurl.zoo.gambler(p=0.6), Question())
