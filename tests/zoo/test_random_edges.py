from __future__ import annotations

import numpy as np
import pytest

from recurl.model.tables import CALL, EXIT, Layout
from recurl.zoo.random_edges import UNITS, Sketch, Ways, deterministic_edges, stochastic_edges

LAYOUT = Layout.of([1, 1], [2, 2], [30, 30], box_owner=[0, 0, 0, 1], box_component=[0, 1, 1, 0])
SKETCH = Sketch(LAYOUT, entries=1, exits=2, nodes=30, after=np.array([3, 9, 29, 14]))
WAYS = Ways(actions=40, successors=3, exit=0.25, calls=0.5, load=0.5, near=False)


def test_rows_know_their_place() -> None:
    rows = SKETCH.rows(actions=1)
    # The entry, 30 nodes, and two return ports for each of the boxes.
    assert rows.position[:37].tolist() == [-1, *range(30), 3, 3, 9, 9, 29, 29]
    assert rows.position[37:].tolist() == [-1, *range(30), 14, 14]
    assert rows.component.tolist() == [0] * 37 + [1] * 33
    assert set(rows.own.tolist()) == set(LAYOUT.component_start[:2].tolist())


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("load", [0.0, 0.5, np.inf])
def test_stochastic_edges(near: bool, load: float) -> None:
    ways = WAYS._replace(near=near, load=load)
    edges = stochastic_edges(np.random.default_rng(0), SKETCH, ways)
    action = np.repeat(np.arange(len(edges.sizes)), edges.sizes)
    kind = LAYOUT.vertex_kind[edges.target]
    assert (np.bincount(action, edges.prob) == 1).all()
    assert (np.bincount(action, edges.prob * (kind == EXIT)) == 0.25).all()
    called = np.bincount(action, edges.prob * (kind == CALL))
    assert called.max() <= min(load * 0.25, 0.75)
    assert (called.max() > 0) == (load > 0)
    component = np.repeat(SKETCH.rows(ways.actions).component, edges.sizes)
    assert (LAYOUT.vertex_component[edges.target] == component).all()


def test_a_bound_on_calls_is_used_up() -> None:
    edges = stochastic_edges(np.random.default_rng(0), SKETCH, WAYS)
    action = np.repeat(np.arange(len(edges.sizes)), edges.sizes)
    called = np.bincount(action, edges.prob * (LAYOUT.vertex_kind[edges.target] == CALL))
    # Calls were scaled down in nearly all actions that have some, and none is lost to rounding.
    scaled = np.isclose(called, 0.125, rtol=0, atol=WAYS.successors / UNITS)
    assert scaled.sum() > 0.8 * (called > 0).sum() > 1000


@pytest.mark.parametrize("near", [True, False])
def test_deterministic_edges_lead_forward(near: bool) -> None:
    ways = WAYS._replace(near=near)
    edges = deterministic_edges(np.random.default_rng(0), SKETCH, ways)
    assert (edges.sizes == 1).all()
    rows, target = SKETCH.rows(ways.actions), edges.target
    kind, box = LAYOUT.vertex_kind[target], LAYOUT.vertex_box[target]
    calls = kind == CALL
    assert calls.any()
    assert (SKETCH.after[box[calls]] > rows.position[calls]).all()
    walks = ~calls & (kind != EXIT)
    ahead = (target - rows.own - 3 - rows.position)[walks]
    assert ahead.min() == 1
    assert ahead.max() == 10 if near else ahead.max() > 10
    assert (kind[rows.position == 29] == EXIT).all()
