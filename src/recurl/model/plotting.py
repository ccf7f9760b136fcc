"""Shared parts of plots: axes, colours, and a plain style."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE = "#0072B2", "#D55E00"


def own_or_new(axes: Axes | None) -> Axes:
    """The axes to draw in: those that are given, or new ones, which notebooks show."""
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(layout="constrained")[1]
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return axes
