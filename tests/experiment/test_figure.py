from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb

from recurl.experiment.figure import DARK, draw_figure, save_figure
from recurl.experiment.study import Optimum, Study


def test_a_panel_has_our_lines_the_published_ones_and_the_optimum(study: Study) -> None:
    (axes,) = draw_figure([study]).axes
    labels = [str(line.get_label()) for line in axes.lines]
    ours = [method.label for method in study.experiment.methods]
    assert labels[:5] == [ours[0], "published", ours[1], "published", ours[2]]
    assert labels[5].startswith("certified optimum")
    assert axes.lines[-1].get_ydata()[0] == study.optimum.value  # type: ignore[index]
    assert len(axes.collections) == 3 + 2  # the percentiles of ours, and those published
    assert [line.is_dashed() for line in axes.lines] == [False, True, False, True, False, True]


def test_lines_and_shades_are_mean_and_percentiles(study: Study) -> None:
    (axes,) = draw_figure([study]).axes
    records = study.of_method("rql")
    means = np.array([one.column("mean") for one in records])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), means.mean(axis=0))  # type: ignore[arg-type]
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == np.percentile(means, 10, axis=0).min()


def test_methods_are_told_apart_without_colour(study: Study) -> None:
    (axes,) = draw_figure([study]).axes
    ours = [line for line in axes.lines if not line.is_dashed()]
    assert len({str(line.get_marker()) for line in ours}) == len(ours)


def test_many_studies_wrap_into_rows(study: Study) -> None:
    axes = draw_figure([study] * 4).axes
    assert len(axes) == 4
    assert len({round(one.get_subplotspec().rowspan.start) for one in axes}) == 2  # type: ignore[union-attr]


def test_a_study_without_finished_runs_is_drawn_empty(study: Study) -> None:
    unknown = Optimum(None, None, "not known", "")
    bare = study._replace(records=(), optimum=unknown)
    (axes,) = draw_figure([bare]).axes
    assert {str(line.get_label()) for line in axes.lines} == {
        "recursive Q-learning, published",
        "flat Q-learning, published",
    }


def test_the_legend_names_only_what_is_there(study: Study) -> None:
    import msgspec

    short = msgspec.structs.replace(study.experiment, steps=1)  # before any published test
    bare = study._replace(experiment=short, optimum=Optimum(None, None, "not known", ""))
    (axes,) = draw_figure([bare]).axes
    legend = axes.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [method.label for method in short.methods]
    empty = bare._replace(records=())
    assert draw_figure([empty]).axes[0].get_legend() is None


def test_curves_that_coincide_stay_visible(study: Study) -> None:
    """Wider lines lie below narrower ones, and markers are at different places."""
    (axes,) = draw_figure([study]).axes
    ours = [line for line in axes.lines if not line.is_dashed()]
    above = sorted(ours, key=lambda line: -line.get_zorder())
    widths = [line.get_linewidth() for line in above]
    assert widths == sorted(set(widths))
    assert len({str(line.get_markevery()) for line in ours}) == len(ours)


def test_a_dark_figure_is_dark(study: Study) -> None:
    figure = draw_figure([study], DARK)
    assert max(figure.get_facecolor()[:3]) < 0.2
    assert min(to_rgb(figure.axes[0].title.get_color())) > 0.8


def test_formats_are_what_their_names_say(study: Study, tmp_path: Path) -> None:
    figure = draw_figure([study])
    heads = [path.read_bytes()[:5] for path in save_figure(figure, tmp_path)]
    assert heads == [b"\x89PNG\r", b"%PDF-", b"<?xml"]
