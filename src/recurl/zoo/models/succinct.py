"""A hierarchy whose value is exponential in its size."""

from __future__ import annotations

from typing import Any

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.zoo.values import at_least


def vertices(n: int, sink: bool = False, **others: Any) -> float:
    """About how many vertices the model has."""
    return n * (n + 2) if sink else 6 * n


def succinct(n: int = 10, *, sink: bool = False) -> RMDP:
    """A hierarchy of n components in which one action must be taken 2ⁿ times or so.

    M1 pays 1 for action ``a`` and ends. Mi calls M(i-1) twice and then pays 1, all by action ``a``.
    Everywhere action ``b`` goes straight to the exit with reward 0. The value is **2ⁿ - 1**, while
    vertices are linear in n: 6n - 4.

    With a sink, every action counts: Mi calls M(i-1), M(i-2) and so on down to M1, action ``a``
    pays 1 and goes on, action ``b`` leads to a sink, which is never left and pays nothing. The
    value is **2ⁿ - 1** again, by exactly 2ⁿ - 1 actions ``a``, and any other sequence of actions
    is worth less.

    Args:
        n: Number of components, at least 1.
        sink: Whether action ``b`` leads to a sink in place of the exit.

    Example:
        >>> succinct(3)
        <RMDP succinct: 3 components, 14 vertices, 1-exit, deterministic, hierarchical>
    """
    at_least("n", n, 1)
    if sink:
        return _with_sink(n)
    builder = Builder("succinct").component("M1", entries="in", exits="out")
    builder.at("in").action("a", reward=1).to("out").action("b").to("out")
    for i in range(2, n + 1):
        builder.component(f"M{i}", entries="in", exits="out")
        builder.box("first", f"M{i - 1}").box("second", f"M{i - 1}")
        builder.at("in").action("a").to("first").action("b").to("out")
        builder.at("first.out").action("a").to("second").action("b").to("out")
        builder.at("second.out").action("a", reward=1).to("out").action("b").to("out")
    return builder.build(f"M{n}")


def _with_sink(n: int) -> RMDP:
    builder = Builder("succinct")
    for i in range(1, n + 1):
        builder.component(f"M{i}", entries="in", exits="out")
        place = "in"
        for j in range(i - 1, 0, -1):
            builder.box(f"call{j}", f"M{j}")
            builder.at(place).action("a", reward=1).to(f"call{j}").action("b").to("sink")
            place = f"call{j}.out"
        builder.at(place).action("a", reward=1).to("out").action("b").to("sink")
        builder.at("sink").action("stay").to("sink")
    return builder.build(f"M{n}")
