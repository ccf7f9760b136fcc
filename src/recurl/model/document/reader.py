"""From a tree to a specification: every value has its type from its place.

What does not fit is reported and replaced by something harmless, so that all problems of a
document are found in one go. A misspelt key is read as the key that it resembles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recurl.model.builder import start_entries
from recurl.model.document.pieces import TreePieces, kind_of
from recurl.model.numbers import to_float
from recurl.model.report import Report, shown
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

if TYPE_CHECKING:
    from recurl.model.document.tree import Tree
    from recurl.model.report import KeyPath
    from recurl.model.spec import Number

MODEL_KEYS = ("recurl", "name", "start", "numbers", "feature_names", "components")
COMPONENT_KEYS = ("entries", "exits", "boxes", "vertices", "features", "labels")
ACTION_KEYS = ("reward", "to")
EDGE_KEYS = ("target", "p", "reward")

# The usual cases are tested against sets: large documents have millions of these mappings.
_ACTION, _WEIGHT = frozenset(ACTION_KEYS), frozenset(EDGE_KEYS[1:])
_UNREADABLE = "?"
"""Stands for a number that is not text; its place has been reported already."""


def read_model(tree: Tree, report: Report) -> ModelSpec | None:
    """The specification in a tree, or None if it is not a recurl document."""
    reader = _Reader(report)
    if not reader.check_version(tree):
        return None
    fields = reader.fields(tree, (), MODEL_KEYS)
    spec = ModelSpec(
        name=reader.text(fields.get("name", "model"), ("name",)),
        components=reader.components(fields.get("components", {})),
        feature_names=reader.names(fields.get("feature_names", []), ("feature_names",)),
        binary=reader.binary(fields.get("numbers", "decimal")),
    )
    start = reader.start(fields["start"]) if "start" in fields else None
    spec.start = start_entries(spec, start)
    return spec


class _Reader(TreePieces):
    """Reads trees of models."""

    def number(self, tree: Tree, path: KeyPath) -> str:
        """The text of a number; whether it is one is seen later."""
        if type(tree) is str or type(tree) is int:
            return str(tree)
        fix = "write a decimal, an integer or a fraction such as 1/3"
        self.report.add(path, f"is {kind_of(tree)}, not a number", fix)
        return _UNREADABLE

    # The model

    def binary(self, tree: Tree) -> bool:
        if tree not in ("decimal", "binary"):
            message = f"{shown(tree)} is not a kind of numbers"
            self.report.add(("numbers",), message, "write decimal or binary")
        return bool(tree == "binary")

    def start(self, tree: Tree) -> str | dict[str, Number]:
        if type(tree) is str or type(tree) is int:
            return str(tree)
        pairs = self.mapping(tree, ("start",))
        return {name: self.number(p, ("start", name)) for name, p in pairs.items()}

    def components(self, tree: Tree) -> dict[str, ComponentSpec]:
        path = ("components",)
        pairs = self.mapping(tree, path)
        return {name: self.component(value, (*path, name)) for name, value in pairs.items()}

    def component(self, tree: Tree, path: KeyPath) -> ComponentSpec:
        fields = self.fields(tree, path, COMPONENT_KEYS)
        return ComponentSpec(
            entries=self.names(fields.get("entries", []), (*path, "entries")),
            exits=self.names(fields.get("exits", []), (*path, "exits")),
            boxes=self.texts(fields.get("boxes", {}), (*path, "boxes")),
            vertices=self.vertices(fields.get("vertices", {}), (*path, "vertices")),
            features=self.features(fields.get("features", {}), (*path, "features")),
            labels=self.texts(fields.get("labels", {}), (*path, "labels")),
        )

    def features(self, tree: Tree, path: KeyPath) -> dict[str, list[float]]:
        pairs = self.mapping(tree, path)
        return {name: self.floats(row, (*path, name)) for name, row in pairs.items()}

    def floats(self, tree: Tree, path: KeyPath) -> list[float]:
        if type(tree) is not list:
            self.report.add(path, f"is {kind_of(tree)}, not a list", "write [NUMBER, NUMBER]")
            return []
        return [self.float(item, (*path, index)) for index, item in enumerate(tree)]

    def float(self, tree: Tree, path: KeyPath) -> float:
        text = self.number(tree, path)
        try:
            return 0.0 if text is _UNREADABLE else to_float(text)
        except ValueError as error:
            self.report.add(path, str(error), "give a finite number")
            return 0.0

    # Actions

    def vertices(self, tree: Tree, path: KeyPath) -> dict[str, dict[str, ActionSpec]]:
        pairs = self.mapping(tree, path)
        return {name: self.actions(value, (*path, name)) for name, value in pairs.items()}

    def actions(self, tree: Tree, path: KeyPath) -> dict[str, ActionSpec]:
        pairs = self.mapping(tree, path)
        return {name: self.action(value, (*path, name)) for name, value in pairs.items()}

    def action(self, tree: Tree, path: KeyPath) -> ActionSpec:
        if type(tree) is str or type(tree) is int:
            return ActionSpec("0", self.edges(tree, path))
        fields = tree
        if type(tree) is not dict or not tree.keys() <= _ACTION:
            fields = self.fields(tree, path, ACTION_KEYS)
        reward = fields.get("reward", "0")
        if type(reward) is not str:
            reward = self.number(reward, (*path, "reward"))
        return ActionSpec(reward, self.edges(fields.get("to", {}), path))

    def edges(self, tree: Tree, path: KeyPath) -> list[EdgeSpec]:
        """The transitions of the action that a path leads to."""
        if type(tree) is str or type(tree) is int:
            return [EdgeSpec(str(tree), "1")]
        if type(tree) is list:
            listed = [self.edge(item, (*path, "to", index)) for index, item in enumerate(tree)]
            return [edge for edge in listed if edge is not None]
        pairs = tree if type(tree) is dict else self.mapping(tree, (*path, "to"))
        return [
            EdgeSpec(target, value)
            if type(value) is str
            else self.weighted(target, value, (*path, "to", target))
            for target, value in pairs.items()
        ]

    def weighted(self, target: str, tree: Tree, path: KeyPath) -> EdgeSpec:
        """A transition with a probability and a reward of its own."""
        if type(tree) is not dict:
            return EdgeSpec(target, self.number(tree, path))
        if not tree.keys() <= _WEIGHT:
            tree = self.fields(tree, path, EDGE_KEYS[1:])
        return EdgeSpec(target, *self.weight(tree, path))

    def edge(self, tree: Tree, path: KeyPath) -> EdgeSpec | None:
        """A transition in a list, which may lead where another one leads."""
        fields = self.fields(tree, path, EDGE_KEYS)
        if "target" not in fields:
            self.report.add(path, "has no target", "write {target: NODE, p: 1/2}")
            return None
        target = self.text(fields["target"], (*path, "target"))
        return EdgeSpec(target, *self.weight(fields, path))

    def weight(self, fields: dict[str, Tree], path: KeyPath) -> tuple[str, str | None]:
        prob = self.number(fields["p"], (*path, "p")) if "p" in fields else "1"
        reward = self.number(fields["reward"], (*path, "reward")) if "reward" in fields else None
        return prob, reward
