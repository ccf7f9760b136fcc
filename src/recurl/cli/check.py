"""``recurl check``: is this a valid model, and of what kind?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.output import AsJson, complain, counted, facts, print_json, show
from recurl.errors import ModelError

if TYPE_CHECKING:
    from recurl.errors import Problem
    from recurl.model.rmdp import RMDP

EXAMPLES = """\
  recurl check cloud
  recurl check spelunking trap=0.9
  recurl check model.yaml --json
"""

SHOWN = 20


def check(model: ModelName, parameters: Parameters = None, json: AsJson = False) -> None:
    """Say whether a model is valid, and of what kind.

    Shows its kind, its sizes and what is odd about it, or else everything that is wrong. The exit
    code is 0 for a valid model, with or without warnings, and 1 for an invalid one.
    """
    from recurl.progress import Progress

    try:
        found = read_model(model, parameters)
    except ModelError as error:
        _refuse(model, error, json)
        raise typer.Exit(1) from None
    with Progress(f"checking {found.name}"):
        data = {**summary(found), **_warnings(found)} if json else {}
        lines = [] if json else _lines(found)
    if json:
        print_json({"model": found.name, "valid": True, **data})
    else:
        show(facts([(found.name, "valid"), *lines]))


def _refuse(name: str, error: ModelError, json: bool) -> None:
    if json:
        problems = [problem_data(problem) for problem in error.problems]
        print_json({"model": name, "valid": False, "problems": problems, "warnings": []})
    else:
        headline = str(error).partition("\n")[0]
        complain("\n".join([headline, *(f"  {problem}" for problem in error.problems)]))


def problem_data(problem: Problem) -> dict[str, Any]:
    """A problem as JSON."""
    return {
        "place": problem.place,
        "message": problem.message,
        "fix": problem.fix,
        "path": list(problem.path),
        "line": problem.line,
    }


def summary(model: RMDP) -> dict[str, Any]:
    """Kind, sizes, start, ways out and greatest reward of a model, for machines."""
    t, kind = model.tables, model.kind
    return {
        "kind": {
            "one_exit": kind.one_exit,
            "deterministic": kind.deterministic,
            "hierarchical": kind.hierarchical,
        },
        "components": t.n_components,
        "vertices": t.n_vertices,
        "boxes": t.n_boxes,
        "actions": t.n_actions,
        "transitions": t.n_transitions,
        "start": {model.vertex_name(v): float(p) for v, p in model.start_exact().items()},
        "longest_way_out": model.longest_way_out,
        "reward_diameter": model.reward_diameter,
    }


def extents(model: RMDP) -> list[tuple[str, str]]:
    """How far the exits are, and how great rewards get."""
    return [
        ("longest way out", f"{model.longest_way_out:g} steps"),
        ("reward diameter", f"{model.reward_diameter:g}"),
    ]


def size_line(model: RMDP) -> str:
    """The sizes of a model in words."""
    t = model.tables
    return ", ".join(
        [
            counted(t.n_components, "component"),
            counted(t.n_vertices, "vertex", "vertices"),
            counted(t.n_boxes, "box", "boxes"),
            counted(t.n_actions, "action"),
            counted(t.n_transitions, "transition"),
        ]
    )


def start_line(model: RMDP, shown: int = 6) -> str:
    """Where runs of a model start, in words."""
    starts = [
        name if p == 1 else f"{name} ({float(p):.4g})"
        for name, p in ((model.vertex_name(v), p) for v, p in model.start_exact().items())
    ]
    more = f", and {len(starts) - shown} more" if len(starts) > shown else ""
    return ", ".join(starts[:shown]) + more


def _warnings(model: RMDP) -> dict[str, Any]:
    return {"problems": [], "warnings": [problem_data(problem) for problem in model.warnings]}


def _lines(model: RMDP) -> list[tuple[str, str]]:
    notes = [str(problem) for problem in model.warnings[:SHOWN]]
    if len(model.warnings) > SHOWN:
        notes.append(f"... and {len(model.warnings) - SHOWN} more (all with --json)")
    return [
        ("kind", str(model.kind)),
        ("size", size_line(model)),
        ("start", start_line(model)),
        *extents(model),
        ("warnings", "\n".join(notes) or "none"),
    ]
