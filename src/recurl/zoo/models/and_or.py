"""Random and/or trees, evaluated left to right."""

from __future__ import annotations

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP


def and_or() -> RMDP:
    """A random tree of alternating `and` and `or`, read with short-circuit evaluation.

    An ``and`` is a true leaf with 1/4, a false leaf with 1/4, else the conjunction of two ``or``
    trees, the second of which is read only if the first is true. An ``or`` is the dual. Exits say
    the truth value. ``main`` reads an ``and`` and pays 1 if it is false; that probability x solves
    x = 3/4 - x²/2, so the value is **√10/2 - 1** = 0.5811. There is nothing to decide.

    Example:
        >>> and_or()
        <RMDP and_or: 3 components, 23 vertices, multi-exit, recursive>
    """
    builder = Builder("and_or")
    builder.component("main", entries="in", exits="out").box("tree", "and")
    builder.at("in").action("read").to("tree")
    builder.at("tree.true").action("end").to("out")
    builder.at("tree.false").action("end", reward=1).to("out")
    _tree(builder, "and", parts="or", decisive="false")
    _tree(builder, "or", parts="and", decisive="true")
    return builder.build("main")


def _tree(builder: Builder, name: str, parts: str, decisive: str) -> None:
    """A tree of two parts, of which one with the decisive value decides."""
    builder.component(name, entries="in", exits=["true", "false"])
    builder.box("left", parts).box("right", parts)
    builder.at("in").action("read").to("true", "1/4").to("false", "1/4").to("left", "1/2")
    for value in ("true", "false"):
        after_left = value if value == decisive else "right"
        builder.at(f"left.{value}").action("next").to(after_left)
        builder.at(f"right.{value}").action("up").to(value)
