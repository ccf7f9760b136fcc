"""Visits inside contexts, against those of simulated runs and of linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from recurl.model.tables import CALL, EXIT
from recurl.solving.certified.flow import flow_of
from recurl.solving.certified.points import call_slots, slot_vertices
from recurl.solving.certified.problem import Problem

from .parts import few_points


def test_visits_solve_the_linear_system(problem: Problem) -> None:
    t, points = problem.tables, few_points(problem)
    action = np.zeros(int(points.slot[-1]), np.int32)
    share = np.tile([0.3, 0.7], (int(points.call[-1]), 1))
    flow = flow_of(problem, points, action, share)
    context = int(points.first[1]) + 1
    first, last = t.component_start[1], t.component_start[2]
    matrix = np.zeros((last - first, last - first))
    for q in range(first, last):
        if t.vertex_kind[q] == CALL:
            ret = t.box_return[t.vertex_box[q]] - first
            matrix[q - first, ret : ret + 2] += [0.3, 0.7]
        elif t.vertex_kind[q] != EXIT:
            a = t.action_start[q]
            for i in range(t.transition_start[a], t.transition_start[a + 1]):
                matrix[q - first, t.target[i] - first] += t.prob[i]
    visits = np.linalg.inv(np.eye(last - first) - matrix)[0]
    rows = flow.row == points.entry[context]
    slots = call_slots(t, points)[flow.call[rows]]
    vertices = slot_vertices(t, points)[slots]
    assert flow.visit[rows] == pytest.approx(visits[vertices - first], abs=1e-6)
    exits = visits[t.n_entries[1] : t.n_entries[1] + 2]
    assert flow.arrive[points.entry[context]] == pytest.approx(exits, abs=1e-6)
