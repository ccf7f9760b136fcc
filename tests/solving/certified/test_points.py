"""Points: how those of a component are connected, and what they say in between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.solving.certified.points import (
    Cloud,
    Hull,
    Line,
    Mesh,
    Single,
    _Programs,
    arranged,
    best_mixes,
    make_points,
)

from .parts import connected, scattered


@pytest.mark.parametrize(("exits", "kind"), [(2, Line), (3, Mesh), (5, Mesh), (6, Cloud)])
def test_kinds(exits: int, kind: type) -> None:
    assert type(scattered(exits, 30)) is kind


def test_one_exit_has_one_point() -> None:
    points = make_points(np.zeros((1, 1)), np.zeros(1))
    assert type(points) is Single
    found = points.bound(np.array([[3.0]]), np.array([[2.0], [5.0]]))
    assert found.value.tolist() == [[5.0], [8.0]]


def test_arranged_drops_twins() -> None:
    rows = arranged(np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 4.0]]), connected=True)
    assert rows.tolist() == [[-4.0, 0.0], [1.0, 0.0]]
    rows = arranged(np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 4.0]]), connected=False)
    assert rows.tolist() == [[1.0, 0.0], [0.0, 4.0]]


@pytest.mark.parametrize("exits", [2, 3, 4])
@given(data=st.data())
def test_inside_the_mix_is_the_vector(exits: int, data: st.DataObject) -> None:
    points = scattered(exits, 40)
    assert isinstance(points, Line | Mesh)
    shares = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=40, max_size=40)))
    v = (shares / shares.sum()) @ points.vectors + data.draw(st.floats(-5, 5))
    nodes, weights, cells = points.locate(v[None])
    assert cells[0] >= 0
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    mix = weights[0] @ points.vectors[nodes[0]]
    assert np.ptp(v - mix) == pytest.approx(0, abs=1e-9)


def test_among_flat_simplices_nothing_inside_is_missed() -> None:
    exits = 4
    # Scales to all sides, as a search begins with, and points close to one another on a line.
    sides = np.concatenate([np.eye(exits), -np.eye(exits)])
    wide = [scale * sides for scale in (0.01, 0.1, 1.0, 10.0, 100.0)]
    close = np.outer(0.2 + 1e-6 * np.arange(30), np.arange(exits)[::-1] > 0)
    points = connected(np.concatenate([*wide, close]))
    assert isinstance(points, Mesh)
    assert np.isnan(points.inverse).any()
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.uniform(-3, 1.5, size=(300, 1))
    v = size * rng.uniform(-1, 1, size=(300, exits)) / exits
    hints = rng.integers(-1, len(points.mesh.simplices), size=300)
    nodes, weights, cells = points.locate(v, hints)
    mixes = (weights[:, :, None] * points.vectors[nodes]).sum(axis=1)
    assert np.ptp(v - mixes, axis=1) == pytest.approx(0, abs=1e-7)
    assert (hints == cells).all()


@pytest.mark.parametrize("exits", [2, 3])
def test_outside_the_bound_is_still_one(exits: int) -> None:
    points = scattered(exits, 20)
    v = np.zeros((1, exits))
    v[0, 0] = 100.0
    # x(v) = max(v) is such a function: monotone, convex, 1-Lipschitz.
    u = points.vectors.max(axis=1, keepdims=True)
    found = points.bound(u, v)
    assert (found.nodes[0, 0] >= 0).sum() == 1
    assert found.value[0, 0] >= 100.0 - 1e-9
    assert found.share[0, 0].tolist() == [1.0, *[0.0] * (exits - 1)]


@pytest.mark.parametrize("exits", [2, 3, 4, 6])
@given(seed=st.integers(0, 100))
def test_the_bound_is_above_a_convex_function_and_made_of_its_parts(exits: int, seed: int) -> None:
    points = scattered(exits, 40)
    rng = np.random.default_rng(seed)
    pieces = rng.dirichlet(np.ones(exits), size=5)
    v = rng.normal(size=(7, exits))

    def function(vectors: np.ndarray) -> np.ndarray:
        return np.asarray((vectors @ pieces.T).max(axis=1, keepdims=True))

    u = function(points.vectors)
    found = points.bound(u, v)
    assert (found.value >= function(v) - 1e-9).all()
    assert found.share.min() >= 0
    assert found.share.sum(axis=2) == pytest.approx(1)
    for i in range(len(v)):
        nodes, weights = found.nodes[i, 0], found.weights[i, 0]
        used = nodes >= 0
        beyond = (v[i] - weights[used] @ points.vectors[nodes[used]]).max()
        made = weights[used] @ u[nodes[used], 0] + beyond
        assert found.value[i, 0] == pytest.approx(made, abs=1e-9)


@pytest.mark.parametrize("exits", [2, 3, 4])
@given(hint=st.integers(-1, 60), seed=st.integers(0, 100))
def test_hints_change_nothing(exits: int, hint: int, seed: int) -> None:
    points = scattered(exits, 40)
    assert isinstance(points, Line | Mesh)
    v = np.random.default_rng(seed).normal(size=(1, exits))
    mixes = []
    for start in (None, np.array([hint])):
        nodes, weights, _ = points.locate(v, start)
        pairs = zip(nodes[0].tolist(), weights[0].round(9).tolist(), strict=True)
        mixes.append(sorted(pair for pair in pairs if pair[1] > 0))
    assert mixes[0] == mixes[1]


def test_slopes_are_those_of_the_bound() -> None:
    for exits in (2, 3):
        points = scattered(exits, 30)
        u = np.linalg.norm(points.vectors - points.vectors.mean(axis=0), axis=1)[:, None] / 4
        u += points.vectors.mean(axis=1, keepdims=True)
        v = points.vectors[:3].mean(axis=0, keepdims=True)
        found = points.bound(u, v)
        for k in range(exits):
            moved = v.copy()
            moved[0, k] += 1e-7
            slope = (points.bound(u, moved).value - found.value)[0, 0] / 1e-7
            assert slope == pytest.approx(found.share[0, 0, k], abs=1e-5)


def test_the_nearest_point_of_a_cloud() -> None:
    cloud = Cloud(np.array([[0.0, 0.0], [3.0, 0.0]]))
    u = np.array([[1.0, 5.0], [2.0, 2.0]])
    v = np.array([[0.0, 0.5], [3.0, 1.0]])
    nodes, value = cloud.nearest(u, v)
    assert nodes.tolist() == [[0, 1], [1, 1]]
    assert value.tolist() == [[1.5, 2.5], [3.0, 3.0]]
    assert cloud.least(u, v).tolist() == value.tolist()
    assert cloud.spans(v).tolist() == [[0.5, 3.5], [2.0, 1.0]]


def test_mixes_are_those_of_the_linear_program() -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    vectors, v = rng.normal(size=(40, 7)), 0.5 * rng.normal(size=(25, 7))
    u = np.log(np.exp(vectors).sum(axis=1)) + 0.01 * rng.random(40)
    hull = Hull(vectors)
    found = hull.bound(u[:, None], v)
    rise = np.hstack([-vectors.T, -np.ones((7, 1))])
    free = [(0, None)] * 40 + [(None, None)]
    for own, vector in zip(found.value[:, 0], v, strict=True):
        one = [[1.0] * 40 + [0.0]]
        best = linprog(np.append(u, 1.0), rise, -vector, one, [1.0], bounds=free)
        assert own == pytest.approx(best.fun, abs=1e-9)
    assert (found.value <= Cloud(vectors).bound(u[:, None], v).value + 1e-12).all()
    assert found.weights.sum(axis=2) == pytest.approx(1.0)
    assert found.share.sum(axis=2) == pytest.approx(1.0)
    assert ((found.nodes >= 0) == (found.weights > 0.0)).all()


def test_bounds_of_a_hull_move_as_their_shares_say() -> None:
    rng = np.random.default_rng(6)
    vectors, v = rng.normal(size=(30, 6)), 0.3 * rng.normal(size=(10, 6))
    u = np.abs(vectors).max(axis=1)[:, None]
    hull, change = Hull(vectors), 1e-7 * rng.normal(size=(10, 6))
    before, after = hull.bound(u, v), hull.bound(u, v + change)
    moved = (before.share[:, 0] * change).sum(axis=1)
    assert (after.value - before.value)[:, 0] == pytest.approx(moved, abs=1e-12)


def test_mixes_of_a_hull_stay_mixes_where_numbers_are_too_large() -> None:
    vectors = np.random.default_rng(7).normal(size=(20, 6))
    v = np.zeros((3, 6))
    v[1], v[2, 0] = np.nan, np.inf
    found = Hull(vectors).bound(np.ones((20, 1)), v)
    assert found.weights.sum(axis=2) == pytest.approx(1.0)
    assert found.share.sum(axis=2) == pytest.approx(1.0)
    assert (found.nodes.max(axis=2) >= 0).all()


def test_linear_programs_begin_where_similar_ones_ended() -> None:
    rng = np.random.default_rng(3)
    vectors, v = rng.normal(size=(60, 6)), 0.3 * rng.normal(size=(20, 6))
    u = (vectors**2).sum(axis=1)
    nearest = np.zeros(20, np.int64)
    bases = np.full((20, 7), -1)
    first = best_mixes(vectors, u, v, nearest, bases)
    assert (bases >= 0).all()
    again = _Programs(vectors, u, v, nearest, bases)
    assert len(again.improve(np.arange(20))) == 0
    for own, other in zip(first, again.mixes(), strict=True):
        assert own == pytest.approx(other, abs=1e-9)
    # Where a basis is no longer a mix, from the point given; the bound is the same.
    moved = v + rng.normal(size=v.shape)
    fresh = Hull(vectors).bound(u[:, None], moved)
    hinted = Hull(vectors).bound(u[:, None], moved, bases[:, None])
    assert hinted.value == pytest.approx(fresh.value, abs=1e-9)
