"""``recurl explain``: what a learned policy does where, and how sure it is."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recurl.cli import runs
from recurl.cli.numbers import count
from recurl.cli.output import AsJson, UsageError, counted, print_json, show, table

if TYPE_CHECKING:
    from rich.table import Table

    from recurl.learn.explain import ContextReport
    from recurl.learn.tabular import TabularLearner

EXAMPLES = """\
  recurl explain runs/cloud
  recurl explain runs/cloud --seed 3 --contexts 10
"""


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder made by `recurl learn`.")],
    *,
    seed: Annotated[int | None, count("Which run; the first one if not given.", least=0)] = None,
    contexts: Annotated[int, count("Most contexts to show per component.")] = 3,
    json: AsJson = False,
) -> None:
    """Show what a run learned to do, and how surely.

    For every vertex visited: the action, its margin over the next best, the visits.
    """
    from recurl.learn.engine import ModelEngine
    from recurl.learn.explain import explain as report

    learner = _pick(runs.learners(folder), seed)
    if not isinstance(learner.engine, ModelEngine):
        raise UsageError(f"{folder} holds networks: explain is for runs with tables")
    reports = report(learner.engine, contexts)
    if json:
        print_json([dataclasses.asdict(one) for one in reports])
        return
    for one in reports:
        show(_heading(one), _table(one), "")


def _pick(learners: list[TabularLearner], seed: int | None) -> TabularLearner:
    if seed is None:
        return learners[0]
    for learner in learners:
        if learner.settings.seed == seed:
            return learner
    known = ", ".join(str(learner.settings.seed) for learner in learners)
    raise UsageError(f"there is no run with seed {seed}; there are {known}")


def _heading(one: ContextReport) -> str:
    """The context in words: which exits are worth more than the worst, and by how much."""
    more = [f"{name} by {value:.6g}" for name, value in one.worth.items() if value > 0]
    worst = " and ".join(name for name, value in one.worth.items() if value == 0)
    where = f"In component {one.component}" if one.worth else "In any component, whatever the stack"
    if more:
        where += f", where it is better to leave through {', '.join(more)} than through {worst}"
    elif len(one.worth) > 1:
        where += ", where all exits are worth the same"
    return f"{where} (learned from {counted(one.visits, 'time')}):"


def _table(one: ContextReport) -> Table:
    rows = [
        (
            choice.vertex,
            choice.action,
            f"{choice.value:.6g}",
            "only choice" if math.isinf(choice.margin) else f"{choice.margin:.4g}",
            f"{choice.visits:,}",
        )
        for choice in one.choices
    ]
    heads = ("at", "does", "worth", "better by", "visits")
    return table(*heads, rows=rows, numbers=heads[2:])
