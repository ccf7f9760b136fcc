from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.definition import landing, models

import recurl
from recurl.simulation.trace import Trace


@given(models())
def test_a_trace_retells_a_walk(model: recurl.RMDP) -> None:
    walk = recurl.Walk(model, np.random.default_rng(1))
    steps, places = [], []
    while not walk.ended and len(steps) < 30:
        places.append((walk.vertex, tuple(walk.stack)))
        steps.append(walk.step(len(steps) % walk.n_actions))
    trace = Trace(model, tuple(s.transition for s in steps))
    assert [(s.vertex, s.stack) for s in trace] == places
    assert [s.reward for s in trace] == [s.reward for s in steps]
    assert [s.action - model.tables.action_start[s.vertex] for s in trace] == [
        s.action for s in steps
    ]
    for step in trace:
        after = landing(model, step.stack, int(model.tables.target[step.transition]))
        assert step.landing == (after and after[1])


def test_what_it_prints_is_indented_by_depth() -> None:
    model = recurl.zoo.succinct(2)
    result = recurl.simulate(model, recurl.Policy.stackless(model, {}), 1, traces=1)
    assert str(result.traces[0]).splitlines() == [
        "M2.in: a (+0)",
        "  M1.in: a (+1)",
        "M2.first.out: a (+0)",
        "  M1.in: a (+1)",
        "M2.second.out: a (+1)",
    ]
    assert len(result.traces[0]) == 5
