"""Scores: one number per setting, per family and in all, of every agent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recurl.errors import CheckpointError
from recurl.experiment.record import Record, read_record
from recurl.experiment.statistics import bootstrap, interquartile_mean
from recurl.model.text_tables import markdown_table
from recurl.suite.tasks import FAMILIES, Setting, find_setting, settings

ALL = "all"


class ScoreEstimate(NamedTuple):
    """An interquartile mean over seeds, with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        inside = f"{self.low:.3f}, {self.high:.3f}"
        return f"{self.value:.3f}" if self.low == self.high else f"{self.value:.3f} [{inside}]"


class ScoreRow(NamedTuple):
    """The scores of an agent on one setting, on a family or on all.

    Attributes:
        agent: Name of the agent.
        label: Its name in tables.
        scope: ``"setting"``, ``"family"`` or ``"all"``.
        name: Name of the setting or family.
        score: Score of the final policy.
        area: Mean height of the curve of scores over the budget.
        seeds: Runs that it is made from.
        settings: Settings that it is made from.
        failed: Runs that failed; they score 0.
        values: Values of the final policies, of a setting.
        exact: Whether all values were computed and none sampled.
    """

    agent: str
    label: str
    scope: str
    name: str
    score: ScoreEstimate
    area: ScoreEstimate
    seeds: int
    settings: int
    failed: int
    values: tuple[float | None, ...] = ()
    exact: bool = True

    def data(self) -> dict[str, Any]:
        """The row for JSON."""
        return {**self._asdict(), "score": self.score._asdict(), "area": self.area._asdict()}


def read_records(out: str | os.PathLike[str]) -> list[Record]:
    """All records of the suite in a folder, in the order of settings, agents and seeds.

    Raises:
        CheckpointError: There are none, or one is damaged.
    """
    found = [
        read_record(path)
        for setting in settings()
        for path in sorted((Path(out) / setting.name / "runs").glob("*.json"))
    ]
    if not found:
        raise CheckpointError(
            f"{out} holds no runs of the suite: make some with `recurl suite run`"
        )
    order = {name: i for i, name in enumerate(agent_labels(found))}
    place = {setting.name: i for i, setting in enumerate(settings())}
    return sorted(found, key=lambda one: (place[one.experiment], order[one.method], one.seed))


def agent_labels(records: Iterable[Record]) -> dict[str, str]:
    """The agents of records with their labels, the ready ones first, in their order."""
    from recurl.suite.agents import ready_agents

    labels = {one.method: one.label for one in records}
    ready = list(ready_agents())
    order = sorted(labels, key=lambda name: (ready.index(name) if name in ready else 999, name))
    return {name: labels[name] for name in order}


def score_curve(record: Record) -> np.ndarray:
    """The scores of a run at its points; 0 throughout if it failed."""
    known = find_setting(record.experiment).known
    return np.array([0.0 if np.isnan(x) else known.score(x) for x in record.column("value")])


def final_score(record: Record) -> float:
    """The score of the final policy of a run; 0 if it failed."""
    scores = score_curve(record)
    return float(scores[-1]) if len(scores) else 0.0


def area(record: Record) -> float:
    """The mean height of the curve of scores over the budget of a run; 0 if it failed.

    Example:
        >>> curve = {"steps": [0, 100], "value": [0.0, 0.48]}
        >>> round(area(Record(experiment="words-small", method="", label="", seed=0, config={},
        ...                   curve=curve)), 6)
        0.5
    """
    scores, steps = score_curve(record), record.column("steps")
    if len(scores) < 2:
        return 0.0
    return float(np.trapezoid(scores, steps) / (steps[-1] - steps[0]))


def score_estimate(values: Sequence[float]) -> ScoreEstimate:
    """The interquartile mean of one number per seed, with its bootstrap interval.

    Example:
        >>> print(score_estimate([0.5]), score_estimate([1.0, 1.0]))
        0.500 1.000
    """
    return ScoreEstimate(float(interquartile_mean(values)), *bootstrap(values))


def score_rows(records: Sequence[Record]) -> list[ScoreRow]:
    """The scores of all agents: by setting, by family and in all.

    The number of a seed on a family is the mean over the settings that were run with it.
    """
    rows: list[ScoreRow] = []
    for agent in agent_labels(records):
        own = [one for one in records if one.method == agent]
        names = list(dict.fromkeys(one.experiment for one in own))
        rows += [
            _row(agent, "setting", name, [one for one in own if one.experiment == name])
            for name in names
        ]
        for family in FAMILIES:
            part = [one for one in own if find_setting(one.experiment).task.family == family]
            if part:
                rows.append(_row(agent, "family", family, part))
        rows.append(_row(agent, ALL, ALL, own))
    return rows


def _row(agent: str, scope: str, name: str, records: Sequence[Record]) -> ScoreRow:
    seeds = sorted({one.seed for one in records})
    by_seed = [[one for one in records if one.seed == seed] for seed in seeds]
    scores = [float(np.mean([final_score(one) for one in group])) for group in by_seed]
    areas = [float(np.mean([area(one) for one in group])) for group in by_seed]
    return ScoreRow(
        agent,
        records[0].label,
        scope,
        name,
        score=score_estimate(scores),
        area=score_estimate(areas),
        seeds=len(seeds),
        settings=len({one.experiment for one in records}),
        failed=sum(one.failed for one in records),
        values=tuple(_value(one) for one in records) if scope == "setting" else (),
        exact=all(one.exact is None or not one.exact.note for one in records),
    )


def _value(record: Record) -> float | None:
    return None if record.exact is None else record.exact.value


def summary_cells(rows: Sequence[ScoreRow]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines of the table of families, agent by agent."""
    lines = [
        [row.agent, row.name, str(row.settings), str(row.seeds), str(row.score), str(row.area)]
        for row in rows
        if row.scope != "setting"
    ]
    return ["agent", "family", "tasks", "seeds", "score [95 %]", "area [95 %]"], lines


def setting_cells(rows: Sequence[ScoreRow]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines of the table of settings: settings down, agents across."""
    agents = list(dict.fromkeys(row.agent for row in rows))
    heads = ["setting", "optimum", "stackless", *agents]
    own = {(row.agent, row.name): row for row in rows if row.scope == "setting"}
    lines = []
    for setting in settings():
        if any((agent, setting.name) in own for agent in agents):
            cells = [_setting_cell(own.get((agent, setting.name))) for agent in agents]
            lines.append([setting.name, *_known_cells(setting), *cells])
    return heads, lines


def _known_cells(setting: Setting) -> list[str]:
    known = setting.known
    mark = "" if known.stackless_is == "exact" else "≥ "
    return [f"{sum(known.optimum) / 2:.5g}", f"{mark}{known.stackless_score:.3f}"]


def _setting_cell(row: ScoreRow | None) -> str:
    if row is None:
        return "-"
    failed = f", {row.failed} failed" if row.failed else ""
    sampled = "" if row.exact else ", sampled"
    return f"{row.score.value:.3f} ({row.area.value:.3f}{sampled}{failed})"


def markdown(rows: Sequence[ScoreRow]) -> str:
    """Both tables as Markdown."""
    names = ("agent", "family", "setting")
    tables = [
        markdown_table(heads, lines, numbers=[head for head in heads if head not in names])
        for heads, lines in (summary_cells(rows), setting_cells(rows))
    ]
    return "\n\n".join(tables) + "\n"


def rows_json(rows: Sequence[ScoreRow]) -> str:
    """All rows as JSON."""
    return json.dumps([row.data() for row in rows], indent=1) + "\n"
