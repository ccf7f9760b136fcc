"""Gridworlds: models whose features say in which row and column a vertex lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints

DIRECTIONS = {
    "north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1),
    "up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1),
}  # fmt: skip
"""Actions that move to a neighbouring cell, and what they add to row and column."""

WALL = "#"

Place = tuple[int, int]
"""Row and column of a cell; row 0 is the northernmost."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The grid that the features ``row`` and ``column`` place the vertices of a model on.

    Attributes:
        model: The model.
        row: Row of each vertex, -1 if it has none. ``[V]``
        column: Column of each vertex, likewise. ``[V]``
        shape: Number of rows and of columns.
    """

    model: RMDP
    row: Ints
    column: Ints
    shape: tuple[int, int]

    @classmethod
    def of(cls, model: RMDP) -> Cells | None:
        """The grid of a model, or None if it has none.

        A vertex lies on the grid if it has actions, and no feature ``over`` says that the run is
        only led out.

        Example:
            >>> import recurl
            >>> Cells.of(recurl.zoo.battery()).shape, Cells.of(recurl.zoo.cloud())
            ((3, 4), None)
        """
        names = model.feature_names
        if model.features is None or not {"row", "column"} <= set(names):
            return None
        table = model.features
        there = model.tables.states.copy()
        if "over" in names:
            there &= table[:, names.index("over")] == 0
        if not there.any():
            return None
        row, column = (
            np.where(there, table[:, names.index(name)], -1).astype(np.int32)
            for name in ("row", "column")
        )
        return cls(model, row, column, (int(row.max()) + 1, int(column.max()) + 1))

    def place(self, vertex: int) -> Place | None:
        """The cell of a vertex."""
        row, column = int(self.row[vertex]), int(self.column[vertex])
        return None if row < 0 else (row, column)

    def marks(self, vertex: int) -> dict[str, Place]:
        """Other cells that the features of a vertex name, such as ``goal_row``, ``goal_column``."""
        values = self._values(vertex)
        return {
            name.removesuffix("_row"): (int(values[name]), int(values[_column(name)]))
            for name in values
            if name.endswith("_row") and _column(name) in values
        }

    def rest(self, vertex: int) -> tuple[tuple[str, float], ...]:
        """The other features of a vertex that differ within its component."""
        component = int(self.model.tables.vertex_component[vertex])
        values = self._values(vertex)
        return tuple((name, values[name]) for name in self._varying(component))

    def _values(self, vertex: int) -> dict[str, float]:
        assert self.model.features is not None
        return dict(
            zip(self.model.feature_names, self.model.features[vertex].tolist(), strict=True)
        )

    def _varying(self, component: int) -> list[str]:
        assert self.model.features is not None
        block = self.model.tables.vertices_of(component)
        own = slice(block.start, block.stop)
        table = self.model.features[own][self.row[own] >= 0]
        if not len(table):
            return []
        differ = table.min(axis=0) < table.max(axis=0)
        names = self.model.feature_names
        return [n for n, d in zip(names, differ, strict=True) if d and n not in ("row", "column")]

    def words(self, vertex: int) -> str:
        """Where a vertex is, in words; its name if it is not on the grid.

        Example:
            >>> import recurl
            >>> model = recurl.zoo.spelunking()
            >>> Cells.of(model).words(model.find("level0.r2c0-gear@r0c2"))
            'in row 2, column 0 (gear 1, landing in row 0, column 2)'
        """
        place = self.place(vertex)
        if place is None:
            return f"at {self.model.local_name(vertex)}"
        rest = ", ".join(feature_words(dict(self.rest(vertex))))
        return f"in row {place[0]}, column {place[1]}" + (f" ({rest})" if rest else "")

    def seen(self) -> set[Place]:
        """All cells in which some vertex lies."""
        there = self.row >= 0
        return set(zip(self.row[there].tolist(), self.column[there].tolist(), strict=True))


def _column(row_name: str) -> str:
    return f"{row_name.removesuffix('_row')}_column"


def feature_words(values: Mapping[str, float]) -> Iterator[str]:
    """Features in words; of yes-or-no features with names of several words only the ones that hold.

    Example:
        >>> list(feature_words({"gear": 1, "in back": 0, "top x": 1}))
        ['gear 1', 'top x']
        >>> list(feature_words({"goal_row": 2, "goal_column": 0}))
        ['goal in row 2, column 0']
    """
    for name, value in values.items():
        if name.endswith("_row") and _column(name) in values:
            column = values[_column(name)]
            yield f"{name.removesuffix('_row')} in row {value:g}, column {column:g}"
        elif name.endswith("_column") and f"{name.removesuffix('_column')}_row" in values:
            continue
        elif " " in name and value in (0, 1):
            yield from [name] if value else []
        else:
            yield f"{name} {value:g}"


def map_letters(maps: str | Mapping[str, str] | None, component: str) -> dict[Place, str]:
    """The letters of a text map: rows separated by slashes or line breaks.

    Args:
        maps: A map for all components, or maps by name of component.
        component: Name of the component that is drawn.

    Example:
        >>> map_letters("S./#T", "unit")
        {(0, 0): 'S', (0, 1): '.', (1, 0): '#', (1, 1): 'T'}
    """
    text = maps if isinstance(maps, str) else (maps or {}).get(component, "")
    rows = text.strip().replace("\n", "/").split("/") if text else []
    return {(r, c): letter for r, row in enumerate(rows) for c, letter in enumerate(row.strip())}
