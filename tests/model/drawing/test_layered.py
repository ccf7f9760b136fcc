from __future__ import annotations

import itertools

import numpy as np
import pytest

from recurl.model.drawing.layered import Edge, Placed, Size, place, spread

Box = tuple[float, float, float, float]


def boxes(sizes: list[Size], placed: Placed) -> list[Box]:
    return [
        (x - size.width / 2, y - size.height / 2, x + size.width / 2, y + size.height / 2)
        for (x, y), size in zip(placed.centres, sizes, strict=True)
    ]


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_ranks_go_from_left_to_right_and_exits_to_the_border() -> None:
    sizes = [Size(20, 10)] * 5
    edges = [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(0, 4)]
    xs = [x for x, _ in place(sizes, edges, last=[4]).centres]
    assert xs[0] < xs[1] < xs[2] < xs[3] == xs[4]
    assert place(sizes, edges).centres[4][0] == xs[1]


@pytest.mark.parametrize("seed", range(5))
def test_nodes_of_random_graphs_do_not_overlap(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = [Size(*random.uniform(10, 80, 2)) for _ in range(30)]
    edges = [
        Edge(*random.integers(30, size=2).tolist(), label=Size(30, 12) if i % 3 else None)
        for i in range(60)
    ]
    placed = place(sizes, edges)
    drawn = boxes(sizes, placed)
    drawn += [
        (x - 15, y - 6, x + 15, y + 6) for x, y in (p for p in placed.labels if p is not None)
    ]
    assert not [(a, b) for i, a in enumerate(drawn) for b in drawn[:i] if overlap(a, b)]
    for left, top, right, bottom in drawn:
        assert left >= -1e-9 <= top
        assert right <= placed.size.width + 1e-9
        assert bottom <= placed.size.height + 1e-9


def test_an_edge_runs_from_its_source_to_its_target_without_gaps() -> None:
    sizes = [Size(20, 10)] * 4
    edges = [Edge(0, 1), Edge(1, 2, 3.0, -2.0), Edge(2, 0), Edge(3, 3), Edge(0, 2)]
    placed = place(sizes, edges)
    for edge, route in zip(edges, placed.routes, strict=True):
        (xs, ys), (xt, yt) = placed.centres[edge.source], placed.centres[edge.target]
        assert route[0][0] == (xs + 10, ys + edge.source_y)
        assert route[-1][-1] == (xt - 10, yt + edge.target_y)
        assert all(a[-1] == b[0] for a, b in itertools.pairwise(route))


def test_an_order_without_crossings_is_found() -> None:
    sizes = [Size(20, 10)] * 6
    edges = [Edge(0, 5), Edge(1, 4), Edge(2, 3)]
    ys = [y for _, y in place(sizes, edges).centres]
    assert sorted(ys[:3]) == [ys[i] for i in sorted(range(3), key=lambda i: ys[5 - i])]
    assert ys[:3] == ys[:2:-1]


def test_nothing_takes_no_room() -> None:
    assert place([], []).size == Size(0, 0)


def test_spread_keeps_order_and_distance_and_moves_little() -> None:
    places = spread([5.0, 4.0, 3.0, 50.0], [1, 1, 1, 1], [2, 2, 2])
    assert places == [2.0, 4.0, 6.0, 50.0]
    assert spread([0.0, 0.0], [1, 3], [4]) == [-3.0, 1.0]
