"""The smallest recursion."""

from __future__ import annotations

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between


def countdown(p: Number = 0.05) -> RMDP:
    """Stop with probability p, else recurse and then count 1.

    The value x = (1 - p) (x + 1) is the expected depth of the recursion, **1/p - 1**: 19 for
    p = 1/20.

    Args:
        p: Probability to stop, in (0, 1).

    Example:
        >>> countdown(p=0.25)
        <RMDP countdown: 1 component, 4 vertices, 1-exit, recursive>
    """
    p = between("p", p, 0, 1)
    return (
        Builder("countdown")
        .component("A", entries="in", exits="out").box("again", "A")
        .at("in").action("flip").to("out", p).to("again", 1 - p)
        .at("again.out").action("count", reward=1).to("out")
        .build()
    )  # fmt: skip
