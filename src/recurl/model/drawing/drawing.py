"""`RMDP.draw`: a model as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recurl.errors import UnknownNameError
from recurl.model.drawing.call_chart import call_chart
from recurl.model.drawing.chart import Chart
from recurl.model.drawing.component_chart import component_chart, fits
from recurl.model.drawing.picture import Picture, picture
from recurl.model.drawing.svg import svg_text
from recurl.model.drawing.text_formats import dot_text, mermaid_text
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints

MOST = 60
"""Actions of a component that is drawn as a whole."""
ALL, COMPONENTS = 150, 16
"""Models with more actions or components are drawn as their calls and their start component."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture of a model; notebooks show it.

    Attributes:
        name: Name of the model.
        charts: What it shows: the calls, then components.
        caption: What stands below.
    """

    name: str
    charts: tuple[Chart, ...]
    caption: tuple[str, ...] = ()

    @cached_property
    def picture(self) -> Picture:
        """Everything in its place."""
        return picture(self.charts, self.caption)

    @property
    def svg(self) -> str:
        """The picture as SVG; it follows light and dark surroundings."""
        return svg_text(self.picture, f"Model {self.name}")

    @property
    def mermaid(self) -> str:
        """The picture as text for Mermaid, which Markdown pages of many sites show."""
        return mermaid_text(self.charts)

    @property
    def dot(self) -> str:
        """The picture as text for Graphviz."""
        return dot_text(self.charts, self.name)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing of {self.name}: {', '.join(chart.title for chart in self.charts)}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture; the suffix says how: .svg, .html, .mmd (Mermaid), .md or .dot.

        Raises:
            UnknownNameError: The suffix is another one.
        """
        texts = {
            ".svg": lambda: self.svg,
            ".html": lambda: _page(self),
            ".mmd": lambda: self.mermaid,
            ".md": lambda: f"```mermaid\n{self.mermaid}```\n",
            ".dot": lambda: self.dot,
        }
        suffix = Path(path).suffix.lower()
        if suffix not in texts:
            raise UnknownNameError("suffix of a drawing", suffix, texts)
        write_atomic(path, texts[suffix]())


def _page(drawing: Drawing) -> str:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    style = "<style>:root { color-scheme: light dark; } body { margin: 0; }</style>"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<title>{escape(drawing.name)}</title>{style}'
        f"</head><body>\n{drawing.svg}</body></html>\n"
    )


class Slots(Protocol):
    """Where runs can get to."""

    @property
    def slots(self) -> Sequence[int]:
        """Slots at which runs take actions."""


class PolicyLike(Protocol):
    """A policy, as `recurl.Policy` is one."""

    model: RMDP
    actions: Ints

    @property
    def slot_vertex(self) -> Ints:
        """Vertex of each slot."""

    @property
    def reached(self) -> Slots:
        """Where runs can get to."""


def draw_model(
    model: RMDP,
    policy: PolicyLike | None = None,
    *,
    component: str | None = None,
    around: str | None = None,
    most: int = MOST,
) -> Drawing:
    """See `RMDP.draw`."""
    if most < 1:
        raise ValueError(f"most is how many actions of a component are drawn, not {most}")
    taken = {} if policy is None else actions_taken(model, policy)
    first = [] if around is None else [model.find(around)]
    if first and component is None:
        component = model.names.components[int(model.tables.vertex_component[first[0]])]
    charts: list[Chart] = []
    if component is not None:
        wanted = [model.names.find_component(component)]
    else:
        wanted = _wanted(model, most)
        charts += [call_chart(model, most)] if model.tables.n_boxes else []
    charts += [component_chart(model, c, taken, most, first) for c in wanted]
    return Drawing(model.name, tuple(charts), tuple(_caption(model, charts, policy is not None)))


def actions_taken(model: RMDP, policy: PolicyLike) -> dict[int, str]:
    """Actions that a policy takes: ``"always"`` in a vertex, or ``"sometimes"``.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud(exits=1)
        >>> taken = actions_taken(model, recurl.solve(model).policy)
        >>> [model.action_name(action) for action in taken][:2]
        ['divide', 'next']
    """
    if not hasattr(policy, "reached"):
        raise TypeError(f"draw wants a recurl.Policy, not {type(policy).__name__}: give .policy")
    if policy.model != model:
        raise ValueError(f"the policy is for another model than {model.name}")
    chosen: dict[int, set[int]] = {}
    for slot in policy.reached.slots:
        vertex, action = int(policy.slot_vertex[slot]), int(policy.actions[slot])
        own = model.tables.actions_of(vertex)
        chosen.setdefault(vertex, set()).update(own if action < 0 else [own[action]])
    return {
        action: "always" if len(actions) == 1 else "sometimes"
        for _, actions in sorted(chosen.items())
        for action in sorted(actions)
    }


def _wanted(model: RMDP, most: int) -> list[int]:
    """The components that are drawn: all of a small model, else the one where runs start."""
    t = model.tables
    everything = range(t.n_components)
    small = t.n_actions <= ALL and t.n_components <= COMPONENTS
    if small and all(fits(model, c, most) for c in everything):
        start = int(t.start_component)
        return [start, *(c for c in everything if c != start)]
    return [int(t.start_component)]


def _caption(model: RMDP, charts: list[Chart], by_policy: bool) -> list[str]:
    lines = []
    if by_policy:
        lines.append("Filled: what the policy does. Dashed: what it does in some contexts only.")
    drawn = sum(chart.key != "calls" for chart in charts)
    left = model.tables.n_components - drawn
    if left and charts[0].key == "calls":
        more = "1 more component" if left == 1 else f"{left} more components"
        lines.append(f"{more}: draw one with component=NAME.")
    if any(chart.note for chart in charts):
        lines.append("Draw more of a component with most=NUMBER, another part with around=VERTEX.")
    return lines
