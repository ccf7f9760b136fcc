"""``recurl describe``: a model, readable in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from recurl.cli.check import extents, size_line, start_line, summary
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.output import AsJson, counted, facts, print_json, show, table
from recurl.model.drawing.call_chart import boxes_by_callee
from recurl.model.numbers import short_number

if TYPE_CHECKING:
    from rich.tree import Tree

    from recurl.model.rmdp import RMDP


EXAMPLES = """\
  recurl describe cloud
  recurl describe cloud exits=1 --component H
  recurl describe model.yaml --all | less
  recurl describe cloud --draw cloud.svg
"""


class Limits(NamedTuple):
    """How much of a large model is shown; None for all.

    Attributes:
        components: Components.
        calls: Lines of the call graph.
        actions: Actions of a component.
        targets: Targets of an action.
        names: Names in a list.
    """

    components: int | None = None
    calls: int | None = None
    actions: int | None = None
    targets: int | None = None
    names: int | None = None


SHORT = Limits(components=6, calls=40, actions=16, targets=6, names=10)
FULL = Limits()


def describe(
    model: ModelName,
    parameters: Parameters = None,
    *,
    component: Annotated[str | None, typer.Option(help="Show this component only.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Abbreviate nothing.")] = False,
    draw: Annotated[
        Path | None,
        typer.Option(help="Draw the model into this file: .svg, .html, .mmd, .md or .dot."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show a model in full.

    First its call graph as a tree, then its components with their actions. Large models are
    abbreviated unless --all is given. With --draw it is drawn into a file instead.
    """
    from recurl.progress import Progress

    found = read_model(model, parameters)
    with Progress(f"describing {found.name}"):
        known = summary(found)
    if draw is not None:
        with Progress(f"drawing {found.name}"):
            found.draw(component=component).save(draw)
        show(f"Drawn into {draw}")
        return
    wanted = range(found.tables.n_components)
    if component is not None:
        wanted = wanted[found.names.find_component(component) :][:1]
    if json:
        parts = {found.names.components[c]: component_data(found, c) for c in wanted}
        print_json({"model": found.name, **known, "parts": parts})
        return
    if component is None:
        _print_head(found, FULL if everything else SHORT)
    _print_components(found, wanted, FULL if everything else SHORT)


def _print_head(model: RMDP, limits: Limits) -> None:
    rows = [
        (model.name, str(model.kind)),
        ("size", size_line(model)),
        ("start", start_line(model)),
        *extents(model),
    ]
    show(facts(rows), "", call_tree(model, limits.calls), "")


def _print_components(model: RMDP, wanted: range, limits: Limits) -> None:
    shown = wanted[: limits.components]
    for component in shown:
        print_component(model, component, limits)
    if len(shown) < len(wanted):
        more = counted(len(wanted) - len(shown), "more component")
        show(f"... and {more} (one with --component NAME, all with --all)")


def print_component(model: RMDP, component: int, limits: Limits) -> None:
    """Print entries, exits, boxes, and a row for every action."""
    rows = list(islice(_rows(model, component, limits), limits.actions))
    t = model.tables
    left = sum(len(t.actions_of(v)) for v in t.vertices_of(component)) - len(rows)
    show(
        facts([(model.names.components[component], _ports(model, component, limits))]),
        "",
        table("vertex", "action", "reward", "leads to", rows=rows, numbers=["reward"]),
        f"... and {counted(left, 'more action')} (all with --all)\n" if left else "",
    )


def component_data(model: RMDP, component: int) -> dict[str, Any]:
    """Everything about a component, for machines."""
    name, t = model.local_name, model.tables
    return {
        "entries": [name(v) for v in t.entries_of(component)],
        "exits": [name(v) for v in t.exits_of(component)],
        "boxes": dict(_boxes(model, component)),
        "vertices": {
            name(v): {model.action_name(a): _action_data(model, a) for a in t.actions_of(v)}
            for v in t.vertices_of(component)
            if t.actions_of(v)
        },
    }


def _action_data(model: RMDP, action: int) -> list[dict[str, Any]]:
    t = model.tables
    return [
        {
            "to": model.local_name(int(t.target[i])),
            "prob": float(t.prob[i]),
            "reward": float(t.reward[i]),
        }
        for i in t.transitions_of(action)
    ]


def _ports(model: RMDP, component: int, limits: Limits) -> str:
    """Entries, exits and boxes in words."""
    name, t = model.local_name, model.tables
    called: dict[str, list[str]] = {}
    for box, callee in _boxes(model, component):
        called.setdefault(callee, []).append(box)
    boxes = [f"{listed(names, limits.names)} -> {callee}" for callee, names in called.items()]
    parts = [
        "entries " + listed([name(v) for v in t.entries_of(component)], limits.names),
        "exits " + listed([name(v) for v in t.exits_of(component)], limits.names),
        "boxes " + listed(boxes, limits.names, "; ") if boxes else "",
    ]
    return "\n".join(part for part in parts if part)


def listed(names: Sequence[str], longest: int | None, between: str = ", ") -> str:
    """Names in a row, the last ones only counted.

    Example:
        >>> listed(["u1", "u2", "u3"], 2)
        'u1, u2 and 1 more'
    """
    shown = between.join(names[:longest])
    more = len(names) - len(names[:longest])
    return f"{shown} and {more} more" if more else shown


def _rows(model: RMDP, component: int, limits: Limits) -> Iterator[tuple[str, str, str, str]]:
    for vertex in model.tables.vertices_of(component):
        name = model.local_name(vertex)
        for action in model.tables.actions_of(vertex):
            reward, targets = _outcomes(model, action)
            yield name, model.action_name(action), reward, listed(targets, limits.targets)
            name = ""


def _outcomes(model: RMDP, action: int) -> tuple[str, list[str]]:
    """The reward of an action, if all its transitions pay the same, and where they lead."""
    exact, target = model.exact, model.tables.target
    transitions = model.tables.transitions_of(action)
    same = len({exact.reward(i) for i in transitions}) == 1
    targets = []
    for i in transitions:
        chance = f"{short_number(exact.prob(i))} " if len(transitions) > 1 else ""
        paid = "" if same else f" ({short_number(exact.reward(i), '+')})"
        targets.append(f"{chance}{model.local_name(int(target[i]))}{paid}")
    return short_number(exact.reward(transitions[0])) if same else "", targets


def _boxes(model: RMDP, component: int) -> list[tuple[str, str]]:
    """Names of the boxes and of the components that they call."""
    t, names = model.tables, model.names
    called = ((b, int(t.box_component[b])) for b in t.boxes_of(component))
    return [(names.boxes[b], names.components[c]) for b, c in called]


def call_tree(model: RMDP, longest: int | None = None) -> Tree:
    """The call graph as a tree, from the start component on.

    A component is unfolded once. ``(recursive)`` marks a call of a component that is being
    unfolded, that is a way back to itself; ``(above)`` one that was unfolded before. ``S x3``
    stands for three boxes that call S.
    """
    from rich.text import Text
    from rich.tree import Tree

    start = int(model.tables.start_component)
    tree = Tree(Text(model.names.components[start]))
    branches = {0: tree}
    for line, (depth, text) in enumerate(_lines(model, start)):
        if line == longest:
            tree.add("... and more (all with --all)")
            break
        branches[depth] = branches[depth - 1].add(Text(text))
    return tree


def _lines(model: RMDP, start: int) -> Iterator[tuple[int, str]]:
    """Depth and text of every call below the start, depth first and without recursion."""
    calls, names = boxes_by_callee(model), model.names.components
    path, unfolded = [start], {start}
    pending = [iter(calls.get(start, {}).items())]
    while pending:
        callee, boxes = next(pending[-1], (None, 0))
        if callee is None:
            pending.pop()
            path.pop()
            continue
        note = " (recursive)" if callee in path else " (above)" if callee in unfolded else ""
        count = f" x{boxes}" if boxes > 1 else ""
        yield len(pending), f"{names[callee]}{count}{note if note and calls.get(callee) else ''}"
        if not note:
            path.append(callee)
            unfolded.add(callee)
            pending.append(iter(calls.get(callee, {}).items()))
