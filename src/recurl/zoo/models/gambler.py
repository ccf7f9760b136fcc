"""The classic branching walk."""

from __future__ import annotations

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between


def gambler(p: Number = 0.4) -> RMDP:
    """A walk that calls itself twice with probability p, else returns.

    It ends with probability min(1, (1 - p) / p), the least solution of x = (1 - p) + p x². Every
    step pays 1, so the value is the expected number of steps: n = 1 + p (2 n + 2), that is
    **(1 + 2p) / (1 - 2p)** for p < 1/2 (9 for p = 0.4), and infinite from 1/2 on.

    Args:
        p: Probability of the two calls, in (0, 1).

    Example:
        >>> gambler(p="1/3")
        <RMDP gambler: 1 component, 6 vertices, 1-exit, recursive>
    """
    p = between("p", p, 0, 1)
    return (
        Builder("gambler")
        .component("W", entries="in", exits="out").box("first", "W").box("second", "W")
        .at("in").action("bet", reward=1).to("first", p).to("out", 1 - p)
        .at("first.out").action("next", reward=1).to("second")
        .at("second.out").action("up", reward=1).to("out")
        .build()
    )  # fmt: skip
