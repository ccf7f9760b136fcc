"""Charts: what a picture shows, before anything has a place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Port(NamedTuple):
    """A call port or return port of a box.

    Attributes:
        text: Name that is shown.
        title: Full name.
    """

    text: str
    title: str


class Mark(NamedTuple):
    """Anything that arrows lead from or to.

    Attributes:
        kind: ``"entry"``, ``"exit"``, ``"node"``, ``"box"``, ``"action"``, ``"component"`` or
            ``"more"``, which stands for something left out.
        text: What is written on it.
        title: Full name; what a browser shows as a tooltip.
        note: A second line, smaller.
        calls: Call ports of a box.
        returns: Return ports of a box.
        taken: ``"always"``, ``"sometimes"`` or ``""``: whether the policy takes this action.
        bold: Whether a run may start here.
    """

    kind: str
    text: str
    title: str
    note: str = ""
    calls: tuple[Port, ...] = ()
    returns: tuple[Port, ...] = ()
    taken: str = ""
    bold: bool = False


class Arrow(NamedTuple):
    """An arrow from mark to mark, at boxes from return port to call port.

    Attributes:
        source: Number of a mark.
        target: Number of a mark.
        source_port: Return port of a box; 0 at other marks.
        target_port: Call port of a box; 0 at other marks.
        label: What is written on it.
        taken: As of the action that it belongs to.
    """

    source: int
    target: int
    source_port: int = 0
    target_port: int = 0
    label: str = ""
    taken: str = ""


class Chart(NamedTuple):
    """A component, or the calls between components.

    Attributes:
        key: ``"calls"``, or the name of the component.
        title: What stands above it.
        marks: What there is.
        arrows: What leads where.
        note: What is left out, in words.
        vertices: For each vertex drawn, its mark and its full name, which is the title of its port.
    """

    key: str
    title: str
    marks: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
    note: str = ""
    vertices: Mapping[int, tuple[int, str]] = MappingProxyType({})
