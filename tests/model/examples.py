"""Small models by hand."""

from __future__ import annotations

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP


def server() -> RMDP:
    """One component that calls itself when it fails; two actions."""
    return (
        Builder("server")
        .component("S", entries="start", exits="done")
        .box("retry", "S")
        .at("start").action("fast", reward=-1).to("retry", 0.4).to("done", 0.6)
                    .action("safe", reward=-2).to("done")
        .at("retry.done").action("return").to("done")
        .build()
    )  # fmt: skip


def two_exits() -> Builder:
    """Two components: A asks B, which answers by one of two exits, and goes on accordingly."""
    return (
        Builder("two exits")
        .features("x", "y")
        .component("A", entries=["in", "other"], exits=["good", "bad"])
        .box("ask", "B").box("again", "A")
        .at("in", features=[1, 2], label="the first").action("go", reward=1).to("ask")
        .at("other").action("go").to("ask", "1/3").to("again.in", "2/3", reward=5)
        .at("ask.yes").action("end").to("good")
        .at("ask.no").action("end").to("bad").action("retry", reward="-1/7").to("again.other")
        .at("again.good").action("end").to("good")
        .at("again.bad").action("end").to("bad")
        .component("B", entries="in", exits=["yes", "no"])
        .at("in").action("think").to("mid", 0.5).to("mid", 0.5, reward=2)
        .at("mid").action("answer").to("yes", 0.25).to("no", 0.75)
    )  # fmt: skip
