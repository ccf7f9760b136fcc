"""A model in plain words: what the builder and the documents produce.

A specification may be wrong; `recurl.model.assemble` turns a right one into an `RMDP` and reports
every problem of a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

Number = int | float | str | Decimal | Fraction
"""Numbers as people write them; floats are read as their shortest decimal (see `numbers`)."""


@dataclass(slots=True)
class EdgeSpec:
    """One transition of an action: target, probability, and its own reward if it has one."""

    target: str
    prob: Number = 1
    reward: Number | None = None


@dataclass(slots=True)
class ActionSpec:
    """An action: the reward of its transitions, unless they have their own, and the transitions."""

    reward: Number = 0
    edges: list[EdgeSpec] = field(default_factory=list)


@dataclass(slots=True)
class ComponentSpec:
    """A component: entries, exits, boxes (name -> component called), and actions by vertex."""

    entries: list[str] = field(default_factory=list)
    exits: list[str] = field(default_factory=list)
    boxes: dict[str, str] = field(default_factory=dict)
    vertices: dict[str, dict[str, ActionSpec]] = field(default_factory=dict)
    features: dict[str, list[float]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ModelSpec:
    """A model: components by name, and where a run starts.

    Attributes:
        name: Name of the model.
        start: Probability of each entry, written ``component.entry``.
        components: Components in order.
        feature_names: Names of the features that vertices carry, if any.
        binary: Numbers are binary floats taken literally rather than decimals.
    """

    name: str = "model"
    start: dict[str, Number] = field(default_factory=dict)
    components: dict[str, ComponentSpec] = field(default_factory=dict)
    feature_names: list[str] = field(default_factory=list)
    binary: bool = False
