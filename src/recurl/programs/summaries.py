"""Reachability through calls: a call continues only after returns that its callee can make.

Nodes are explored per entry of their function. When an entry is first found to reach an exit, all
calls of that entry continue behind it; when a call is first found, it continues behind all exits
that its entry is known to reach.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Call(NamedTuple):
    """A node that calls: the entry called, and the node behind each exit of it."""

    entry: int
    behind: Callable[[int], int]


class Leave(NamedTuple):
    """A node that leaves its function through an exit."""

    exit: int


Way = Call | Leave | Iterable[int]
"""How it goes on at a node: a call, an exit, or the nodes that may come next."""


class Summaries:
    """Explores what can be reached from some entries.

    Args:
        step: How it goes on at a node. It is asked once for each entry that reaches the node.

    Attributes:
        exits: The exits that each entry reaches, in the order of discovery.
        reached: Nodes reached, by entry.
    """

    def __init__(self, step: Callable[[int], Way]) -> None:
        self._step = step
        self.exits: dict[int, dict[int, None]] = {}
        self.reached: dict[int, set[int]] = {}
        self._callers: dict[int, list[tuple[int, Call]]] = {}
        self._todo: deque[tuple[int, int]] = deque()

    def explore(self, entries: Iterable[int]) -> None:
        """Explore everything that can be reached from entries; an entry is its own first node."""
        for entry in entries:
            self._enter(entry)
        while self._todo:
            entry, node = self._todo.popleft()
            way = self._step(node)
            if isinstance(way, Call):
                self._call(entry, way)
            elif isinstance(way, Leave):
                self._leave(entry, way.exit)
            else:
                for successor in way:
                    self._visit(entry, successor)

    def _enter(self, entry: int) -> None:
        if entry not in self.reached:
            self.reached[entry], self.exits[entry], self._callers[entry] = set(), {}, []
            self._visit(entry, entry)

    def _visit(self, entry: int, node: int) -> None:
        seen = self.reached[entry]
        if node not in seen:
            seen.add(node)
            self._todo.append((entry, node))

    def _call(self, entry: int, call: Call) -> None:
        self._enter(call.entry)
        self._callers[call.entry].append((entry, call))
        for leaving in list(self.exits[call.entry]):
            self._visit(entry, call.behind(leaving))

    def _leave(self, entry: int, leaving: int) -> None:
        if leaving not in self.exits[entry]:
            self.exits[entry][leaving] = None
            for caller, call in self._callers[entry]:
                self._visit(caller, call.behind(leaving))
