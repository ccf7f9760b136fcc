"""Grids as text, and walking on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
"""The four moves and what they add to row and column."""

WALL = "#"


class Cell(NamedTuple):
    """A place on a grid; row 0 is the northernmost."""

    row: int
    column: int

    def __str__(self) -> str:
        return f"r{self.row}c{self.column}"


@dataclass(frozen=True, slots=True)
class Grid:
    """A rectangle of letters, row by row."""

    rows: tuple[str, ...]

    @classmethod
    def read(cls, text: str, letters: str) -> Grid:
        """A grid from text: rows separated by slashes or line breaks, only these letters.

        Example:
            >>> Grid.read("ox/oo", letters="ox").rows
            ('ox', 'oo')
        """
        rows = tuple(row.strip() for row in text.strip().replace("\n", "/").split("/"))
        if not rows[0] or len(set(map(len, rows))) != 1:
            raise ValueError(f"the rows of the map {text!r} must be equally long, and not empty")
        if strange := set("".join(rows)) - set(letters):
            known = " ".join(letters)
            raise ValueError(f"the map {text!r} has {min(strange)!r}; its letters are {known}")
        return cls(rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.rows), len(self.rows[0])

    def __getitem__(self, cell: Cell) -> str:
        return self.rows[cell.row][cell.column]

    def __contains__(self, cell: Cell) -> bool:
        return 0 <= cell.row < self.shape[0] and 0 <= cell.column < self.shape[1]

    def cells(self, letters: str = "") -> Iterator[Cell]:
        """All cells, row by row, or those that show one of the letters."""
        for row, line in enumerate(self.rows):
            for column, letter in enumerate(line):
                if not letters or letter in letters:
                    yield Cell(row, column)

    def moved(self, cell: Cell, move: str) -> Cell:
        """Where a move ends: on the next cell, or where it began at a wall or the border.

        Example:
            >>> grid = Grid(("..", ".#"))
            >>> str(grid.moved(Cell(0, 0), "east")), str(grid.moved(Cell(0, 1), "south"))
            ('r0c1', 'r0c1')
        """
        rows, columns = MOVES[move]
        there = Cell(cell.row + rows, cell.column + columns)
        return there if there in self and self[there] != WALL else cell
