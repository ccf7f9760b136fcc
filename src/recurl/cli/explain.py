"""``recurl explain``: what a learned policy does where, how often, and how sure it is."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recurl.cli import runs
from recurl.cli.choices import explanation, explanation_data
from recurl.cli.numbers import count
from recurl.cli.output import AsJson, UsageError, counted, print_json, show, table

if TYPE_CHECKING:
    from rich.table import Table

    from recurl.learn.deep.learner import DeepLearner
    from recurl.learn.explain import ContextReport
    from recurl.learn.tabular import TabularLearner

EXAMPLES = """\
  recurl explain runs/cloud
  recurl explain runs/cloud H.u5
  recurl explain runs/cloud --seed 3 --contexts 10
"""


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder made by `recurl learn`.")],
    vertices: Annotated[
        list[str] | None,
        typer.Argument(metavar="VERTEX", help="Vertices to explain; if none, all with a choice."),
    ] = None,
    *,
    seed: Annotated[int | None, count("Which run; the first one if not given.", least=0)] = None,
    contexts: Annotated[int, count("Most contexts to show per component.")] = 3,
    json: AsJson = False,
) -> None:
    """Show what a run learned to do, and how surely.

    The greedy policy as rules on the stack, and how often a run gets there. If no vertex is named,
    of tables also, for every vertex visited: the action, its margin over the next best, the visits.
    """
    learner = _pick(runs.learners(folder), seed)
    policy, named = learner.policy(), vertices or []
    reports = [] if named else _reports(learner, contexts)
    if json:
        data = {"rules": explanation_data(policy, named)}
        print_json({**data, "contexts": [dataclasses.asdict(one) for one in reports]})
        return
    show(f"{policy!r}"[1:-1] + ".", *explanation(policy, named), "")
    for one in reports:
        show(_heading(one), _table(one), *_note(one), "")


def _reports(learner: TabularLearner | DeepLearner, contexts: int) -> list[ContextReport]:
    """Reports on the contexts of a table; networks have none."""
    from recurl.learn.engine import ModelEngine
    from recurl.learn.explain import explain as report

    engine = learner.engine
    return report(engine, contexts) if isinstance(engine, ModelEngine) else []


def _pick(
    learners: list[TabularLearner | DeepLearner], seed: int | None
) -> TabularLearner | DeepLearner:
    if seed is None:
        return learners[0]
    for learner in learners:
        if learner.settings.seed == seed:
            return learner
    known = ", ".join(str(learner.settings.seed) for learner in learners)
    raise UsageError(f"no run has seed {seed}; there are {known}")


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


def _note(one: ContextReport) -> list[str]:
    """Where the rounding of exit values may decide."""
    if not one.undecided:
        return []
    return [
        "Where exits are worth one step of rounding more or less, something else is best at "
        f"{', '.join(one.undecided)}: a smaller quantum or a larger grain tells more apart."
    ]


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
    heads = ("at", "does", "learned worth", "better by", "visits")
    return table(*heads, rows=rows, numbers=heads[2:])
