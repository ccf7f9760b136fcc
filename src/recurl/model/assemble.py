"""From a specification to a model, with every problem of a wrong one.

Names become vertex numbers, numbers become floats (and are kept as written); what does not fit is
noted with its place and a fix, and the rest is checked all the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.action_columns import ActionColumns
from recurl.model.names import Names
from recurl.model.numbers import Column, ExactNumbers
from recurl.model.report import Report
from recurl.model.rmdp import RMDP
from recurl.model.scope import Scope, lay_out
from recurl.model.spec_checks import check_model, check_vertices
from recurl.model.tables import Layout, Tables

if TYPE_CHECKING:
    from recurl.model.spec import ModelSpec, Number


def assemble(spec: ModelSpec, report: Report | None = None) -> RMDP:
    """The model that a specification describes.

    Args:
        spec: The specification.
        report: Problems that were found before, to be raised together with those found here.

    Raises:
        ModelError: With all problems at once, each naming its place and a fix.
    """
    report = report or Report(f"model {spec.name}: ")
    check_model(spec, report)
    layout, scopes = lay_out(spec)
    rows = ActionColumns(spec.binary, report)
    for name, scope in scopes.items():
        path = ("components", name, "vertices")
        check_vertices(scope, path, report)
        rows.add(scope, path)
    start_component, start = _start(spec, rows, report)
    features = _features(spec, scopes, layout, report)
    labels = _labels(scopes, report)
    report.raise_any()
    tables = _tables(layout, rows, start_component, start)
    return RMDP(
        spec.name,
        tables,
        _names(spec, scopes, rows, tables),
        exact=_exact(spec, rows, start, tables),
        features=features,
        feature_names=spec.feature_names,
        labels=labels,
        notes=rows.notes,
    )


def _start(spec: ModelSpec, rows: ActionColumns, report: Report) -> tuple[int, list[str]]:
    """The component in which runs start, and the probability of each of its entries."""
    if not spec.components:
        return 0, []
    names = {name.partition(".")[0] for name in spec.start}
    if len(names) != 1:
        fix = "give entries of exactly one component"
        report.add(("start",), f"names {len(names)} components", fix)
        return 0, []
    component = names.pop()
    if component not in spec.components:
        known = f"known components: {', '.join(list(spec.components)[:20])}"
        fix = report.hint(component, spec.components, known)
        report.add(("start", component), "there is no such component", fix)
        return 0, []
    entries = [f"{component}.{entry}" for entry in spec.components[component].entries]
    for name in spec.start:
        if entries and name not in entries:
            fix = report.hint(name, entries, f"known entries: {', '.join(entries[:20])}")
            report.add(("start", name), "there is no such entry", fix)
    row = _start_row([spec.start.get(entry, 0) for entry in entries], rows, report)
    return list(spec.components).index(component), row


def _start_row(given: list[Number], rows: ActionColumns, report: Report) -> list[str]:
    """The start as a distribution; entries may have probability 0, transitions may not."""
    values = [rows.read(number, ("start",), "probability") for number in given]
    texts = Column.read(given).texts
    if not values or any(map(math.isnan, values)):
        return texts
    if not 0 <= min(values) <= max(values) <= 1:
        report.add(("start",), "a probability is not in [0, 1]", "make them sum to 1")
        return texts
    likely = [index for index, value in enumerate(values) if value]
    settled = rows.settled([texts[index] for index in likely], ("start",))
    for index, text in zip(likely, settled, strict=True):
        texts[index] = text
    return texts


def _features(
    spec: ModelSpec, scopes: dict[str, Scope], layout: Layout, report: Report
) -> np.ndarray | None:
    width = len(spec.feature_names)
    features = np.zeros((layout.n_vertices, width))
    for component, scope in scopes.items():
        known = scope.vertices() if scope.spec.features else {}
        for name, row in scope.spec.features.items():
            path = ("components", component, "features", name)
            if name not in known:
                if not scope.may_name(name):
                    fix = report.hint(name, known, "remove it")
                    report.add(path, "there is no such vertex", fix)
            elif len(row) != width:
                fix = f"feature_names has {width}: give as many, in that order"
                report.add(path, f"has {len(row)} features", fix)
            elif not all(map(math.isfinite, row)):
                report.add(path, "has a feature that is not finite", "give finite numbers")
            else:
                features[known[name]] = row
    return features if width else None


def _labels(scopes: dict[str, Scope], report: Report) -> dict[int, str]:
    labels = {}
    for component, scope in scopes.items():
        known = scope.vertices() if scope.spec.labels else {}
        for name, text in scope.spec.labels.items():
            path = ("components", component, "labels", name)
            if name in known:
                labels[known[name]] = text
            elif not scope.may_name(name):
                fix = report.hint(name, known, "remove it")
                report.add(path, "there is no such vertex", fix)
            if any("\ud800" <= character <= "\udfff" for character in text):
                report.add(path, "has half a surrogate pair", "write the character itself")
    return labels


def _tables(layout: Layout, rows: ActionColumns, start_component: int, start: list[str]) -> Tables:
    return Tables.of(
        layout,
        action_start=np.cumsum([0, *rows.action_counts]),
        transition_start=np.cumsum([0, *rows.transition_counts]),
        target=rows.target,
        prob=rows.prob.values,
        reward=rows.reward.values,
        start_component=start_component,
        start_prob=Column.read(start).values,
    )


def _names(spec: ModelSpec, scopes: dict[str, Scope], rows: ActionColumns, tables: Tables) -> Names:
    nodes = [""] * tables.n_vertices
    for scope in scopes.values():
        nodes[scope.first : scope.first + len(scope.nodes)] = scope.nodes
    boxes = [box for component in spec.components.values() for box in component.boxes]
    return Names(list(spec.components), nodes, boxes, rows.action_names, tables=tables)


def _exact(spec: ModelSpec, rows: ActionColumns, start: list[str], tables: Tables) -> ExactNumbers:
    floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
    if spec.binary:
        return ExactNumbers(None, None, None, floats=floats)
    return ExactNumbers(start, rows.prob.texts, rows.reward.texts, floats=floats)
