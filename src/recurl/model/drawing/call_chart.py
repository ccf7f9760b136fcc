"""The chart of calls: which component calls which."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recurl.model.drawing.chart import Arrow, Chart, Mark

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


def call_chart(model: RMDP, most: int) -> Chart:
    """Components as marks, calls as arrows; of many components those nearest to the start."""
    t, boxes = model.tables, boxes_by_callee(model)
    order, seen = [int(t.start_component)], {int(t.start_component)}
    for caller in order:  # grows while it is iterated
        new = [callee for callee in boxes.get(caller, {}) if callee not in seen]
        order += new
        seen.update(new)
    order += [c for c in range(t.n_components) if c not in seen] if t.n_components <= most else []
    number = {component: i for i, component in enumerate(order[:most])}
    arrows = tuple(
        Arrow(number[caller], number[callee], label=f"{count} boxes" if count > 1 else "")
        for caller in number
        for callee, count in boxes.get(caller, {}).items()
        if callee in number
    )
    left = t.n_components - len(number)
    note = f"{len(number)} of {t.n_components} components" if left else ""
    return Chart("calls", "Calls", tuple(_mark(model, c) for c in number), arrows, note)


def _mark(model: RMDP, component: int) -> Mark:
    t, name = model.tables, model.names.components[component]
    size, exits = len(t.vertices_of(component)), int(t.n_exits[component])
    note = f"{size} vertices, {exits} exit{'s' if exits != 1 else ''}"
    return Mark("component", name, f"component {name}", note, bold=component == t.start_component)


def boxes_by_callee(model: RMDP) -> dict[int, Counter[int]]:
    """Callees of each component in the order of its boxes, each with its number of boxes."""
    calls: dict[int, Counter[int]] = {}
    pairs = zip(model.tables.box_owner.tolist(), model.tables.box_component.tolist(), strict=True)
    for owner, callee in pairs:
        calls.setdefault(owner, Counter())[callee] += 1
    return calls
