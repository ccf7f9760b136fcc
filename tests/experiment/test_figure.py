from __future__ import annotations

from pathlib import Path

from recurl.experiment.figure import draw_figure, save_figure
from recurl.experiment.study import Study


def test_a_panel_has_our_lines_the_published_ones_and_the_optimum(study: Study) -> None:
    (axes,) = draw_figure([study]).axes
    styles = [line.get_linestyle() for line in axes.lines]
    assert styles == ["-", "--", "-", "--", "-", ":"]
    assert axes.lines[-1].get_ydata()[0] == study.optimum.value  # type: ignore[index]
    assert len(axes.collections) == 3


def test_formats_are_what_their_names_say(study: Study, tmp_path: Path) -> None:
    figure = draw_figure([study])
    heads = [path.read_bytes()[:5] for path in save_figure(figure, tmp_path)]
    assert heads == [b"\x89PNG\r", b"%PDF-", b"<?xml"]
