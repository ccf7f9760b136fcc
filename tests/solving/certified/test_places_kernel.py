"""Where vectors are found between points, with which weights, and from any hint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.solving.certified import places_kernel
from recurl.solving.certified.points import CORNERS

from .parts import connected, scattered


@pytest.mark.parametrize("exits", [2, 3, 4])
@given(data=st.data())
def test_inside_the_mix_is_the_vector(exits: int, data: st.DataObject) -> None:
    pts = scattered(exits, 40)
    shares = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=40, max_size=40)))
    v = (shares / shares.sum()) @ pts.vector + data.draw(st.floats(-5, 5))
    nodes, weights = np.full(CORNERS, -1), np.zeros(CORNERS)
    n, _ = places_kernel.locate(pts, 0, v, exits, nodes, weights, -1)
    assert n == exits
    assert weights[:n].min() >= 0
    assert weights[:n].sum() == pytest.approx(1)
    mix = weights[:n] @ pts.vector[nodes[:n]]
    assert np.ptp(v - mix) == pytest.approx(0, abs=1e-9)


def test_among_flat_simplices_nothing_inside_is_missed() -> None:
    exits = 4
    # Scales to all sides, as a search begins with, and points close to one another on a line.
    sides = np.concatenate([np.eye(exits), -np.eye(exits)])
    wide = [scale * sides for scale in (0.01, 0.1, 1.0, 10.0, 100.0)]
    close = np.outer(0.2 + 1e-6 * np.arange(30), np.arange(exits)[::-1] > 0)
    pts = connected(np.concatenate([*wide, close]))
    assert np.isnan(pts.barycentric).any()
    rng = np.random.default_rng(0)
    for hint in rng.integers(-1, len(pts.corner), size=300).tolist():
        size = 10.0 ** rng.uniform(-3, 1.5)
        v = size * rng.uniform(-1, 1, size=exits) / exits
        nodes, weights = np.full(CORNERS, -1), np.zeros(CORNERS)
        n, _ = places_kernel.locate(pts, 0, v, exits, nodes, weights, hint)
        assert n == exits
        mix = weights[:n] @ pts.vector[nodes[:n]]
        assert np.ptp(v - mix) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("exits", [2, 3])
def test_outside_the_bound_is_still_one(exits: int) -> None:
    pts = scattered(exits, 20)
    v = np.zeros(exits)
    v[0] = 100.0
    nodes, weights = np.full(CORNERS, -1), np.zeros(CORNERS)
    n, _ = places_kernel.locate(pts, 0, v, exits, nodes, weights, -1)
    assert n == 1
    beyond = places_kernel.beyond(pts, v, exits, nodes, weights, n)
    assert (pts.vector[nodes[0]] + beyond >= v - 1e-12).all()


@pytest.mark.parametrize("exits", [2, 3, 4])
@given(hint=st.integers(-1, 200), seed=st.integers(0, 100))
def test_hints_change_nothing(exits: int, hint: int, seed: int) -> None:
    pts = scattered(exits, 40)
    v = np.random.default_rng(seed).normal(size=exits)
    found = []
    for start in (-1, hint):
        nodes, weights = np.full(CORNERS, -1), np.zeros(CORNERS)
        n, _ = places_kernel.locate(pts, 0, v, exits, nodes, weights, start)
        mix = zip(nodes[:n].tolist(), weights[:n].round(9).tolist(), strict=True)
        found.append(sorted(pair for pair in mix if pair[1] > 0))
    assert found[0] == found[1]


@given(y=st.floats(-5, 5), level=st.floats(-5, 5))
def test_on_a_line_both_ways_agree(y: float, level: float) -> None:
    pts = scattered(2, 20)
    v = np.array([y + level, level])
    nodes, weights = np.full(CORNERS, -1), np.zeros(CORNERS)
    n, _ = places_kernel.locate(pts, 0, v, 2, nodes, weights, -1)
    value = places_kernel.beyond(pts, v, 2, nodes, weights, n)
    value += weights[:n] @ pts.vector[nodes[:n], 0] ** 2
    n, offset, _ = places_kernel.on_line(pts, 0, v, nodes, weights, -1)
    again = offset + weights[:n] @ pts.vector[nodes[:n], 0] ** 2
    assert again == pytest.approx(value, abs=1e-9)
