"""The report of the suite: one HTML page that compares agents and replays them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import RecurlError
from recurl.experiment.figure import COLOURS, LIGHT, MARKERS, Surface, styled
from recurl.experiment.record import Record
from recurl.experiment.replay import replay_data, trace_data
from recurl.experiment.report import (
    failures_html,
    filled,
    machines,
    page_parts,
    picture_html,
    script_json,
)
from recurl.model.files import write_atomic
from recurl.simulation.trace import Trace
from recurl.suite.score import (
    ALL,
    ScoreRow,
    agent_labels,
    final_score,
    markdown,
    rows_json,
    score_curve,
    score_rows,
    setting_cells,
)
from recurl.suite.tasks import FAMILIES, Setting, find_setting
from recurl.suite.views import EPISODE_LIMIT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD = 0.9
"""A score below this is listed among the failures of an agent."""
LISTED = 12
"""Failures of an agent that are listed at most."""


def write_report(records: Sequence[Record], out: str | os.PathLike[str]) -> list[Path]:
    """Write table (Markdown, JSON) and report (HTML) of runs to the folder that they are in.

    Returns:
        The files, the report last.
    """
    folder, rows = Path(out), score_rows(records)
    texts = {
        "table.md": markdown(rows),
        "table.json": rows_json(rows),
        "report.html": report_html(records, folder),
    }
    for name, text in texts.items():
        write_atomic(folder / name, text)
    return [folder / name for name in texts]


def report_html(records: Sequence[Record], folder: Path) -> str:
    """The page about some runs, whose policies are in a folder."""
    rows = score_rows(records)
    own = files("recurl.suite") / "data"
    parts = {
        **page_parts(),
        "OWN_STYLE": (own / "suite.css").read_text(encoding="utf-8"),
        "SUMMARY": escape(_summary(records)),
        "BARS": "".join(_bars(rows, name) for name in (*FAMILIES, ALL)),
        "BARS_NOTE": escape(BARS_NOTE),
        "FIGURES": "".join(_curves(records, family) for family in FAMILIES),
        "FAILS": "".join(_fails(rows, agent) for agent in agent_labels(records)),
        "TABLE": _table(rows),
        "FAILURES": failures_html(records),
        "MACHINE": "<br>".join(map(escape, machines(records))),
        "DATA": script_json({"replays": _replays(records, folder)}),
    }
    return filled((own / "suite.html").read_text(encoding="utf-8"), parts)


BARS_NOTE = (
    "Bars: score of the final policy, 0 for the uniform policy and 1 for the certified optimum, "
    "mean over the tasks of a family, interquartile mean over seeds. Black lines: 95 % bootstrap "
    "intervals. Dotted: the best stackless policies that are known."
)


def _summary(records: Sequence[Record]) -> str:
    settings = len({one.experiment for one in records})
    seeds = len({one.seed for one in records})
    failed = sum(one.failed for one in records)
    ran = f"{len(records)} runs: {len(agent_labels(records))} agents, {settings} tasks"
    return f"{ran}, up to {seeds} seeds each" + (f"; failed: {failed}." if failed else ".")


def _stackless(settings: Sequence[Setting]) -> float:
    """Mean score of the best stackless policies of some settings."""
    return float(np.mean([one.known.stackless_score for one in settings]))


def _bars(rows: Sequence[ScoreRow], name: str) -> str:
    """The bars of a family, or of all."""
    agents = list(dict.fromkeys(row.agent for row in rows))
    found = {row.agent: row for row in rows if row.scope != "setting" and row.name == name}
    if not found:
        return ""
    inside = {row.name for row in rows if row.scope == "setting"}
    ran = [s for s in map(find_setting, sorted(inside)) if name in (ALL, s.task.family)]
    dotted = _percent(_stackless(ran))
    lines = "".join(
        f'<div class="bar"><span>{escape(row.label)}</span><span class="track">'
        f'<i style="width: {_percent(row.score.value)}; background: {_colour(agents, agent)}"></i>'
        f'<b style="left: {_percent(row.score.low)}; '
        f'width: {_percent(row.score.high - row.score.low)}"></b>'
        f'<u style="left: {dotted}"></u></span>'
        f'<span class="number">{row.score.value:.3f}</span></div>'
        for agent, row in found.items()
    )
    about = FAMILIES.get(name, "all families")
    kind = ' class="all"' if name == ALL else ""
    title = "In all" if name == ALL else name.capitalize()
    tasks = "1 task" if len(ran) == 1 else f"{len(ran)} tasks"
    return (
        f'<section{kind}><h3>{title}</h3><p class="note">{escape(about)}; {tasks}</p>'
        f"{lines}</section>"
    )


def _percent(share: float) -> str:
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"


def _colour(agents: Sequence[str], agent: str) -> str:
    return COLOURS[agents.index(agent) % len(COLOURS)]


def _curves(records: Sequence[Record], family: str) -> str:
    """The learning curves of a family, as a picture."""
    own = [
        one
        for one in records
        if find_setting(one.experiment).task.family == family and not one.failed
    ]
    if not own:
        return ""
    words = f"Learning curves of the family {family}: {', '.join(agent_labels(own).values())}"
    agents = list(agent_labels(records))
    return picture_html(lambda surface: draw_curves(own, family, agents, surface), words)


def draw_curves(
    records: Sequence[Record], family: str, agents: Sequence[str], surface: Surface = LIGHT
) -> Figure:
    """The mean score over tasks and seeds against the share of the budget, for each agent."""
    from matplotlib.figure import Figure

    with styled(surface):
        figure = Figure(figsize=(4.4, 3.4), layout="constrained")
        axes = figure.subplots()
        for agent, label in agent_labels(records).items():
            _draw_agent(axes, [r for r in records if r.method == agent], label, agents.index(agent))
        best = _stackless([find_setting(name) for name in {one.experiment for one in records}])
        axes.axhline(best, color=surface.ink, linestyle=(0, (1, 1.5)), linewidth=1.3)
        axes.set(title=family, xlabel="share of the budget", xlim=(0, 1), ylim=(-0.03, 1.05))
        axes.set_ylabel("score")
        axes.grid(alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8, frameon=False
        )
        return figure


def _draw_agent(axes: Axes, records: Sequence[Record], label: str, place: int) -> None:
    seeds = sorted({one.seed for one in records})
    lines = np.array(
        [np.mean([score_curve(r) for r in records if r.seed == seed], axis=0) for seed in seeds]
    )
    steps = records[0].column("steps")
    style: Any = {"color": COLOURS[place % len(COLOURS)], "zorder": 4 - 0.1 * place}
    low, high = np.percentile(lines, [10, 90], axis=0)
    axes.fill_between(steps / steps[-1], low, high, alpha=0.16, linewidth=0, **style)
    axes.plot(
        steps / steps[-1],
        lines.mean(axis=0),
        linewidth=1.4 + 0.2 * place,
        marker=MARKERS[place % len(MARKERS)],
        markersize=4,
        label=label,
        **style,
    )


def _fails(rows: Sequence[ScoreRow], agent: str) -> str:
    """The settings that an agent does badly in, with what its score compares to."""
    own = [row for row in rows if row.agent == agent and row.scope == "setting"]
    bad = sorted((row for row in own if row.score.value < GOOD), key=lambda row: row.score.value)
    items = "".join(f"<li>{escape(_failure(row))}</li>" for row in bad[:LISTED])
    more = f"<li>and {len(bad) - LISTED} more</li>" if len(bad) > LISTED else ""
    good = f"<p>{len(own) - len(bad)} of {len(own)} tasks with a score of {GOOD} or more.</p>"
    return f"<section><h4>{escape(own[0].label)}</h4>{good}<ul>{items}{more}</ul></section>"


def _failure(row: ScoreRow) -> str:
    known = find_setting(row.name).known
    score, flat = row.score.value, known.stackless_score
    if row.failed:
        why = f"{row.failed} of {row.seeds} runs failed"
    elif score <= 0.01:
        why = "no better than the uniform policy"
    elif score <= flat + 0.01 and flat < GOOD:
        why = f"no better than a policy without a stack ({flat:.2f})"
    elif row.score.high - row.score.low > 0.3:
        why = f"differs between seeds, {row.score.low:.2f} to {row.score.high:.2f}"
    else:
        why = "not learned to the end"
    return f"{row.name}: {score:.2f}, {why}"


def _table(rows: Sequence[ScoreRow]) -> str:
    """All settings, family by family, with the scores of all agents."""
    names, lines = setting_cells(rows)
    labels = {row.agent: row.label for row in rows}
    heads = [labels.get(name, name) for name in names]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    groups = ""
    for family in FAMILIES:
        inside = [line for line in lines if find_setting(line[0]).task.family == family]
        body = "".join(
            "<tr>"
            + "".join(
                f'<td data-head="{escape(name)}">{escape(text)}</td>'
                for name, text in zip(heads, line, strict=True)
            )
            + "</tr>"
            for line in inside
        )
        title = f'<tr class="group"><th colspan="{len(heads)}">{escape(family)}</th></tr>'
        groups += f"<tbody>{title}{body}</tbody>" if inside else ""
    return f'<table id="results"><thead><tr>{head}</tr></thead>{groups}</table>'


def _replays(records: Sequence[Record], folder: Path) -> list[dict[str, Any]]:
    """An episode of every agent, on the setting that tells them apart best."""
    shown = [one for one in records if one.episode or _policy_path(folder, one).is_file()]
    if not shown:
        return []
    name = max(
        dict.fromkeys(one.experiment for one in shown),
        key=lambda name: _spread([one for one in shown if one.experiment == name]),
    )
    found = []
    for agent in agent_labels(shown):
        own = [one for one in shown if (one.method, one.experiment) == (agent, name)]
        own = own or [one for one in shown if one.method == agent]
        found += _replay(folder, sorted(own, key=final_score)[len(own) // 2])
    return found


def _spread(records: Sequence[Record]) -> tuple[int, float]:
    """How many agents there are, and how much their scores differ."""
    groups: dict[str, list[float]] = {}
    for one in records:
        groups.setdefault(one.method, []).append(final_score(one))
    means = [float(np.mean(scores)) for scores in groups.values()]
    return len(groups), float(np.std(means))


def _policy_path(folder: Path, record: Record) -> Path:
    return folder / record.experiment / "runs" / f"{record.method}-{record.seed}.policy"


def _replay(folder: Path, record: Record) -> list[dict[str, Any]]:
    """An episode of a run; none if its policy cannot be read."""
    from recurl.policy import Policy

    model = find_setting(record.experiment).model()
    try:
        if record.episode:
            ended = len(record.episode) < EPISODE_LIMIT
            data = trace_data(Trace(model, tuple(record.episode)), ended=ended)
        else:
            data = replay_data(Policy.load(_policy_path(folder, record), model))
    except (RecurlError, OSError):
        return []
    assert record.exact is not None
    name = f"{record.label}: {record.experiment}"
    run = f"{record.label} on {record.experiment}, seed {record.seed}"
    return [{**data, "name": name, "run": run, "exact": record.exact.value}]
