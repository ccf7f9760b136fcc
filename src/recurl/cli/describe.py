"""``recurl describe``: a model, readable in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recurl.cli.call_tree import call_tree
from recurl.cli.check import size_line, start_line, summary
from recurl.cli.component_view import Limits, component_data, print_component
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.output import AsJson, counted, facts, print_json, show

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

EXAMPLES = """\
  recurl describe cloud
  recurl describe cloud exits=1 --component H
  recurl describe model.yaml --all | less
  recurl describe cloud --draw cloud.svg
"""

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
        ("diameter", f"{model.diameter:g}"),
    ]
    show(facts(rows), "", call_tree(model, limits.calls), "")


def _print_components(model: RMDP, wanted: range, limits: Limits) -> None:
    shown = wanted[: limits.components]
    for component in shown:
        print_component(model, component, limits)
    if len(shown) < len(wanted):
        more = counted(len(wanted) - len(shown), "more component")
        show(f"... and {more} (one with --component NAME, all with --all)")
