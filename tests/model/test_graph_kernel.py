from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recurl.model.graph_kernel import strong_components

graphs = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n)
)


@given(graphs)
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


def test_a_long_chain_needs_no_deep_recursion() -> None:
    n = 200_000
    start = np.minimum(np.arange(n + 1), n - 1).astype(np.int32)
    target = np.arange(1, n, dtype=np.int32)
    label, count = strong_components(start, target)
    assert count == n
    np.testing.assert_array_equal(label, np.arange(n)[::-1])
