"""Points: where vectors are found between them, and with which weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recurl
from recurl.solving.certified import kernel
from recurl.solving.certified.points import CLOUD, LINE, MESH, Points, arranged, make_points


def points_for(exits: int, count: int) -> Points:
    model = recurl.zoo.random_model(components=1, nodes=3, exits=exits, call_fraction=0)
    vectors = np.random.default_rng(exits).normal(size=(count, exits))
    rows = arranged(vectors, connected=True)
    return make_points(model.tables, [rows], [rows[0]])


@pytest.mark.parametrize(("exits", "mode"), [(2, LINE), (3, MESH), (4, MESH), (5, CLOUD)])
def test_modes(exits: int, mode: int) -> None:
    assert points_for(exits, 30).mode.tolist() == [mode]


@pytest.mark.parametrize("exits", [2, 3, 4])
@given(data=st.data())
def test_inside_the_mix_is_the_vector(exits: int, data: st.DataObject) -> None:
    pts = points_for(exits, 40)
    shares = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=40, max_size=40)))
    v = (shares / shares.sum()) @ pts.vector + data.draw(st.floats(-5, 5))
    nodes, weights = np.full(exits + 1, -1), np.zeros(exits + 1)
    n = kernel.locate(pts, 0, v, exits, nodes, weights)
    assert n == exits
    assert weights[:n].min() >= 0
    assert weights[:n].sum() == pytest.approx(1)
    mix = weights[:n] @ pts.vector[nodes[:n]]
    assert np.ptp(v - mix) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("exits", [2, 3])
def test_outside_the_bound_is_still_one(exits: int) -> None:
    pts = points_for(exits, 20)
    v = np.zeros(exits)
    v[0] = 100.0
    nodes, weights = np.full(exits + 1, -1), np.zeros(exits + 1)
    n = kernel.locate(pts, 0, v, exits, nodes, weights)
    assert n == 1
    beyond = kernel.beyond(pts, v, exits, nodes, weights, n)
    assert (pts.vector[nodes[0]] + beyond >= v - 1e-12).all()


def test_arranged_drops_twins() -> None:
    rows = arranged(np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 4.0]]), connected=True)
    assert rows.tolist() == [[-4.0, 0.0], [1.0, 0.0]]
