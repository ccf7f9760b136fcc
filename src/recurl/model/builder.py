"""A fluent builder that reads like a figure of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Self

from recurl.model.assemble import assemble
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.spec import Number


class Builder:
    """Builds a model component by component, vertex by vertex, action by action.

    Every method returns the builder, and refers to what was named last. Nothing is checked before
    `build`, which reports all problems at once. Numbers may be ints, floats (read as the decimal
    they print as), fractions, decimals, or text such as ``"1/3"``.

    Example:
        A server that fails with probability 0.4 and is then called again:

        >>> model = (
        ...     Builder("server")
        ...     .component("S", entries="start", exits="done").box("retry", "S")
        ...     .at("start").action("fast", reward=-1).to("retry", 0.4).to("done", 0.6)
        ...                 .action("safe", reward=-2).to("done")
        ...     .at("retry.done").action("return").to("done")
        ...     .build()
        ... )
        >>> model.action_names(model.find("S.start"))
        ['fast', 'safe']
    """

    def __init__(self, name: str = "model") -> None:
        self._spec = ModelSpec(name)
        self._component: ComponentSpec | None = None
        self._vertex: str | None = None
        self._action: ActionSpec | None = None

    def component(
        self, name: str, *, entries: str | Iterable[str], exits: str | Iterable[str]
    ) -> Self:
        """Begin a component with its entries and exits, in order."""
        if name in self._spec.components:
            raise ValueError(f"component {name!r} is there already: give each its own name")
        self._component = ComponentSpec(_names(entries), _names(exits))
        self._spec.components[name] = self._component
        self._vertex = self._action = None
        return self

    def box(self, name: str, component: str) -> Self:
        """A box of the current component, and the component that it calls."""
        boxes = self._current_component("box").boxes
        if name in boxes:
            raise ValueError(f"box {name!r} is there already: give each its own name")
        boxes[name] = component
        return self

    def at(
        self, vertex: str, *, features: Iterable[float] | None = None, label: str | None = None
    ) -> Self:
        """Go to a node, or to a return port ``box.exit``, of the current component."""
        component = self._current_component("at")
        self._vertex, self._action = vertex, None
        component.vertices.setdefault(vertex, {})
        if features is not None:
            component.features[vertex] = [float(x) for x in features]
        if label is not None:
            component.labels[vertex] = label
        return self

    def action(self, name: str, *, reward: Number = 0) -> Self:
        """An action of the current vertex, and the reward of its transitions."""
        component = self._current_component("action")
        if self._vertex is None:
            raise ValueError(f"action {name!r} belongs to no vertex: call .at(vertex) first")
        actions = component.vertices[self._vertex]
        if name in actions:
            raise ValueError(f"action {name!r} is there already at {self._vertex}: rename it")
        self._action = actions[name] = ActionSpec(reward)
        return self

    def to(self, target: str, p: Number = 1, reward: Number | None = None) -> Self:
        """A transition of the current action: to a node or a call port ``box.entry``.

        The port may be written ``box`` alone when the component called has one entry. A transition
        without a reward of its own pays that of the action.
        """
        if self._action is None:
            raise ValueError(f"transition to {target!r} belongs to no action: call .action() first")
        self._action.edges.append(EdgeSpec(target, p, reward))
        return self

    def features(self, *names: str) -> Self:
        """Name the features that vertices carry (see `at`)."""
        self._spec.feature_names = list(names)
        return self

    def build(self, start: str | Mapping[str, Number] | None = None) -> RMDP:
        """Check everything and give the model.

        Args:
            start: The component, or the entry ``component.entry``, at which runs start, or a
                distribution over entries of one component. Without it: the first component, its
                first entry.

        Raises:
            ModelError: With all problems at once.
        """
        self._spec.start = start_entries(self._spec, start)
        return assemble(self._spec)

    def _current_component(self, what: str) -> ComponentSpec:
        if self._component is None:
            raise ValueError(f".{what}() belongs to no component: call .component() first")
        return self._component


def start_entries(spec: ModelSpec, start: str | Mapping[str, Number] | None) -> dict[str, Number]:
    """A start in any of its forms as probabilities of ``component.entry``."""
    if isinstance(start, Mapping):
        return {_entry_of(spec, name): p for name, p in start.items()}
    if start is None:
        start = next(iter(spec.components), "")
    return {_entry_of(spec, start): 1}


def _entry_of(spec: ModelSpec, name: str) -> str:
    """``component.entry`` of a name that may be a component alone: then its first entry."""
    component = spec.components.get(name)
    return f"{name}.{component.entries[0]}" if component and component.entries else name


def _names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
