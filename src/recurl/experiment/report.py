"""The report: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from recurl.experiment.published import SOURCE
from recurl.experiment.record import Record
from recurl.experiment.replay import replay_data
from recurl.experiment.study import Study
from recurl.experiment.table import table_rows
from recurl.experiment.table_text import HEADS, cells
from recurl.experiment.words import policy_words


def report_html(studies: Sequence[Study], figure_png: bytes) -> str:
    """The report on some studies, with their figure."""
    template = (files("recurl.experiment") / "data/report.html").read_text(encoding="utf-8")
    parts = {
        "TITLE": escape(", ".join(s.experiment.title or s.experiment.name for s in studies)),
        "FIGURE": base64.b64encode(figure_png).decode(),
        "TABLE": _table(studies),
        "POLICIES": "".join(_policy(study) for study in studies),
        "FAILURES": _failures(studies),
        "MACHINE": escape(_machine(studies)),
        "SOURCE": escape(SOURCE),
        "DATA": _script_json({"replays": [_replay(s) for s in studies if _shown(s)]}),
    }
    for name, text in parts.items():
        template = template.replace(f"<!--{name}-->", text)
    return template


def _script_json(data: Any) -> str:
    """JSON that cannot end the script element that it is in."""
    return json.dumps(data).replace("<", "\\u003c")


def _shown(study: Study) -> Record | None:
    """The run that is replayed: the best final policy, of a method that knows contexts."""
    records = [one for one in study.records if one.exact and one.exact.value is not None]
    aware = [one for one in records if one.config["algorithm"] in ("rql", "deep-rql")]
    best = sorted(aware or records, key=lambda one: -_value(one))
    return best[0] if best else None


def _value(record: Record) -> float:
    assert record.exact is not None
    assert record.exact.value is not None
    return record.exact.value


def _replay(study: Study) -> dict[str, Any]:
    record = _shown(study)
    assert record is not None
    found = replay_data(study.policy(record))
    return {
        **found,
        "name": study.experiment.title or study.experiment.name,
        "run": f"{record.label}, seed {record.seed}",
        "exact": _value(record),
    }


def _table(studies: Iterable[Study]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADS)
    lines = [
        f'<tr data-method="{escape(row.experiment)}/{escape(row.method)}">'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells(row))
        + "</tr>"
        for row in table_rows(studies)
    ]
    return f"<table id='results'><tr>{head}</tr>{''.join(lines)}</table>"


def _policy(study: Study) -> str:
    record, name = _shown(study), escape(study.experiment.title or study.experiment.name)
    if record is None:
        return f"<h3>{name}</h3><p>No run has a final policy of finite value.</p>"
    items = "".join(f"<li>{escape(line)}</li>" for line in policy_words(study.policy(record)))
    run = escape(f"{record.label}, seed {record.seed}, worth {_value(record):.6g}")
    return f"<h3>{name}</h3><p>{run}</p><ul>{items}</ul>"


def _failures(studies: Iterable[Study]) -> str:
    failed = [one for study in studies for one in study.records if one.failed]
    items = "".join(
        f"<h3>{escape(one.experiment)} {escape(one.method)}, seed {one.seed}</h3>"
        f"<pre>{escape(one.error)}</pre>"
        for one in failed
    )
    return f"<h2>Runs that failed</h2>{items}" if failed else ""


def _machine(studies: Iterable[Study]) -> str:
    """Every machine and set of versions that records name."""
    told = {
        ", ".join([*(f"{v}" for v in one.machine.values()), *_versions(one)])
        for study in studies
        for one in study.records
    }
    return "; ".join(sorted(told))


def _versions(record: Record) -> list[str]:
    return [f"{name} {version}" for name, version in record.versions.items()]
