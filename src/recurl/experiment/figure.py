"""The figure: a panel per experiment, our curves beside the published ones."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.experiment.paper import published_curves
from recurl.experiment.settings import Method
from recurl.experiment.statistics import band, thinned
from recurl.experiment.study import Study
from recurl.experiment.table import readable_number
from recurl.learn.curve import Band
from recurl.model.files import write_atomic
from recurl.model.tables import Floats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#882255", "#999933", "#332288", "#44AA99", "#777777"),
)
"""Six of Okabe and Ito, then four of Paul Tol and grey: distinct in most kinds of colour vision."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "h")
"""Distinct without colour too, as on a printed page."""
FORMATS = ("png", "pdf", "svg")
PANEL, HEIGHT, NARROWEST, IN_A_ROW = 4.0, 3.0, 4.6, 3
"""Inches of a panel and of the smallest figure; panels side by side."""
LEGEND_LINE = 0.19
"""Inches of a line of the legend below a panel."""
POINTS = 125
"""A curve of more tests is drawn as means of this number of groups of tests."""
_STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "svg.hashsalt": "recurl",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # Names are text: a dollar sign in one does not begin a formula.
    "text.parse_math": False,
}


class Surface(NamedTuple):
    """Colours of the background of a figure, and of its text and lines."""

    paper: str
    ink: str

    @property
    def style(self) -> Any:
        """Settings of matplotlib."""
        inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        papered = ("figure.facecolor", "axes.facecolor")
        return {**dict.fromkeys(inked, self.ink), **dict.fromkeys(papered, self.paper)}


LIGHT, DARK = Surface("#ffffff", "#1b1f24"), Surface("#0d1117", "#e6edf3")


def draw_figure(studies: Sequence[Study], surface: Surface = LIGHT) -> Figure:
    """A panel per study: the mean over runs as a line, the 10th to 90th percentile shaded.

    Published curves are dashed in the colour of their method, their percentiles hatched; the
    certified optimum is a dotted line across. Where there are many tests, a point of a line is the
    mean of a few in a row. The lines of later methods are wider and lie below, so that they are
    seen where curves coincide.
    """
    from matplotlib.figure import Figure

    columns = min(IN_A_ROW, len(studies))
    rows = math.ceil(len(studies) / columns)
    legend = LEGEND_LINE * max(_legend_lines(study) for study in studies)
    with styled(surface):
        size = max(NARROWEST, columns * PANEL), rows * (HEIGHT + legend)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for i, study in enumerate(studies):
            _draw_panel(panels[i], study, surface)
            if i % columns == 0:
                panels[i].set_ylabel("return of the greedy policy")
        for empty in panels[len(studies) :]:
            empty.remove()
        return figure


@contextmanager
def styled(surface: Surface = LIGHT) -> Iterator[None]:
    """The style of all figures, on some surface."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE | surface.style):
        yield


def _legend_lines(study: Study) -> int:
    methods = study.experiment.methods
    beside = any(published_part(study, method) is not None for method in methods)
    return 1 + len(methods) if beside else 1 + math.ceil(len(methods) / 2)


def published_part(study: Study, method: Method) -> Band | None:
    """The published curve of a method, as far as the runs of a study go; None without one."""
    found = published_curves().get((study.experiment.reference, method.published))
    if found is None:
        return None
    seen = Band(*(column[found.steps <= study.experiment.steps] for column in found))
    return seen if len(seen.steps) > 1 else None


def _draw_panel(axes: Axes, study: Study, surface: Surface) -> None:
    experiment, heights = study.experiment, []
    rows: list[list[Artist]] = []
    for i, method in enumerate(experiment.methods):
        style = {"color": COLOURS[i % len(COLOURS)], "zorder": 4 - 0.1 * i}
        rows.append([])
        found = thinned(band(study.of_method(method.name)), POINTS)
        label = method.label or method.name
        if len(found.steps):
            of = i, len(experiment.methods)
            rows[-1].append(_draw_band(axes, found, of, label, style))
            heights += _heights(found.steps, found.low, found.high)
        seen = published_part(study, method)
        if seen is not None:
            named = "published" if rows[-1] else f"{label}, published"
            rows[-1].append(_draw_published(axes, seen, named, style))
            heights += _heights(seen.steps, seen.mean, seen.mean)
    best = study.optimum.value
    if best is not None:
        rows.append([_draw_optimum(axes, best, surface.ink)])
        heights.append(best)
    _frame(axes, study, heights)
    _explain(axes, [row for row in rows if row])


def _draw_band(
    axes: Axes, ours: Band, place_of: tuple[int, int], label: str, style: dict[str, Any]
) -> Artist:
    """The curve of a method, given its place among how many methods."""
    every = max(1, len(ours.steps) // 7)
    # Markers of different methods are apart, so that they are seen where curves coincide.
    place, methods = place_of
    first = place * every // methods
    axes.fill_between(
        ours.steps, ours.low, ours.high, color=style["color"], alpha=0.16, linewidth=0
    )
    edge = axes.get_facecolor()
    mark: Any = {"markersize": 5, "markeredgecolor": edge, "markeredgewidth": 0.7}
    (line,) = axes.plot(
        ours.steps,
        ours.mean,
        linewidth=1.4 + 0.9 * place,
        marker=MARKERS[place % len(MARKERS)],
        markevery=(first, every),
        label=label,
        **mark,
        **style,
    )
    return line


def _draw_published(axes: Axes, theirs: Band, label: str, style: dict[str, Any]) -> Artist:
    axes.fill_between(
        *(theirs.steps, theirs.low, theirs.high),
        facecolor="none",
        edgecolor=style["color"],
        hatch="////",
        linewidth=0,
        alpha=0.3,
        zorder=1,
    )
    (line,) = axes.plot(
        theirs.steps, theirs.mean, linestyle=(0, (4, 2)), linewidth=1.0, label=label, **style
    )
    return line


def _draw_optimum(axes: Axes, value: float, ink: str) -> Artist:
    style: Any = {"color": ink, "linestyle": (0, (1, 1.5)), "linewidth": 1.3, "zorder": 5}
    return axes.axhline(value, label=f"certified optimum {readable_number(value)}", **style)


def _heights(steps: Floats, low: Floats, high: Floats) -> list[float]:
    """Heights that must be seen: not the plunges of the beginning, nor rare ones later."""
    later = steps >= 0.1 * steps[-1]
    return [float(np.percentile(low[later], 10)), float(high.max())]


def _frame(axes: Axes, study: Study, heights: list[float]) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.set_title(study.experiment.title or study.experiment.name)
    axes.set_xlabel("training steps")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(0, study.experiment.steps)
    if heights:
        low, high = min(heights), max(heights)
        margin = 0.06 * (high - low) or 0.1 * max(1.0, abs(high))
        axes.set_ylim(low - margin, high + margin)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _explain(axes: Axes, rows: list[list[Artist]]) -> None:
    """A legend below the panel, where it hides nothing; what is published stands beside ours."""
    from matplotlib.lines import Line2D

    if any(len(row) > 1 for row in rows):
        blank = Line2D([], [], linestyle="none", label=" ")
        lines = [row[k] if k < len(row) else blank for k in (0, 1) for row in rows]
    else:
        lines = [line for row in rows for line in row]
    if not lines:
        return
    axes.legend(
        handles=lines,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.19),
        ncols=2,
        fontsize=8,
        frameon=False,
        handlelength=2.6,
        columnspacing=1.2,
    )


def save_figure(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure as PNG, PDF and SVG."""
    paths = []
    for suffix in FORMATS:
        path = folder / f"figure.{suffix}"
        write_atomic(path, figure_bytes(figure, suffix))
        paths.append(path)
    return paths


def figure_url(figure: Figure) -> str:
    """A figure as a URL that holds all of it, for pages that need nothing else."""
    svg = base64.b64encode(figure_bytes(figure, "svg")).decode()
    return f"data:image/svg+xml;base64,{svg}"


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """A figure as the content of a file, without the time it was made."""
    import matplotlib as mpl

    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    buffer = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(
            buffer, format=suffix, dpi=200, metadata=dates.get(suffix), bbox_inches="tight"
        )
    return buffer.getvalue()
