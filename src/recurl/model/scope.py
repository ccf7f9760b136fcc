"""The scope of a component: the vertices and targets that its names stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recurl.model.tables import Layout

if TYPE_CHECKING:
    from recurl.model.spec import ComponentSpec, ModelSpec


@dataclass(slots=True)
class Scope:
    """The names of one component.

    Attributes:
        spec: The component.
        first: Its first vertex.
        last: One after its last vertex.
        nodes: Names of its nodes in the order of their numbers.
        states: Number of each node and return port by name; ascending.
        targets: Number of each vertex that transitions may lead to, by name: nodes other than
            entries, call ports, and boxes that have one call port.
        vague: Boxes whose ports are unknown because something is wrong with what they call.
        complete: Whether all nodes are known, which takes entries and exits.
    """

    spec: ComponentSpec
    first: int
    last: int
    nodes: list[str]
    states: dict[str, int] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)
    vague: set[str] = field(default_factory=set)
    complete: bool = True

    def vertices(self) -> dict[str, int]:
        """Number of every vertex by name, call ports included."""
        ports = {name: v for name, v in self.targets.items() if name not in self.spec.boxes}
        return {**self.states, **ports}

    def may_name(self, name: str) -> bool:
        """Whether an unknown name may be right once other problems are solved."""
        box, dot, _ = name.partition(".")
        return box in self.vague or not (dot or self.complete)


def lay_out(spec: ModelSpec) -> tuple[Layout, dict[str, Scope]]:
    """Number the vertices of a specification, and say what its names mean.

    A box that calls an unknown component is left out.
    """
    components = spec.components
    number = {name: c for c, name in enumerate(components)}
    boxes = [
        (c, number[callee])
        for c, component in enumerate(components.values())
        for callee in component.boxes.values()
        if callee in number
    ]
    inner = [_inner_nodes(component) for component in components.values()]
    layout = Layout.of(
        [len(component.entries) for component in components.values()],
        [len(component.exits) for component in components.values()],
        [len(nodes) for nodes in inner],
        box_owner=[owner for owner, _ in boxes],
        box_component=[callee for _, callee in boxes],
    )
    bounds = layout.component_start.tolist()
    scopes = {
        name: _scope_of_nodes(component, inner[c], bounds[c], bounds[c + 1])
        for c, (name, component) in enumerate(components.items())
    }
    _add_ports(spec, layout, scopes)
    return layout, scopes


def _inner_nodes(component: ComponentSpec) -> list[str]:
    """Nodes that are neither entries nor exits: they have actions and are not ports."""
    outer = {*component.entries, *component.exits}
    return [name for name in component.vertices if "." not in name and name not in outer]


def _scope_of_nodes(component: ComponentSpec, inner: list[str], first: int, last: int) -> Scope:
    nodes = [*component.entries, *component.exits, *inner]
    states = {name: first + i for i, name in enumerate(nodes)}
    targets = {name: states[name] for name in nodes[len(component.entries) :]}
    complete = bool(component.entries and component.exits)
    return Scope(component, first, last, nodes, states, targets, complete=complete)


def _add_ports(spec: ModelSpec, layout: Layout, scopes: dict[str, Scope]) -> None:
    calls, returns = iter(layout.box_call.tolist()), iter(layout.box_return.tolist())
    for scope in scopes.values():
        for box, callee in scope.spec.boxes.items():
            called = scopes.get(callee)
            if called is None or not called.complete:
                scope.vague.add(box)
            if called is not None:
                _add_box(scope, box, called.spec, next(calls), next(returns))


def _add_box(scope: Scope, box: str, called: ComponentSpec, call: int, back: int) -> None:
    for j, entry in enumerate(called.entries):
        scope.targets[f"{box}.{entry}"] = call + j
    if len(called.entries) == 1:
        scope.targets[box] = call
    for k, name in enumerate(called.exits):
        scope.states[f"{box}.{name}"] = back + k
