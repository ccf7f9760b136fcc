"""The report: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recurl.errors import RecurlError
from recurl.experiment.figure import (
    DARK,
    LIGHT,
    POINTS,
    Surface,
    draw_figure,
    figure_url,
    published_part,
    save_figure,
)
from recurl.experiment.paper import SOURCE
from recurl.experiment.record import Record
from recurl.experiment.replay import replay_data, where
from recurl.experiment.statistics import band
from recurl.experiment.study import Optimum, Study
from recurl.experiment.table import (
    HEADS,
    MISSING,
    Row,
    cells,
    comparison,
    markdown,
    readable_number,
    table_rows,
)
from recurl.model.cells import Cells
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recurl.policy import Policy


NOTES = (
    "Final value: mean of the last tenth of a run's tests, then over runs, ± half the width of its "
    "95 % interval; it is sampled, and may lie above the optimum. IQM: interquartile mean "
    "over runs, with its 95 % bootstrap interval. Exact value: of the final greedy policy, by "
    "computation and not by sampling, mean over runs; in brackets how many of them fall short of "
    "the optimum by no more than 0.001 % of it (or of 1, if it is smaller). Distance: optimum less "
    "mean exact value. "
    "Steps to 5 % and 1 % of the optimum: median over runs of where ten tests in a row first have "
    "a mean that near. Beside the published mean: at each published test, ours is better or worse "
    "where the 95 % bootstrap interval of our mean excludes the published one, alike otherwise; of "
    "twenty tests that are equal in truth, about one is not alike by chance. What differs from the "
    "paper is listed in docs/explanation/the_paper.md."
)


MOST_RULES = 30
"""Rules of a policy that are stated; of the others only the number."""


class Shown(NamedTuple):
    """The run of a study that is described in words and replayed."""

    study: Study
    record: Record
    policy: Policy

    @property
    def run(self) -> str:
        """Which run it is."""
        return f"{self.record.label}, seed {self.record.seed}"


def report_html(studies: Sequence[Study]) -> str:
    """The report on some studies."""
    shown = [_shown(study) for study in studies]
    records = [record for study in studies for record in study.records]
    parts = {
        **page_parts(),
        "TITLE": escape(", ".join(map(title_of, studies))),
        "SUMMARY": escape(_summary(studies)),
        "COMPARISON": escape(_comparison(studies)),
        "FIGURES": "".join(map(_figure, studies)),
        "CAPTION": escape(_caption(studies)),
        "TABLE": table_html(studies),
        "NOTES": escape(NOTES),
        "POLICIES": "".join(map(_policy, studies, shown)),
        "FAILURES": failures_html(records),
        "MACHINE": "<br>".join(map(escape, machines(records))),
        "DATA": script_json({"replays": [_replay(one) for one in shown if isinstance(one, Shown)]}),
    }
    return filled(_data("report.html"), parts)


def page_parts() -> dict[str, str]:
    """Parts of every page with a replay: its style, its script and the replay itself."""
    replay = _data("replay.css")
    return {
        "REPLAY_STYLE": replay,
        "STYLE": replay + _data("report.css"),
        "SCRIPT": _data("replay.js"),
        "REPLAY": _data("replay.html"),
    }


def filled(page: str, parts: Mapping[str, str]) -> str:
    """A page with its parts in place of their names."""
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page


def _data(name: str) -> str:
    return (files("recurl.experiment") / "data" / name).read_text(encoding="utf-8")


def _figure(study: Study) -> str:
    """The curves of a study, for light and for dark surroundings."""
    labels = [method.label or method.name for method in study.experiment.methods]
    words = f"Learning curves of {title_of(study)}: {', '.join(labels)}"
    return picture_html(lambda surface: draw_figure([study], surface), words)


def picture_html(draw: Callable[[Surface], Figure], words: str) -> str:
    """A figure for light and for dark surroundings, with words for those who cannot see it."""
    light, dark = (figure_url(draw(surface)) for surface in (LIGHT, DARK))
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img class="curves" alt="{escape(words)}" src="{light}"></picture>'
    )


def script_json(data: Any) -> str:
    """JSON that cannot end the script element that it is in."""
    return json.dumps(data).replace("<", "\\u003c")


def _summary(studies: Sequence[Study]) -> str:
    records = [record for study in studies for record in study.records]
    failed = sum(record.failed for record in records)
    missing = sum(study.missing for study in studies)
    parts = [f"Runs that this page is made from: {len(records)}"]
    parts += [f"failed: {failed}"] if failed else []
    parts += [f"not finished: {missing}"] if missing else []
    return "; ".join(parts) + "."


def _comparison(studies: Sequence[Study]) -> str:
    """Where our curves differ from the published ones; nothing where none was published."""
    lines = [
        f"{title_of(study)}, {method.label or method.name}: {found.words}."
        for study in studies
        for method in study.experiment.methods
        if (found := comparison(study, method)) is not None
    ]
    return " ".join(["Beside the published curves:", *lines]) if lines else ""


def _caption(studies: Sequence[Study]) -> str:
    """The parts that the figures show, of all that they may show."""
    groups = [study.of_method(m.name) for study in studies for m in study.experiment.methods]
    longest = max((len(band(group).steps) for group in groups), default=0)
    coincide = any(len(study.experiment.methods) > 1 for study in studies)
    parts = {
        "Lines: mean over runs of tests of the greedy policy, which are samples.": longest > 0,
        "A point is the mean of a few tests in a row.": longest > POINTS,
        "Shades: 10th to 90th percentile over runs.": any(len(group) > 1 for group in groups),
        "Where lines coincide, the wider one lies below.": coincide,
        "Dotted: certified optimum.": any(study.optimum.value is not None for study in studies),
        f"Dashed, with hatched 10th to 90th percentile: published ({SOURCE}).": any(
            published_part(study, m) is not None
            for study in studies
            for m in study.experiment.methods
        ),
    }
    return " ".join(text for text, there in parts.items() if there)


def _shown(study: Study) -> Shown | str:
    """The run with the best final policy, of a method that knows contexts; or why there is none."""
    records = [one for one in study.records if one.exact and one.exact.value is not None]
    aware = [one for one in records if one.config["algorithm"] in ("rql", "deep-rql")]
    best = sorted(aware or records, key=lambda one: -_value(one))
    if not best:
        return "No run has a final policy of finite value."
    try:
        return Shown(study, best[0], study.policy(best[0]))
    except (RecurlError, OSError) as error:
        return f"The policy of the best run cannot be read: {error}"


def _value(record: Record) -> float:
    assert record.exact is not None
    assert record.exact.value is not None
    return record.exact.value


def _replay(one: Shown) -> dict[str, Any]:
    found = replay_data(one.policy)
    return {**found, "name": title_of(one.study), "run": one.run, "exact": _value(one.record)}


def _policy(study: Study, one: Shown | str) -> str:
    head = f"<h3>{escape(title_of(study))}</h3>"
    if isinstance(one, str):
        return f"{head}<p>{escape(one)}</p>"
    run = f"The best final policy: {one.run}, worth {_value(one.record):.7g}."
    groups = "".join(
        f"<section><h4>{escape(component if not lines else f'In {component}')}</h4><ul>"
        + "".join(f"<li>{escape(line)}</li>" for line in lines)
        + "</ul></section>"
        for component, lines in rules_by_component(one.policy).items()
    )
    return f'{head}<p>{escape(run)}</p><div class="words">{groups or "There is no choice."}</div>'


def rules_by_component(policy: Policy, most: int = MOST_RULES) -> dict[str, list[str]]:
    """The rules of a policy by component, those that runs come to most often first.

    Args:
        policy: The policy.
        most: How many rules; a last entry counts the others.

    Example:
        >>> import recurl
        >>> rules_by_component(recurl.solve(recurl.zoo.cloud(exits=1)).policy)
        {'S': ['at u3: reliable'], 'T': ['at u1: divide']}
    """
    model, visits = policy.model, policy.visits
    grid = Cells.of(model)
    often: dict[tuple[str, str], float] = {}
    for rule in policy.rules.all():
        vertex = model.find(rule.vertex)
        component = model.names.components[model.tables.vertex_component[vertex]]
        key = component, f"{where(model, grid, vertex)}: {rule.text}"
        places = [place for clause in rule.clauses for place in clause.places]
        often[key] = often.get(key, 0.0) + visits.at(places).mean
    chosen = sorted(often, key=lambda key: -often[key])
    lines: dict[str, list[str]] = {}
    for component, line in chosen[:most]:
        lines.setdefault(component, []).append(line)
    if len(chosen) > most:
        lines[f"and {len(chosen) - most} more rules"] = []
    return lines


def failures_html(records: Iterable[Record]) -> str:
    """The runs that failed, with their tracebacks; nothing if there are none."""
    failed = [one for one in records if one.failed]
    items = "".join(
        f"<h3>{escape(one.experiment)} {escape(one.method)}, seed {one.seed}</h3>"
        f"<pre>{escape(one.error)}</pre>"
        for one in failed
    )
    return f"<h2>Runs that failed</h2>{items}" if failed else ""


def machines(records: Iterable[Record]) -> list[str]:
    """Every machine and set of versions that records name."""
    found = {
        ", ".join([_machine(one), *(f"{name} {v}" for name, v in one.versions.items())])
        for one in records
    }
    return sorted(found)


def _machine(record: Record) -> str:
    m = record.machine
    return f"{m['processor']}, {m['cores']} cores, {m['system']}" if m else "machine not recorded"


ABOVE = ("experiment", "optimum")
"""Columns that hold for a whole group."""


def shown_columns(rows: Iterable[Row], without: Sequence[str] = ABOVE) -> list[int]:
    """Columns that have something to say of some row."""
    lines = [cells(row) for row in rows]
    there = [i for i, name in enumerate(HEADS) if name not in without]
    return [i for i in there if any(line[i] != MISSING for line in lines)]


def table_html(studies: Sequence[Study]) -> str:
    """The table: a group of rows per study, a row per method, the cells of `table_text`."""
    columns = shown_columns(table_rows(studies))
    head = "".join(f"<th>{escape(HEADS[i])}</th>" for i in columns)
    groups = "".join(_group(study, columns) for study in studies)
    return f'<table id="results"><thead><tr>{head}</tr></thead>{groups}</table>'


def _group(study: Study, columns: Sequence[int]) -> str:
    rows = "".join(
        f'<tr data-method="{escape(row.experiment)}/{escape(row.method)}">'
        + "".join(_cell(i, cells(row)[i]) for i in columns)
        + "</tr>"
        for row in table_rows([study])
    )
    return (
        f'<tbody><tr class="group"><th colspan="{len(columns)}">{escape(title_of(study))} '
        f"<span>{escape(_facts(study))}</span></th></tr>{rows}</tbody>"
    )


def title_of(study: Study) -> str:
    """Name of a study as the report shows it."""
    return study.experiment.title or study.experiment.name


def _facts(study: Study) -> str:
    """Facts that hold for all rows of a study."""
    steps = f"{study.experiment.steps:,} steps a run"
    return f"{study.model.kind}; {steps}; {optimum_words(study.optimum)}"


def optimum_words(optimum: Optimum) -> str:
    """The optimum in words.

    Example:
        >>> optimum_words(Optimum(-5.342486, -5.342485, "certified", ""))
        'certified optimum -5.342486 (within 5e-07)'
        >>> optimum_words(Optimum(None, None, "not known: not proper", ""))
        'optimum not known: not proper'
    """
    if optimum.value is None:
        return f"optimum {optimum.method}"
    assert optimum.lower is not None
    radius = optimum.value - optimum.lower
    return f"certified optimum {readable_number(optimum.value)} (within {radius:.1g})"


def _cell(column: int, text: str) -> str:
    """A cell; what stands in brackets goes below.

    On narrow screens, where the head of the table is not shown, a cell shows its own.
    """
    opening = f'<td data-head="{escape(HEADS[column])}">'
    for bracket in " [", " (":
        first, found, rest = text.partition(bracket)
        if found:
            return f"{opening}{escape(first)} <small>{escape(found.strip() + rest)}</small></td>"
    return f"{opening}{escape(text)}</td>"


def write_results(studies: Sequence[Study], out: str | os.PathLike[str]) -> list[Path]:
    """Write figure (PNG, PDF, SVG), table (Markdown, JSON) and report (HTML) to a folder.

    Returns:
        The files, the report last.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    figure, rows = draw_figure(studies), table_rows(studies)
    texts = {
        "table.md": markdown(rows),
        "table.json": json.dumps([row._asdict() for row in rows], indent=1) + "\n",
        "report.html": report_html(studies),
    }
    for name, text in texts.items():
        write_atomic(folder / name, text)
    return [*save_figure(figure, folder), *(folder / name for name in texts)]
