"""A hierarchy whose value is exponential in its size."""

from __future__ import annotations

from typing import Any

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.zoo.values import at_least


def vertices(n: int, **others: Any) -> float:
    """About how many vertices the model has."""
    return 6 * n


def succinct(n: int = 10) -> RMDP:
    """A hierarchy of n components in which one action must be taken 2ⁿ times or so.

    M1 pays 1 for action ``a`` and ends. Mi calls M(i-1) twice and then pays 1, all by action ``a``.
    Everywhere action ``b`` goes straight to the exit with reward 0. The value is **2ⁿ - 1**, while
    vertices are linear in n: 6n - 4.

    Args:
        n: Number of components, at least 1.

    Example:
        >>> succinct(3)
        <RMDP succinct: 3 components, 14 vertices, 1-exit, deterministic, hierarchical>
    """
    at_least("n", n, 1)
    builder = Builder("succinct").component("M1", entries="in", exits="out")
    builder.at("in").action("a", reward=1).to("out").action("b").to("out")
    for i in range(2, n + 1):
        builder.component(f"M{i}", entries="in", exits="out")
        builder.box("first", f"M{i - 1}").box("second", f"M{i - 1}")
        builder.at("in").action("a").to("first").action("b").to("out")
        builder.at("first.out").action("a").to("second").action("b").to("out")
        builder.at("second.out").action("a", reward=1).to("out").action("b").to("out")
    return builder.build(f"M{n}")
