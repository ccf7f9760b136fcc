"""The figure: a panel per experiment, our curves beside the published ones."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.experiment.published import published_curves
from recurl.experiment.statistics import Band, band
from recurl.experiment.study import Study
from recurl.model.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Of Okabe and Ito: told apart with any kind of colour vision."""
MARKERS = "os^Dvp"
"""Also told apart without any colour, as on a printed page."""
FORMATS = ("png", "pdf", "svg")
PANEL, HEIGHT = 3.9, 3.6
"""Inches."""
_STYLE: Any = {"font.size": 9, "svg.hashsalt": "recurl", "svg.fonttype": "none", "pdf.fonttype": 42}


def draw_figure(studies: Sequence[Study]) -> Figure:
    """A panel per study: the mean over runs as a line, the 10th to 90th percentile shaded.

    Published curves are dashed in the colour of their method; the certified optimum is a dotted
    line across.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        size = (max(1.3, len(studies)) * PANEL, HEIGHT)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(1, len(studies), squeeze=False)[0]
        for axes, study in zip(panels, studies, strict=True):
            _draw_panel(axes, study)
        return figure


def _draw_panel(axes: Axes, study: Study) -> None:
    experiment, heights = study.experiment, []
    for i, method in enumerate(experiment.methods):
        style = {"color": COLOURS[i % len(COLOURS)], "label": method.label or method.name}
        ours = band(study.of_method(method.name))
        if len(ours.steps):
            heights += _draw_band(axes, ours, MARKERS[i % len(MARKERS)], style)
        theirs = published_curves().get((experiment.reference, method.published))
        if theirs is not None:
            heights += _draw_published(axes, theirs, experiment.steps, style)
    if study.optimum.value is not None:
        name = f"optimum {study.optimum.value:.6g}"
        axes.axhline(study.optimum.value, color="black", linestyle=":", linewidth=1.2, label=name)
        heights.append(study.optimum.value)
    _frame(axes, study, heights)


def _draw_band(axes: Axes, ours: Band, marker: str, style: dict[str, Any]) -> list[float]:
    every = max(1, len(ours.steps) // 8)
    shade = {"color": style["color"], "alpha": 0.18, "linewidth": 0}
    axes.fill_between(ours.steps, ours.low, ours.high, **shade)
    axes.plot(
        ours.steps, ours.mean, linewidth=1.3, marker=marker, markevery=every, markersize=4, **style
    )
    return [float(np.percentile(ours.low, 2)), float(ours.high.max())]


def _draw_published(axes: Axes, theirs: Band, steps: int, style: dict[str, Any]) -> list[float]:
    seen = theirs.steps <= steps
    label = f"{style['label']}, published"
    plain = {"color": style["color"], "linestyle": "--", "linewidth": 1.0, "alpha": 0.9}
    axes.plot(theirs.steps[seen], theirs.mean[seen], label=label, **plain)
    return [float(np.percentile(theirs.mean[seen], 2)), float(theirs.mean[seen].max())]


def _frame(axes: Axes, study: Study, heights: list[float]) -> None:
    from matplotlib.ticker import EngFormatter

    axes.set_title(study.experiment.title or study.experiment.name)
    axes.set_xlabel("steps")
    axes.set_ylabel("return of the greedy policy")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(0, study.experiment.steps)
    if heights:
        low, high = min(heights), max(heights)
        margin = max(0.08 * (high - low), 1e-9)
        axes.set_ylim(low - margin, high + margin)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=True, framealpha=0.85, edgecolor="none", loc="lower right")


def save_figure(figure: Figure, folder: Path, name: str = "figure") -> list[Path]:
    """Write a figure as PNG, PDF and SVG."""
    paths = []
    for suffix in FORMATS:
        path = folder / f"{name}.{suffix}"
        write_atomic(path, figure_bytes(figure, suffix))
        paths.append(path)
    return paths


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """A figure as the content of a file, without the time it was made."""
    import matplotlib as mpl

    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    buffer = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format=suffix, dpi=200, metadata=dates.get(suffix))
    return buffer.getvalue()
