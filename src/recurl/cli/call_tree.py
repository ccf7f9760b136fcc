"""The call graph of a model as a tree for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recurl.model.drawing.call_chart import boxes_by_callee

if TYPE_CHECKING:
    from rich.tree import Tree

    from recurl.model.rmdp import RMDP


def call_tree(model: RMDP, longest: int | None = None) -> Tree:
    """Who calls whom, from the start component on.

    A component is unfolded once. ``(recursive)`` marks a call of a component that is being
    unfolded, that is a way back to itself; ``(above)`` one that was unfolded before. ``S x3``
    stands for three boxes that call S.
    """
    from rich.text import Text
    from rich.tree import Tree

    start = int(model.tables.start_component)
    tree = Tree(Text(model.names.components[start]))
    branches = {0: tree}
    for line, (depth, text) in enumerate(_lines(model, start)):
        if line == longest:
            tree.add("... and more (all with --all)")
            break
        branches[depth] = branches[depth - 1].add(Text(text))
    return tree


def _lines(model: RMDP, start: int) -> Iterator[tuple[int, str]]:
    """Depth and text of every call below the start, depth first and without recursion."""
    calls, names = boxes_by_callee(model), model.names.components
    path, unfolded = [start], {start}
    pending = [iter(calls.get(start, {}).items())]
    while pending:
        callee, boxes = next(pending[-1], (None, 0))
        if callee is None:
            pending.pop()
            path.pop()
            continue
        note = " (recursive)" if callee in path else " (above)" if callee in unfolded else ""
        count = f" x{boxes}" if boxes > 1 else ""
        yield len(pending), f"{names[callee]}{count}{note if note and calls.get(callee) else ''}"
        if not note:
            path.append(callee)
            unfolded.add(callee)
            pending.append(iter(calls.get(callee, {}).items()))
