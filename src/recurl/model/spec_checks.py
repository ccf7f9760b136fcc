"""The rules that names, components, boxes and vertices of a specification must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recurl.model.names import is_name, is_text
from recurl.model.report import shown

if TYPE_CHECKING:
    from recurl.model.report import KeyPath, Report
    from recurl.model.scope import Scope
    from recurl.model.spec import ComponentSpec, ModelSpec

_NAME_FIX = "use printable characters, no dots, no blanks at the ends, at most 250 in all"
TEXT_FIX = "use printable characters, no blanks at the ends, at most 250 in all"


def check_model(spec: ModelSpec, report: Report) -> None:
    """Check what can be checked before vertices are numbered."""
    if not is_text(spec.name):
        report.add(("name",), f"{shown(spec.name)} is not a name for a model", TEXT_FIX)
    for index, name in enumerate(spec.feature_names):
        if not is_text(name):
            report.add(("feature_names", index), f"{shown(name)} is not a name", TEXT_FIX)
    if not spec.components:
        report.add(("components",), "there is no component", "add one")
    for name, component in spec.components.items():
        path = ("components", name)
        _check_names(report, ("components",), [name], "component")
        _check_component(report, path, component)
        _check_boxes(report, path, component, spec)


def _check_component(report: Report, path: KeyPath, component: ComponentSpec) -> None:
    if not component.entries:
        report.add((*path, "entries"), "there is no entry", "name at least one")
    if not component.exits:
        report.add((*path, "exits"), "there is no exit", "name at least one")
    nodes = [*component.entries, *component.exits]
    _check_names(report, path, [*nodes, *component.boxes], "node or box")
    known = {*nodes, *component.boxes}
    inner = [name for name in component.vertices if "." not in name and name not in known]
    _check_names(report, (*path, "vertices"), inner, "node")


def _check_names(report: Report, path: KeyPath, names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            report.add((*path, name), "the name is used twice", "choose another")
        elif not is_name(name):
            report.add((*path, name), f"{shown(name)} is not a name for a {what}", _NAME_FIX)
        seen.add(name)


def _check_boxes(report: Report, path: KeyPath, component: ComponentSpec, spec: ModelSpec) -> None:
    for box, callee in component.boxes.items():
        if callee not in spec.components:
            known = f"known components: {', '.join(list(spec.components)[:20])}"
            fix = report.hint(callee, spec.components, known)
            message = f"calls the unknown component {shown(callee)}"
            report.add((*path, "boxes", box), message, fix)


def check_vertices(scope: Scope, path: KeyPath, report: Report) -> None:
    """Check that actions stand at nodes and return ports, and that all of these have some."""
    for name, actions in scope.spec.vertices.items():
        if name in scope.spec.boxes:
            fix = f"put them at its return ports, such as {name}.EXIT"
            report.add((*path, name), "is a box, which has no actions of its own", fix)
        elif name in scope.states or scope.may_name(name):
            continue
        elif name in scope.targets:
            if actions:
                fix = "it moves on by itself: put the actions at the entry of what it calls"
                report.add((*path, name), "is a call port and has actions", fix)
        else:
            fix = report.hint(name, scope.states, "name a node, or a return port as BOX.EXIT")
            report.add((*path, name), "unknown vertex", fix)
    exits = set(scope.spec.exits)
    for name in scope.states:
        actions = scope.spec.vertices.get(name, {})
        if name in exits and actions:
            fix = "an exit moves on by itself: remove them"
            report.add((*path, name), "is an exit and has actions", fix)
        elif name not in exits and not actions:
            report.add((*path, name), "has no action", "add one")


def explain_target(scope: Scope, where: KeyPath, target: str, report: Report) -> None:
    """Say why a transition cannot lead where it should."""
    spec = scope.spec
    if scope.may_name(target):
        return
    if target in spec.entries:
        report.add(where, "is an entry, which only a call leads to", "lead to another node")
    elif target in spec.boxes:
        ports = [name for name in scope.targets if name.startswith(f"{target}.")]
        report.add(where, "calls a component with several entries", f"name one as {ports[0]}")
    elif target in scope.states:
        fix = "lead to a node, or to a call port BOX.ENTRY"
        report.add(where, "is a return port, which only a return leads to", fix)
    else:
        fix = report.hint(target, scope.targets, "add it")
        report.add(where, "unknown node or call port", fix)
