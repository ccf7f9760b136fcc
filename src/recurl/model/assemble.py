"""From a specification to a model, with every problem of a wrong one, and back.

Names become vertex numbers, numbers become floats (and are kept as written); what does not fit is
noted with its place and a fix, and the rest is checked all the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.action_columns import ActionColumns
from recurl.model.names import Names
from recurl.model.numbers import ExactNumbers, NumberColumn
from recurl.model.report import Report
from recurl.model.rmdp import RMDP
from recurl.model.scope import Scope, lay_out
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec
from recurl.model.spec_checks import check_model, check_vertices
from recurl.model.tables import Layout, Tables

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
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
    names = dict.fromkeys(name.partition(".")[0] for name in spec.start)
    unknown = [name for name in names if name not in spec.components]
    for name in unknown:
        report.add(("start", name), "unknown component", _hint(spec, name, report))
    if not unknown and len(names) != 1:
        fix = "give entries of exactly one component"
        report.add(("start",), f"names {len(names)} components", fix)
    if unknown or len(names) != 1:
        return 0, []
    (component,) = names
    entries = [f"{component}.{entry}" for entry in spec.components[component].entries]
    for name in spec.start:
        if entries and name not in entries:
            fix = report.hint(name, entries, f"known entries: {', '.join(entries[:20])}")
            report.add(("start", name), "unknown entry", fix)
    row = _start_row([spec.start.get(entry, 0) for entry in entries], rows, report)
    return list(spec.components).index(component), row


def _hint(spec: ModelSpec, name: str, report: Report) -> str:
    """The component that is meant, or the full name of an entry."""
    for component, own in spec.components.items():
        if name in own.entries:
            return f"entries are written 'component.entry': '{component}.{name}'"
    known = f"known components: {', '.join(list(spec.components)[:20])}"
    return report.hint(name, spec.components, known)


def _start_row(given: list[Number], rows: ActionColumns, report: Report) -> list[str]:
    """The start as a distribution; entries may have probability 0, transitions may not."""
    values = [rows.read(number, ("start",), "probability") for number in given]
    texts = NumberColumn.read(given).texts
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
                    report.add(path, "unknown vertex", fix)
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
                report.add(path, "unknown vertex", fix)
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
        start_prob=NumberColumn.read(start).values,
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


def disassemble(model: RMDP) -> ModelSpec:
    """The specification of a model, with numbers as they were written.

    `assemble` makes an equal model of it.

    Example:
        >>> import recurl
        >>> model = (
        ...     recurl.Builder().component("A", entries="in", exits="out")
        ...     .at("in").action("go", reward="1/3").to("out").build()
        ... )
        >>> disassemble(model).components["A"].vertices
        {'in': {'go': ActionSpec(reward='1/3', edges=[EdgeSpec(target='out', prob='1', ...)])}}
    """
    parts = _Parts(model)
    t = model.tables
    first = int(t.component_start[t.start_component])
    return ModelSpec(
        name=model.name,
        start={model.vertex_name(v): model.exact.start_text(v - first) for v in t.starts.tolist()},
        components={name: parts.component(c) for c, name in enumerate(model.names.components)},
        feature_names=list(model.feature_names),
        binary=model.exact.binary,
    )


class _Parts:
    """The parts of a model by number; arrays are read as lists, for speed."""

    def __init__(self, model: RMDP) -> None:
        t = model.tables
        self.model, self.labels = model, model.labels
        self.action_start, self.target = t.action_start.tolist(), t.target.tolist()
        self.transition_start = t.transition_start.tolist()
        self.first_box = np.searchsorted(t.box_owner, np.arange(t.n_components + 1)).tolist()

    def component(self, c: int) -> ComponentSpec:
        t, nodes = self.model.tables, self.model.names.nodes
        block = t.vertices_of(c)
        names = {v: self.model.local_name(v) for v in block}
        targets = {**names, **self._short_calls(c)}
        entries, exits = int(t.n_entries[c]), int(t.n_exits[c])
        return ComponentSpec(
            entries=list(nodes[block.start : block.start + entries]),
            exits=list(nodes[block.start + entries : block.start + entries + exits]),
            boxes=self._boxes(c),
            vertices={
                names[v]: self._actions(v, targets)
                for v in block
                if self.action_start[v] < self.action_start[v + 1]
            },
            features=self._features(names),
            labels={name: self.labels[v] for v, name in names.items() if v in self.labels},
        )

    def _boxes(self, c: int) -> dict[str, str]:
        t, names = self.model.tables, self.model.names
        owned = range(self.first_box[c], self.first_box[c + 1])
        return {names.boxes[b]: names.components[int(t.box_component[b])] for b in owned}

    def _short_calls(self, c: int) -> dict[int, str]:
        """Call ports that a box's name is enough for: the component called has one entry."""
        t, names = self.model.tables, self.model.names
        owned = range(self.first_box[c], self.first_box[c + 1])
        single = [b for b in owned if t.n_entries[t.box_component[b]] == 1]
        return {int(t.box_call[b]): names.boxes[b] for b in single}

    def _features(self, names: dict[int, str]) -> dict[str, list[float]]:
        features = self.model.features
        if features is None:
            return {}
        return {name: features[v].tolist() for v, name in names.items() if features[v].any()}

    def _actions(self, vertex: int, targets: dict[int, str]) -> dict[str, ActionSpec]:
        names = self.model.names.actions
        block = range(self.action_start[vertex], self.action_start[vertex + 1])
        return {names[a]: self._action(a, targets) for a in block}

    def _action(self, action: int, targets: dict[int, str]) -> ActionSpec:
        """An action; rewards that all agree are the action's own."""
        exact = self.model.exact
        block = range(self.transition_start[action], self.transition_start[action + 1])
        rewards = [exact.reward_text(i) for i in block]
        edges = [EdgeSpec(targets[self.target[i]], exact.prob_text(i)) for i in block]
        if len(set(rewards)) == 1:
            return ActionSpec(rewards[0], edges)
        for edge, reward in zip(edges, rewards, strict=True):
            edge.reward = reward
        return ActionSpec(0, edges)
