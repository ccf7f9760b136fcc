"""From a model back to a specification: the inverse of `assemble`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


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
        block = range(int(t.component_start[c]), int(t.component_start[c + 1]))
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
