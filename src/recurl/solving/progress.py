"""A line on the terminal that shows how an interval narrows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recurl.solving.one_exit_search import Callback


@contextmanager
def shown(title: str, callback: Callback | None) -> Iterator[Callback]:
    """A callback that shows each interval, and passes it on to another callback."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, transient=True) as bar:
        task = bar.add_task(f"{title}: solving")

        def watched(lower: float, upper: float, work: Mapping[str, float]) -> None:
            text = f"{title}: in [{lower:.8g}, {upper:.8g}], width {upper - lower:.2g}"
            bar.update(task, description=text)
            if callback is not None:
                callback(lower, upper, dict(work))

        yield watched
