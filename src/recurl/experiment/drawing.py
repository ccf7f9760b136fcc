"""What the picture of a component shows: entries, exits, boxes and nodes, as data."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from recurl.model.tables import CALL, EXIT, RETURN

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

DRAWN = {"entries": 12, "exits": 20, "boxes": 12, "nodes": 18}
"""How many of each are drawn at most."""


class Spot(NamedTuple):
    """Where a vertex is drawn.

    Attributes:
        part: ``"entries"``, ``"exits"``, ``"nodes"`` or ``"boxes"``.
        name: Its name, or that of its box.
        side: At a box, ``"call"`` or ``"return"``.
    """

    part: str
    name: str
    side: str = ""


def spot(model: RMDP, vertex: int) -> Spot:
    """Where a vertex is drawn in the picture of its component.

    Example:
        >>> import recurl
        >>> cloud = recurl.zoo.cloud()
        >>> spot(cloud, cloud.find("S.b4.u6"))
        Spot(part='boxes', name='b4', side='return')
    """
    t = model.tables
    kind, component = int(t.vertex_kind[vertex]), int(t.vertex_component[vertex])
    if kind in (CALL, RETURN):
        box = model.names.boxes[t.vertex_box[vertex]]
        return Spot("boxes", box, "call" if kind == CALL else "return")
    if kind == EXIT:
        return Spot("exits", model.local_name(vertex))
    is_entry = vertex < t.component_start[component] + t.n_entries[component]
    return Spot("entries" if is_entry else "nodes", model.local_name(vertex))


def component_data(model: RMDP, name: str, touched: Container[tuple[str, str]]) -> dict[str, Any]:
    """The picture of a component, in which an episode touches some parts and names.

    Of the inner nodes only those touched are drawn; of anything else all, or where there are more
    than `DRAWN`, only what is touched. ``more`` says how many are left out.
    """
    t, c = model.tables, model.names.find_component(name)
    boxes = [b for b in range(t.n_boxes) if t.box_owner[b] == c]
    calls = {model.names.boxes[b]: model.names.components[t.box_component[b]] for b in boxes}
    parts: dict[str, list[str]] = {"entries": [], "exits": [], "nodes": [], "boxes": list(calls)}
    for vertex in range(int(t.component_start[c]), int(t.component_start[c + 1])):
        here = spot(model, vertex)
        if here.part in ("entries", "exits") or (here.part == "nodes" and here[:2] in touched):
            parts[here.part].append(here.name)
    drawn = {
        part: _some(names, [(part, one) in touched for one in names], DRAWN[part])
        for part, names in parts.items()
    }
    return {
        **drawn,
        "boxes": [{"name": box, "calls": calls[box]} for box in drawn["boxes"]],
        "more": {part: len(names) - len(drawn[part]) for part, names in parts.items()},
    }


def _some(names: Sequence[str], wanted: Sequence[bool], most: int) -> list[str]:
    """All names if they are not too many, else the wanted ones, or at least the first few."""
    if len(names) <= most:
        return list(names)
    chosen = [name for name, is_wanted in zip(names, wanted, strict=True) if is_wanted]
    return (chosen or list(names[: most // 4]))[:most]
