"""The cloud computing model of the paper."""

from __future__ import annotations

from typing import Literal

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP

STEP_LIMIT = 200
"""Steps after which an episode is cut, as in the published runs; the paper's text has no limit."""


def cloud(exits: Literal[1, 2] = 2) -> RMDP:
    """A task runs as a monolith, or in three parts on servers that may fail and retry.

    - Task T: ``mono`` costs 8; ``divide`` costs 0.5, calls server S three times and then pays 0.5
      to ``combine``.
    - Server S: ``reliable`` costs 1.5 and with 0.3 calls the handler H, which earns back 0.2;
      ``fast`` costs 1 and with 0.4 calls S again.
    - Handler H says whether to upgrade: ``no`` costs 0.01 and with 0.3 calls H twice, unless the
      first call says yes; ``yes`` costs 0.2. Exit u6 means no, u7 means yes.

    Best without a stack is to divide, to be reliable and never to upgrade. H then costs h with
    h = 0.01 + 0.6 h, so 1/40; S earns -1.5 + 0.3 (0.2 - h) = -1.4475; and T earns 3 S - 1 =
    **-5.3425**, the optimum of the 1-exit form. With both exits, saying yes where many handlers
    wait saves a call of each, and the optimum is a little more: -5.34248536.

    Args:
        exits: Exits of H: 2, or 1 to leave out u7, ``yes`` and the edges into u7.

    Example:
        >>> cloud()
        <RMDP cloud: 3 components, 24 vertices, multi-exit, recursive>
        >>> cloud(exits=1)
        <RMDP cloud: 3 components, 20 vertices, 1-exit, recursive>
    """
    if exits not in (1, 2):
        raise ValueError(f"exits must be 1 or 2, not {exits!r}")
    builder = Builder("cloud")
    _task(builder)
    _server(builder, upgrade=exits == 2)
    _handler(builder, upgrade=exits == 2)
    return builder.build("T")


def _task(builder: Builder) -> None:
    builder.component("T", entries="u1", exits="u2").box("b1", "S").box("b2", "S").box("b3", "S")
    builder.at("u1").action("mono", reward=-8).to("u2").action("divide", reward=-0.5).to("b1")
    builder.at("b1.u4").action("next").to("b2").at("b2.u4").action("next").to("b3")
    builder.at("b3.u4").action("combine", reward=-0.5).to("u2")


def _server(builder: Builder, upgrade: bool) -> None:
    builder.component("S", entries="u3", exits="u4").box("b4", "H").box("b5", "S")
    builder.at("u3").action("reliable", reward=-1.5).to("b4", 0.3).to("u4", 0.7)
    builder.action("fast", reward=-1).to("b5", 0.4).to("u4", 0.6)
    builder.at("b4.u6").action("up", reward=0.2).to("u4")
    if upgrade:
        builder.at("b4.u7").action("up", reward=0.2).to("u4")
    builder.at("b5.u4").action("up").to("u4")


def _handler(builder: Builder, upgrade: bool) -> None:
    exits = ["u6", "u7"] if upgrade else ["u6"]
    builder.component("H", entries="u5", exits=exits).box("b6", "H").box("b7", "H")
    builder.at("u5").action("no", reward=-0.01).to("b6", 0.3).to("u6", 0.7)
    if upgrade:
        builder.action("yes", reward=-0.2).to("u7")
    builder.at("b6.u6").action("next").to("b7")
    builder.at("b7.u6").action("up").to("u6")
    if upgrade:
        builder.at("b6.u7").action("up").to("u7").at("b7.u7").action("up").to("u7")
