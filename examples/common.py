"""Shared parts of the examples: their options, and a figure that is saved where asked."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Options of an example: a short run, and a file for its figure."""

    quick: bool = False
    plot: Path | None = None


def settings(description: str | None) -> Settings:
    given = options(description).parse_args()
    return Settings(given.quick, given.plot)


def options(description: str | None) -> argparse.ArgumentParser:
    """The options that all examples have, for those that add some of their own."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument("--plot", type=Path, help="file for the figure")
    return parser


class Figure:
    """Axes to draw on, written to the file that was asked for, if one was.

    With several panels there are as many axes side by side, below one title.
    """

    def __init__(self, wanted: Settings, title: str, panels: int = 1) -> None:
        from matplotlib.figure import Figure as Canvas

        self.canvas, self.path = Canvas(figsize=(7, 4.5), layout="constrained"), wanted.plot
        self.axes: Any = self.canvas.subplots(1, panels)
        if panels == 1:
            self.axes.set_title(title)
        else:
            self.canvas.suptitle(title)

    def __enter__(self) -> Any:
        return self.axes

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.canvas.savefig(self.path, dpi=120)
