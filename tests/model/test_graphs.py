from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recurl
from recurl import zoo
from recurl.model import graphs
from recurl.model.graphs import strong_components
from recurl.model.structure import CallGraph

adjacencies = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)
)


@given(adjacencies)
def test_strong_components_are_mutual_reachability(graph: list[set[int]]) -> None:
    n = len(graph)
    start = np.cumsum([0, *map(len, graph)]).astype(np.int32)
    target = np.array([w for edges in graph for w in sorted(edges)], np.int32)
    label, count = strong_components(start, target)
    reach = np.eye(n, dtype=bool)
    for v, edges in enumerate(graph):
        reach[v, list(edges)] = True
    for w in range(n):
        reach |= reach[:, [w]] & reach[[w], :]
    np.testing.assert_array_equal(label[:, None] == label[None, :], reach & reach.T)
    assert sorted(set(label.tolist())) == list(range(count))
    assert all(label[w] <= label[v] for v, edges in enumerate(graph) for w in edges)


@given(adjacencies)
def test_small_graphs_are_searched_as_large_ones_are(graph: list[set[int]]) -> None:
    start = np.cumsum([0, *map(len, graph)]).astype(np.int32)
    target = np.array([w for edges in graph for w in sorted(edges)], np.int32)
    with pytest.MonkeyPatch.context() as patch:
        small = strong_components(start, target)
        patch.setattr(graphs, "_FEW", 0)
        large = strong_components(start, target)
    assert small[1] == large[1]
    same = [label[:, None] == label[None, :] for label, _ in (small, large)]
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize("seed", range(6))
def test_small_models_are_reached_as_large_ones_are(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = zoo.random_model(seed=seed, components=4, nodes=12, exits=2, actions=1).tables
    start = t.starts[:1]
    distance = graphs.exit_distances(t, CallGraph.of(t).groups)
    swept = graphs.reachable_vertices(t, start, distance)
    monkeypatch.setattr(graphs, "_MANY", 0)
    np.testing.assert_array_equal(graphs.reachable_vertices(t, start, distance), swept)


def test_a_long_chain_needs_no_deep_recursion() -> None:
    n = 200_000
    start = np.minimum(np.arange(n + 1), n - 1).astype(np.int32)
    target = np.arange(1, n, dtype=np.int32)
    label, count = strong_components(start, target)
    assert count == n
    np.testing.assert_array_equal(label, np.arange(n)[::-1])


@pytest.mark.parametrize("exits", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_long_ways_are_found_by_distance(
    exits: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = zoo.random_model(seed=seed, components=5, nodes=6, exits=exits).tables
    groups = CallGraph.of(t).groups
    swept = graphs.exit_distances(t, groups)
    monkeypatch.setattr(graphs, "_SWEEPS", 0)
    np.testing.assert_array_equal(graphs.exit_distances(t, groups), swept)


def test_a_chain_longer_than_sweeps_go() -> None:
    builder = recurl.Builder("chain").component("A", entries="n0", exits="out")
    for i in range(120):
        builder = builder.at(f"n{i}").action("go").to(f"n{i + 1}" if i < 119 else "out", 1)
    reach = builder.build().reach
    assert reach.distance.max() == 120
    assert reach.reachable.all()
    assert reach.longest_way_out == 120
