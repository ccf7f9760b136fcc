"""A game that no stackless policy plays well."""

from __future__ import annotations

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP


def stack_matters() -> RMDP:
    """One component, two exits: the best choice depends on what the pending calls hope for.

    ``main`` calls the game G once and pays 0 for exit e0, 1 for exit e1 and 0 for the exit lane. At
    its entry G offers

    - ``even``: leave by e0 or e1 with 1/2 each;
    - ``hope0``: pay 0.02; with 0.1 leave by the lane; with 0.9 call G, and if that ends in e0 leave
      by e0, if in e1 call G again and leave as it does;
    - ``hope1``: the mirror image, with e0 and e1 exchanged.

    The value is **43/55** = 0.7818, while the best stackless policy gets 0.5.

    Example:
        >>> stack_matters()
        <RMDP stack_matters: 2 components, 26 vertices, multi-exit, recursive>
    """
    builder = Builder("stack_matters")
    builder.component("main", entries="in", exits="out").box("game", "G")
    builder.at("in").action("play").to("game")
    for end, reward in (("e0", 0), ("e1", 1), ("lane", 0)):
        builder.at(f"game.{end}").action("end", reward=reward).to("out")
    builder.component("G", entries="in", exits=["e0", "e1", "lane"])
    builder.at("in").action("even").to("e0", "1/2").to("e1", "1/2")
    _hope(builder, "0", wanted="e0", other="e1")
    _hope(builder, "1", wanted="e1", other="e0")
    return builder.build("main")


def _hope(builder: Builder, label: str, wanted: str, other: str) -> None:
    """Call G, and again if it does not end as wanted."""
    first, second = f"first{label}", f"second{label}"
    builder.box(first, "G").box(second, "G")
    builder.at("in").action(f"hope{label}", reward=-0.02).to(first, 0.9).to("lane", 0.1)
    builder.at(f"{first}.{wanted}").action("up").to(wanted)
    builder.at(f"{first}.{other}").action("retry").to(second)
    builder.at(f"{first}.lane").action("up").to("lane")
    for end in (wanted, other, "lane"):
        builder.at(f"{second}.{end}").action("up").to(end)
