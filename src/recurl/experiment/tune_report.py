"""The report of a search: its trials, which settings matter, and the values of good ones."""

from __future__ import annotations

import warnings
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.experiment.figure import figure_bytes, figure_url
from recurl.experiment.search import Range
from recurl.experiment.tune import Tuned, optuna_module, write_best
from recurl.model import html
from recurl.model.files import write_atomic
from recurl.model.plotting import BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADS = ("trial", "state", "score")
FEWEST = 4
"""Complete trials without which nothing is said about importance."""


def write_tuned(tuned: Tuned, out: Path) -> list[Path]:
    """Write the best settings, the figure and the report; returns their paths."""
    files = [out / name for name in ("best.yaml", "figure.png", "report.html")]
    write_best(tuned, files[0])
    write_atomic(files[1], figure_bytes(draw_tuned(tuned), "png"))
    write_atomic(files[2], _page(tuned))
    return files


def importance(tuned: Tuned) -> dict[str, float]:
    """How much of the differences between trials is due to each setting; shares add up to one.

    Empty while fewer than four trials are complete. The shares come from PED-ANOVA: how far the
    better trials concentrate in a part of the values of a setting.
    """
    optuna = optuna_module()
    if len(complete_trials(tuned)) < FEWEST:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an evaluator that Optuna calls experimental
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        found = optuna.importance.get_param_importances(tuned.study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def complete_trials(tuned: Tuned) -> list[Any]:
    """The trials that were not given up, from the best to the worst."""
    found = [one for one in tuned.study.trials if one.state.name == "COMPLETE"]
    return sorted(found, key=lambda one: -one.value)


def trial_rows(tuned: Tuned) -> list[tuple[Any, ...]]:
    """A row for each trial: number, state, score, and its settings in order."""
    rows = []
    for one in tuned.study.trials:
        score = "" if one.value is None else f"{one.value:.4g}"
        settings = [one.params.get(name, "") for name in tuned.search.space]
        rows.append((one.number, one.state.name.lower(), score, *map(_short, settings)))
    return rows


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def draw_tuned(tuned: Tuned) -> Figure:
    """Importance of the settings, and the complete trials in parallel coordinates."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    _draw_importance(tuned, left)
    _draw_coordinates(tuned, right)
    return figure


def _draw_importance(tuned: Tuned, axes: Axes) -> None:
    shares = importance(tuned)
    axes.set_title("Importance")
    if not shares:
        axes.text(0.5, 0.5, f"fewer than {FEWEST} complete trials", ha="center")
        axes.set_axis_off()
        return
    names = list(shares)[::-1]
    axes.barh(names, [shares[name] for name in names], color=BLUE)
    axes.set_xlim(0, 1)


def _draw_coordinates(tuned: Tuned, axes: Axes) -> None:
    from matplotlib import colormaps

    trials, names = complete_trials(tuned)[::-1], list(tuned.search.space)
    axes.set_title("Complete trials, the better the darker")
    axes.set_xticks(range(len(names) + 1), [*names, "score"], rotation=20)
    axes.set_yticks([])
    scores = np.array([one.value for one in trials], float)
    heights = _scaled(scores)
    for one, height in zip(trials, heights, strict=True):
        places = [_place(tuned.search.space[name], one.params[name]) for name in names]
        colour = colormaps["Blues"](0.2 + 0.8 * height)
        axes.plot([*places, height], color=colour, linewidth=1 + height)
    for x, name in enumerate(names):
        low, high = _ends(tuned.search.space[name])
        axes.annotate(low, (x, 0), (0, -9), textcoords="offset points", ha="center", fontsize=7)
        axes.annotate(high, (x, 1), (0, 4), textcoords="offset points", ha="center", fontsize=7)


def _scaled(numbers: np.ndarray) -> np.ndarray:
    if not len(numbers) or numbers.max() == numbers.min():
        return np.ones(len(numbers))
    scaled: np.ndarray = (numbers - numbers.min()) / (numbers.max() - numbers.min())
    return scaled


def _place(values: Any, value: Any) -> float:
    """Where a value stands on its axis, from 0 to 1."""
    if not isinstance(values, Range):
        return float(values.index(value) / max(len(values) - 1, 1))
    ends = np.array([values.low, values.high, value], float)
    low, high, at = np.log(ends) if values.log else ends
    return float((at - low) / (high - low))


def _ends(values: Any) -> tuple[str, str]:
    if isinstance(values, Range):
        return _short(values.low), _short(values.high)
    return str(values[0]), str(values[-1])


def _page(tuned: Tuned) -> str:
    """One HTML file that needs nothing else."""
    search, best = tuned.search, complete_trials(tuned)
    models = ", ".join(f"{one.name} ({one.steps:,} steps)" for one in search.experiments)
    seeds = len(search.experiments[0].seeds)
    summary = (
        f"{len(tuned.study.trials)} trials of {search.method.name} on {models}; a trial is the "
        f"median over {seeds} seeds, given up on medians. A score is the mean of the tests, less "
        "the optimum, as a share of it: 0 is best."
    )
    winner = (
        f"Best: trial {best[0].number}, {best[0].value:.4g}" if best else "No trial is complete."
    )
    shares = [(name, f"{share:.2f}") for name, share in importance(tuned).items()]
    parts = [
        html.paragraph(summary),
        html.paragraph(winner),
        html.table(("setting", "best"), tuned.best.items()) if best else "",
        f'<img alt="Importance and parallel coordinates" src="{figure_url(draw_tuned(tuned))}">',
        html.table(("setting", "importance"), shares) if shares else "",
        html.table((*HEADS, *search.space), trial_rows(tuned), most=None),
    ]
    head = f"<title>{escape(search.method.name)}</title>"
    return f'<!doctype html><meta charset="utf-8">{head}{"".join(parts)}'
