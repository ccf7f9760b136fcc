from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from recurl.solving import digraphs
from recurl.solving.digraphs import Blocks, can_reach, each_once, led_by, reaching, transposed


def edges(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    graph = csr_array(matrix)
    return graph.indptr, graph.indices


def test_blocks_come_after_what_they_refer_to() -> None:
    matrix = np.array([[0, 1, 0.0], [0.5, 0, 0.2], [0, 0, 0]])
    blocks = Blocks.of(*edges(matrix))
    assert blocks.label.tolist() == [1, 1, 0]
    assert blocks.order.tolist() == [2, 0, 1]
    assert blocks.start.tolist() == [0, 1, 3]


@given(seed=st.integers(0, 1000), size=st.integers(1, 30))
def test_labels_never_rise_along_an_edge(seed: int, size: int) -> None:
    start, column = edges(np.random.default_rng(seed).random((size, size)) < 1.5 / size)
    label = Blocks.of(start, column).label
    row = np.repeat(np.arange(size), np.diff(start))
    assert (label[row] >= label[column]).all()


@given(seed=st.integers(0, 1000), size=st.integers(1, 12), edges=st.integers(0, 60))
def test_blocks_of_graphs_with_edges_that_stand_twice(seed: int, size: int, edges: int) -> None:
    random = np.random.default_rng(seed)
    row = np.sort(random.integers(size, size=edges))
    target = random.integers(size, size=edges).astype(np.int32)
    start = np.searchsorted(row, np.arange(size + 1)).astype(np.int32)
    found = Blocks.of(start, target).label
    graph = csr_array((np.ones(edges), (row, target)), shape=(size, size))
    wanted = connected_components(graph, connection="strong")[1]
    np.testing.assert_array_equal(found[:, None] == found, wanted[:, None] == wanted)


def test_edges_that_stand_twice_are_taken_out() -> None:
    start, target = each_once(np.array([0, 3, 3, 5, 5]), np.array([1, 1, 2, 2, 2]))
    assert start.tolist() == [0, 2, 2, 3, 3]
    assert target.tolist() == [1, 2, 2]


def test_the_nearest_to_goals_come_first() -> None:
    back = transposed(np.array([0, 1, 2, 3, 3], np.int32), np.array([1, 2, 2], np.int32), 4)
    order, after = led_by(*back, np.array([2]))
    assert order.tolist() == [2, 1, 0]
    assert after[:3].tolist() == [1, 2, 4]
    assert after[3] < 0


def test_what_leads_to_a_set() -> None:
    graph = csr_array(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]))
    assert can_reach(graph, np.array([False, True, False])).tolist() == [True, True, True]
    assert can_reach(graph, np.array([False, False, True])).tolist() == [False, False, True]
    ends = np.array([0, 2]), np.array([1, 1])
    assert reaching(*ends, np.array([False, True, False])).tolist() == [True, True, True]


@given(seed=st.integers(0, 1000), size=st.integers(1, 60), edges=st.integers(0, 150))
def test_few_vertices_are_searched_like_many(seed: int, size: int, edges: int) -> None:
    random = np.random.default_rng(seed)
    ends = random.integers(size, size=edges), random.integers(size, size=edges)
    goal = random.random(size) < random.choice([0, 0.1, 1])
    graph = csr_array((np.ones(edges), ends), shape=(size, size))
    assert reaching(*ends, goal).tolist() == can_reach(graph, goal).tolist()
    assert digraphs._few_reaching(*ends, goal).tolist() == can_reach(graph, goal).tolist()
