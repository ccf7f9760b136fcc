"""Layered layout of a directed graph, from left to right, in the manner of Sugiyama.

Every node gets a *rank* by longest path, edges against the direction of ranks set aside. An edge
that passes ranks runs in *lanes*: separate places there, so that no edge runs through a node.
The order within a rank follows the barycentres of neighbours; heights are the least-squares ones
that keep that order and the distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

Point = tuple[float, float]
Bezier = tuple[Point, Point, Point, Point]
"""A cubic Bezier curve: its ends and, between them, its control points."""

GAP = 30.0
"""Distance between ranks."""
APART, LANES_APART = 10.0, 5.0
"""Distances of nodes and of lanes within a rank."""
_SWEEPS = 12


class Size(NamedTuple):
    """Width and height of a node or a label."""

    width: float
    height: float


class Edge(NamedTuple):
    """An edge between two nodes.

    Attributes:
        source: Node that it leaves, on its right side.
        target: Node that it enters, on its left side.
        source_y: Where it leaves, below the middle of the node.
        target_y: Where it enters, likewise.
        label: Size of its label; None without one.
    """

    source: int
    target: int
    source_y: float = 0.0
    target_y: float = 0.0
    label: Size | None = None


class Placed(NamedTuple):
    """A layout.

    Attributes:
        centres: Middle of every node.
        routes: Curves of every edge, end to end.
        labels: Middle of the label of every edge; None without one.
        size: What the whole takes up, from (0, 0) on.
    """

    centres: list[Point]
    routes: list[list[Bezier]]
    labels: list[Point | None]
    size: Size


def place(nodes: Sequence[Size], edges: Sequence[Edge], last: Iterable[int] = ()) -> Placed:
    """Lay out a graph; the nodes in `last` go to the right border.

    Example:
        >>> placed = place([Size(40, 20), Size(40, 20)], [Edge(0, 1)])
        >>> placed.centres, placed.size
        ([(20.0, 10.0), (90.0, 10.0)], Size(width=110.0, height=20.0))
    """
    if not nodes:
        return Placed([], [], [], Size(0.0, 0.0))
    forward = _forward(len(nodes), edges)
    work = _Layout(nodes, edges, forward, _ranks(len(nodes), edges, forward, set(last)))
    work.order()
    work.heights()
    return work.placed()


def _forward(count: int, edges: Sequence[Edge]) -> list[bool]:
    """Edges that do not lead back to a node on the path of a depth-first search."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, edge in enumerate(edges):
        leaving[edge.source].append(number)
    forward = [True] * len(edges)
    state = [0] * count  # 0 not seen, 1 inside, 2 done
    for root in range(count):
        if state[root]:
            continue
        state[root], path = 1, [(root, iter(leaving[root]))]
        while path:
            node, rest = path[-1]
            found = next(rest, None)
            if found is None:
                state[node] = 2
                path.pop()
                continue
            there = edges[found].target
            forward[found] = state[there] != 1
            if not state[there]:
                state[there] = 1
                path.append((there, iter(leaving[there])))
    return forward


def _ranks(count: int, edges: Sequence[Edge], forward: Sequence[bool], last: set[int]) -> list[int]:
    """Rank of each node: the longest path to it; a label takes a separate rank."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    entering = [0] * count
    for edge, ahead in zip(edges, forward, strict=True):
        if ahead:
            leaving[edge.source].append((edge.target, 2 if edge.label else 1))
            entering[edge.target] += 1
    rank, ready = [0] * count, [i for i in range(count) if not entering[i]]
    while ready:
        node = ready.pop()
        for there, length in leaving[node]:
            rank[there] = max(rank[there], rank[node] + length)
            entering[there] -= 1
            if not entering[there]:
                ready.append(there)
    final = max(rank)
    ends = {i for i in last if not leaving[i]}
    return [final if i in ends else r for i, r in enumerate(rank)]


class _Item(NamedTuple):
    """A node, or a lane of an edge, at its place in a rank."""

    rank: int
    size: Size
    is_lane: bool


class _Link(NamedTuple):
    """A piece of an edge between two items, with the heights at which it meets them."""

    left: int
    right: int
    left_y: float
    right_y: float


class _Layout:
    """The stages of the algorithm, each working on what the one before left."""

    def __init__(
        self,
        nodes: Sequence[Size],
        edges: Sequence[Edge],
        forward: Sequence[bool],
        ranks: Sequence[int],
    ) -> None:
        self.edges, self.forward, self.n_nodes = edges, forward, len(nodes)
        self.items = [_Item(r, size, False) for r, size in zip(ranks, nodes, strict=True)]
        self.links: list[_Link] = []
        self.lanes = [self._add_edge(*pair) for pair in zip(edges, forward, strict=True)]
        self.layers: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
        for i in self._by_discovery():
            self.layers[self.items[i].rank].append(i)
        self.y = np.zeros(len(self.items))
        self.neighbours = self._neighbours()

    def _add_edge(self, edge: Edge, ahead: bool) -> list[int]:
        """The lanes of an edge, from source to target; its label is in the first one."""
        begin, end = self.items[edge.source].rank, self.items[edge.target].rank
        ranks = range(begin + 1, end) if ahead else range(begin, end - 1, -1)
        lanes: list[int] = []
        for rank in ranks:
            labelled = edge.label if not lanes else None
            self.items.append(_Item(rank, labelled or Size(0.0, 0.0), True))
            lanes.append(len(self.items) - 1)
        chain = [edge.source, *lanes, edge.target]
        heights = [edge.source_y, *(0.0 for _ in lanes), edge.target_y]
        pieces = zip(chain, heights, chain[1:], heights[1:], strict=False)
        for a, ya, b, yb in pieces:
            self.links.append(_Link(a, b, ya, yb) if ahead else _Link(b, a, yb, ya))
        return lanes

    def _by_discovery(self) -> Iterator[int]:
        """Items in the order in which a search along the edges meets them."""
        after: dict[int, list[int]] = {}
        for edge, lanes in zip(self.edges, self.lanes, strict=True):
            after.setdefault(edge.source, []).extend([*lanes, edge.target])
        seen: set[int] = set()
        for root in range(self.n_nodes):
            todo = [root]
            while todo:
                item = todo.pop()
                if item not in seen:
                    seen.add(item)
                    yield item
                    todo += reversed(after.get(item, []))

    def _neighbours(self) -> list[list[tuple[int, float]]]:
        """For each item the items that it is linked to, with the difference of heights wanted."""
        found: list[list[tuple[int, float]]] = [[] for _ in self.items]
        for link in self.links:
            found[link.left].append((link.right, link.right_y - link.left_y))
            found[link.right].append((link.left, link.left_y - link.right_y))
        return found

    def order(self) -> None:
        """Order every rank by barycentres, and keep the order with the fewest crossings."""
        self._stack()
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(_SWEEPS):
            forwards = sweep % 2 == 0
            ranks = range(len(self.layers))
            for rank in ranks if forwards else reversed(ranks):
                self._sort(rank, rank - 1 if forwards else rank + 1)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best
        self._stack()

    def _sort(self, rank: int, fixed: int) -> None:
        """Order a rank by where its items' neighbours in a fixed rank, or in itself, are."""
        layer, y = self.layers[rank], self.y.tolist()

        def barycentre(item: int) -> float:
            wanted = [
                y[other] + shift
                for other, shift in self.neighbours[item]
                if self.items[other].rank in (fixed, rank)
            ]
            return sum(wanted) / len(wanted) if wanted else y[item]

        layer.sort(key=barycentre)
        self._stack_layer(layer)

    def _stack(self) -> None:
        for layer in self.layers:
            self._stack_layer(layer)

    def _stack_layer(self, layer: Sequence[int]) -> None:
        """Heights of a rank in its order, as near as allowed, around 0."""
        steps = self._steps(layer)
        at = np.concatenate([[0.0], np.cumsum(steps)])
        self.y[list(layer)] = at - at[-1] / 2 if len(layer) else []

    def _steps(self, layer: Sequence[int]) -> list[float]:
        """Least distances of middles, from each item of a rank to the next."""
        items = [self.items[i] for i in layer]
        return [
            (a.size.height + b.size.height) / 2 + (LANES_APART if a.is_lane or b.is_lane else APART)
            for a, b in pairwise(items)
        ]

    def _crossings(self) -> int:
        """How often links between neighbouring ranks cross."""
        between: dict[int, list[tuple[float, float]]] = {}
        for link in self.links:
            left, right = self.items[link.left].rank, self.items[link.right].rank
            if left < right:
                ends = self.y[link.left] + link.left_y, self.y[link.right] + link.right_y
                between.setdefault(left, []).append(ends)
        total = 0
        for ends_of_rank in between.values():
            a, b = np.array(ends_of_rank).T
            total += int(((a[:, None] < a) & (b[:, None] > b)).sum())
        return total

    def heights(self) -> None:
        """Move items towards their neighbours, in their order."""
        for sweep in range(_SWEEPS):
            layers = self.layers if sweep % 2 == 0 else self.layers[::-1]
            for layer in layers:
                self._align(layer)

    def _align(self, layer: Sequence[int]) -> None:
        if not layer:
            return
        wanted, weights, y = [], [], self.y.tolist()
        for i in layer:
            there = [y[j] + shift for j, shift in self.neighbours[i]]
            wanted.append(sum(there) / len(there) if there else y[i])
            weights.append(4.0 if self.items[i].is_lane else 1.0 + len(there))
        self.y[list(layer)] = spread(wanted, weights, self._steps(layer))

    def placed(self) -> Placed:
        """The layout, moved to begin at (0, 0)."""
        top = min(self.y[i] - item.size.height / 2 for i, item in enumerate(self.items))
        self.y -= top
        turns = {self.items[edge.source].rank for edge in self._back()}
        spans = self._spans(turns)
        at = [
            ((spans[item.rank][0] + spans[item.rank][1]) / 2, float(self.y[i]))
            for i, item in enumerate(self.items)
        ]
        bottom = max(y + item.size.height / 2 for (_, y), item in zip(at, self.items, strict=True))
        right = spans[-1][1] + (GAP / 2 if len(spans) - 1 in turns else 0)
        return Placed(
            at[: self.n_nodes],
            [self._route(number, at, spans) for number in range(len(self.edges))],
            [
                at[lanes[0]] if edge.label and lanes else None
                for edge, lanes in zip(self.edges, self.lanes, strict=True)
            ],
            Size(right, bottom),
        )

    def _back(self) -> list[Edge]:
        return [edge for edge, ahead in zip(self.edges, self.forward, strict=True) if not ahead]

    def _spans(self, turns: set[int]) -> list[tuple[float, float]]:
        """Left and right border of every rank."""
        x = GAP / 2 if any(self.items[edge.target].rank == 0 for edge in self._back()) else 0.0
        spans = []
        for rank, layer in enumerate(self.layers):
            width = max((self.items[i].size.width for i in layer), default=0.0)
            spans.append((x, x + width))
            x += width + GAP + (GAP / 3 if rank in turns else 0)
        return spans

    def _route(
        self, number: int, at: Sequence[Point], spans: Sequence[tuple[float, float]]
    ) -> list[Bezier]:
        edge, lanes, ahead = self.edges[number], self.lanes[number], self.forward[number]
        (xs, ys), (xt, yt) = at[edge.source], at[edge.target]
        begin = xs + self.items[edge.source].size.width / 2, ys + edge.source_y
        end = xt - self.items[edge.target].size.width / 2, yt + edge.target_y
        stops = [begin, (spans[self.items[edge.source].rank][1], begin[1])]
        for lane in lanes:
            left, right = spans[self.items[lane].rank]
            y = at[lane][1]
            stops += [(left, y), (right, y)] if ahead else [(right, y), (left, y)]
        stops += [(spans[self.items[edge.target].rank][0], end[1]), end]
        # An edge that leads back turns twice: right of its source and left of its target.
        bulge = {} if ahead else {1: GAP / 2, len(stops) - 3: -GAP / 2}
        pairs = enumerate(pairwise(stops))
        return [_curve(a, b, bulge.get(i)) for i, (a, b) in pairs if a != b]


def _curve(a: Point, b: Point, bulge: float | None) -> Bezier:
    """From point to point with horizontal ends, or a turn that bulges to one side."""
    (xa, ya), (xb, yb) = a, b
    if bulge is not None:
        return a, (xa + bulge, ya), (xb + bulge, yb), b
    middle = (xa + xb) / 2
    return a, (middle, ya), (middle, yb), b


def spread(
    wanted: Sequence[float], weights: Sequence[float], steps: Sequence[float]
) -> list[float]:
    """The places nearest to the wanted ones, in order and at least some steps apart.

    Least squares with weights, by pooling neighbours that would come too near.

    Example:
        >>> spread([0, 0, 10], [1, 1, 1], [4, 4])
        [-2.0, 2.0, 10.0]
    """
    before = np.concatenate([[0.0], np.cumsum(steps)])
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for want, weight, shift in zip(wanted, weights, before.tolist(), strict=True):
        mean, total, count = want - shift, weight, 1
        while pools and pools[-1][0] > mean:
            other, its, members = pools.pop()
            mean = (mean * total + other * its) / (total + its)
            total, count = total + its, count + members
        pools.append((mean, total, count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + shift for mean, shift in zip(flat, before.tolist(), strict=True)]
