"""Plots of the policy of a gridworld: grids with arrows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.cells import DIRECTIONS, WALL, Cells, Place, feature_words, map_letters
from recurl.model.plotting import BLUE
from recurl.policy.policy import RANDOM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from recurl.policy.policy import Policy

IN_A_ROW, INCHES = 3, 3.1
"""Grids side by side, and inches of one."""

Rest = tuple[tuple[str, float], ...]
"""Features of a vertex other than its row and column."""


@dataclass
class ActionGrid:
    """The actions in the cells of one component, with certain features and in some contexts.

    Attributes:
        component: Number of the component.
        rest: Features other than row and column.
        contexts: Contexts in which this is done.
        actions: Name of the action in each cell that runs get to.
        visits: Visits per run to each of these cells.
        vertex: One of the vertices.
    """

    component: int
    rest: Rest
    contexts: list[int]
    actions: dict[Place, str] = field(default_factory=dict)
    visits: dict[Place, float] = field(default_factory=dict)
    vertex: int = -1

    @property
    def total(self) -> float:
        """Visits per run to all cells."""
        return sum(self.visits.values())

    def agrees(self, other: ActionGrid) -> bool:
        """Whether both do the same in all cells that they share."""
        shared = self.actions.keys() & other.actions.keys()
        return all(self.actions[place] == other.actions[place] for place in shared)

    def add(self, other: ActionGrid) -> None:
        """Take in another grid that agrees."""
        self.contexts += other.contexts
        self.actions |= other.actions
        for place, visits in other.visits.items():
            self.visits[place] = self.visits.get(place, 0.0) + visits


def plot_grids(policy: Policy, most: int, maps: str | Mapping[str, str] | None) -> list[Axes]:
    """See `Policy.plot`."""
    cells = Cells.of(policy.model)
    if cells is None:
        raise ValueError(
            f"{policy.model.name} has no features row and column, so no grid can be plotted:"
            " model.draw(policy) draws any model"
        )
    if most < 1:
        raise ValueError(f"most is how many grids are drawn, not {most}")
    grids = grids_of(policy, cells)
    import matplotlib.pyplot as plt

    shown = grids[:most]
    columns = min(IN_A_ROW, len(shown))
    rows = math.ceil(len(shown) / columns)
    size = INCHES * columns, (INCHES + 0.5) * rows
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    axes: list[Axes] = panels.ravel().tolist()
    for one, grid in zip(axes, shown, strict=False):
        several = sum((g.component, g.rest) == (grid.component, grid.rest) for g in grids) > 1
        component = policy.model.names.components[grid.component]
        _draw(one, grid, cells, map_letters(maps, component))
        one.set_title(_caption(policy, grid, several), fontsize=9)
    for empty in axes[len(shown) :]:
        empty.remove()
    if len(grids) > most:
        left = sum(grid.total for grid in grids[most:])
        figure.supxlabel(f"{len(grids) - most} more grids, visits per run: {left:.2g}", fontsize=9)
    return axes[: len(shown)]


def grids_of(policy: Policy, cells: Cells) -> list[ActionGrid]:
    """All grids that differ, those that runs get to most first."""
    by_context = _by_context(policy, cells)
    merged: dict[tuple[int, Rest], list[ActionGrid]] = {}
    for grid in sorted(by_context, key=lambda one: -one.total):
        alike = merged.setdefault((grid.component, grid.rest), [])
        same = next((other for other in alike if other.agrees(grid)), None)
        if same is None:
            alike.append(grid)
        else:
            same.add(grid)
    return sorted((g for alike in merged.values() for g in alike), key=lambda one: -one.total)


def _by_context(policy: Policy, cells: Cells) -> list[ActionGrid]:
    """A grid for each context and each value of the other features."""
    grids: dict[tuple[int, Rest], ActionGrid] = {}
    visits = policy.visits.means
    often: dict[tuple[int, Rest, Place], float] = {}
    for slot, count in zip(*_slots(policy, visits), strict=True):
        vertex, context = int(policy.slot_vertex[slot]), int(policy.slot_context[slot])
        place = cells.place(vertex)
        if place is None:
            continue
        rest, component = cells.rest(vertex), int(policy.context_component[context])
        key = context, rest
        grid = grids.setdefault(key, ActionGrid(component, rest, [context], vertex=vertex))
        grid.visits[place] = grid.visits.get(place, 0.0) + count
        # Several vertices may lie in one cell: the arrow is that of the one that is visited most.
        if count >= often.get((*key, place), 0.0):
            often[*key, place] = count
            action = int(policy.actions[slot])
            named = policy.model.action_names(vertex)
            grid.actions[place] = "any" if action == RANDOM else named[action]
    return list(grids.values())


def _slots(policy: Policy, visits: np.ndarray) -> tuple[list[int], list[float]]:
    """Slots that runs get to, and the visits per run to each."""
    slots, which = np.unique(policy.reached.slot, return_inverse=True)
    return slots.tolist(), np.bincount(which, visits, len(slots)).tolist()


def _caption(policy: Policy, grid: ActionGrid, several: bool) -> str:
    """Which component, features and contexts a grid is for, and how often runs get there."""
    lines = [policy.model.names.components[grid.component]]
    words = ", ".join(feature_words(dict(grid.rest)))
    lines += [words] if words else []
    if several:
        first, more = policy.context_names[grid.contexts[0]], len(grid.contexts) - 1
        lines.append(first + (f" and {more} more contexts" if more else ""))
    about = "about " if policy.visits.sampled else ""
    return "\n".join([*lines, f"visits per run: {about}{grid.total:.2g}"])


def _draw(axes: Axes, grid: ActionGrid, cells: Cells, letters: Mapping[Place, str]) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = cells.shape
    axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", xticks=[], yticks=[])
    seen = cells.seen()
    for place in np.ndindex(rows, columns):
        row, column = int(place[0]), int(place[1])
        letter = letters.get((row, column), "" if (row, column) in seen else WALL)
        fill = "0.45" if letter == WALL else "0.97"
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=fill, edgecolor="0.7"))
        if letter not in (WALL, ".", "o", ""):
            axes.text(column + 0.08, row + 0.08, letter, va="top", fontsize=9, color="0.35")
    for name, (row, column) in cells.marks(grid.vertex).items():
        axes.text(column + 0.08, row + 0.95, name, va="bottom", fontsize=7, color="0.35")
    highest = max(grid.visits.values(), default=1.0)
    for place, action in grid.actions.items():
        _draw_action(axes, place, action, 0.35 + 0.65 * grid.visits[place] / highest)


def _draw_action(axes: Axes, place: Place, action: str, strength: float) -> None:
    """An arrow for a move, the name of any other action; fainter where runs seldom get to."""
    x, y = place[1] + 0.5, place[0] + 0.5
    if action not in DIRECTIONS:
        axes.text(x, y, action, ha="center", va="center", fontsize=8, color=BLUE, alpha=strength)
        return
    down, across = DIRECTIONS[action]
    tail, tip = (x - 0.28 * across, y - 0.28 * down), (x + 0.28 * across, y + 0.28 * down)
    arrow = {"arrowstyle": "-|>", "color": BLUE, "lw": 2, "alpha": strength, "mutation_scale": 14}
    axes.annotate("", tip, tail, arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0})
