"""``recurl suite``: agents on tasks with certified optima."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli.engines import Checkpoints, On, Retries, Workers, end_if_failed
from recurl.cli.numbers import count, real
from recurl.cli.output import (
    AsJson,
    UsageError,
    print_json,
    screen_width,
    show,
    table,
    this_command,
)
from recurl.interrupts import farewell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recurl.suite.score import ScoreRow
    from recurl.suite.tasks import Setting

EXAMPLES = """\
  recurl suite list --sizes small
  recurl suite run rql q --sizes small --seeds 3
  recurl suite run my_agents:Sarsa --tasks cave,words --steps 0.1
  recurl suite table
  recurl suite report --out suite
"""

ACTIONS = ("list", "run", "table", "report")
SETTING_COLUMNS = 50
"""Width of the columns that all agents share: setting, optimum, stackless."""
HEADS = ("task", "vertices", "seen as", "reward", "horizon", "optimum", "stackless", "uniform")


def suite(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="list, run, table or report.")],
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="AGENT...", help="To run: names of agents, or module:Class."),
    ] = None,
    *,
    tasks: Annotated[str, typer.Option(help="Tasks or families, separated by commas.")] = "",
    sizes: Annotated[str, typer.Option(help="small, medium, large, separated by commas.")] = "",
    seeds: Annotated[int, count("Runs of each agent on each task.", most=100_000)] = 1,
    steps: Annotated[float, real("Factor of every budget of steps.", above=0, most=1000)] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; 'suite'.")] = None,
    on: On = "local",
    workers: Workers = None,
    checkpoints: Checkpoints = None,
    retries: Retries = 0,
    json: AsJson = False,
) -> None:
    """Compare agents on tasks whose optima are certified.

    `list` shows tasks and agents; `run` runs agents, and continues where it was stopped; `table`
    and `report` compare what was run. Scores are 0 for the uniform policy and 1 for the optimum.
    """
    from recurl.suite.tasks import settings

    if action not in ACTIONS:
        raise UsageError(f"unknown action {action!r}, expected one of {', '.join(ACTIONS)}")
    if bool(agents) != (action == "run"):
        what = "name at least one agent" if action == "run" else "only run takes names of agents"
        raise UsageError(f"{what}, as in `recurl suite run rql`")
    chosen = settings(_split(tasks), _split(sizes))
    # Apart, so that short runs do not replace long ones.
    folder = out or Path("suite" if steps == 1 else f"suite-{steps:g}")
    if action == "list":
        _list(chosen, json=json)
    elif action == "run":
        how = {"on": on, "workers": workers, "checkpoints": checkpoints, "retries": retries}
        _run(agents or [], chosen, folder, json=json, seeds=seeds, factor=steps, **how)
    else:
        _compare(folder, chosen, write=action == "report", json=json)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _list(chosen: Sequence[Setting], *, json: bool) -> None:
    import msgspec

    from recurl.suite.agents import ready_agents
    from recurl.suite.tasks import FAMILIES, STEPS

    agents = {name: method.label for name, method in ready_agents().items()}
    if json:
        data: list[dict[str, Any]] = [
            {
                **msgspec.to_builtins(one.task),
                "name": one.name,
                "size": one.size,
                "steps": one.steps,
                "known": msgspec.to_builtins(one.known),
            }
            for one in chosen
        ]
        print_json({"settings": data, "agents": agents})
        return
    for family in FAMILIES:
        rows = [_line(one) for one in chosen if one.task.family == family]
        if rows:
            show(f"{family}: {FAMILIES[family]}", table(*HEADS, rows=rows), "")
    budgets = ", ".join(f"{steps:,} ({size})" for size, steps in STEPS.items())
    show(f"Training steps: {budgets}", f"Agents: {', '.join(agents)}, or module:Class")


def _line(setting: Setting) -> list[str]:
    known, task = setting.known, setting.task
    mark = "" if known.stackless_is == "exact" else "≥ "
    return [
        setting.name,
        f"{known.vertices:,}",
        task.observation,
        task.reward,
        task.horizon,
        f"{sum(known.optimum) / 2:.6g}",
        f"{mark}{_short(known.stackless[0])}",
        f"{known.uniform[0]:.4g}",
    ]


def _short(number: float) -> str:
    """A number without the dust of rounding."""
    return f"{0.0 if abs(number) < 1e-200 else number:.5g}"


def _run(
    agents: Sequence[str],
    chosen: Sequence[Setting],
    out: Path,
    *,
    json: bool,
    **how: Any,
) -> None:
    """Run agents, and show the scores."""
    from recurl.experiment.progress import Display
    from recurl.suite.run import run_suite

    # An agent's module may be in the folder where the command is given.
    sys.path.insert(0, os.getcwd())
    stopped = f"Stopped. Finished runs are saved in {out}. Continue: {this_command()}"
    with farewell(lambda: stopped), Display(sampled=False) as watch:
        records = run_suite(agents, chosen, out, watch=watch, **how)
    _compare(out, chosen, write=False, json=json)
    end_if_failed(records)


def _compare(out: Path, chosen: Sequence[Setting], *, write: bool, json: bool) -> None:
    """Show the scores of what was run, and write the report if asked for."""
    from recurl.suite.score import read_records, score_rows, setting_cells, summary_cells

    names = {one.name for one in chosen}
    records = [one for one in read_records(out) if one.experiment in names]
    if not records:
        raise UsageError(f"{out} holds no runs of these tasks")
    rows = score_rows(records)
    files: list[Path] = []
    if write:
        from recurl.progress import Progress
        from recurl.suite.report import write_report

        with Progress("drawing and writing"):
            files = write_report(records, out)
    if json:
        print_json({"rows": [row.data() for row in rows], "files": [str(f) for f in files]})
        return
    for own in _side_by_side(rows):
        heads, lines = setting_cells(own)
        show(table(*heads, rows=lines), "")
    heads, lines = summary_cells(rows)
    show(table(*heads, rows=lines), "")
    show("Score (area under its curve); 0 is the uniform policy, 1 the certified optimum.")
    show(*([f"Report: {files[-1]}"] if files else []))


def _side_by_side(rows: list[ScoreRow]) -> list[list[ScoreRow]]:
    """The rows of as many agents at a time as fit beside each other."""
    room = screen_width() - SETTING_COLUMNS
    blocks: list[list[ScoreRow]] = []
    left = 0
    for agent in dict.fromkeys(row.agent for row in rows):
        wide = max(len(agent), len("0.000 (0.000)")) + 3
        if wide > left:
            blocks.append([])
            left = room
        blocks[-1] += [row for row in rows if row.agent == agent]
        left -= wide
    return blocks
