from __future__ import annotations

import pytest

from recurl.automaton.grid import MOVES, Cell, Grid


def test_rows_are_divided_by_slashes_or_lines() -> None:
    text = """
        ab
        cd
    """
    assert Grid.read(text, "abcd") == Grid.read("ab/cd", "abcd") == Grid(("ab", "cd"))


def test_cells_by_letter() -> None:
    grid = Grid(("ab", "ba"))
    assert grid.shape == (2, 2)
    assert list(map(str, grid.cells())) == ["r0c0", "r0c1", "r1c0", "r1c1"]
    assert list(grid.cells("b")) == [(0, 1), (1, 0)]
    assert grid[Cell(1, 0)] == "b"


@pytest.mark.parametrize(
    ("cell", "ends"),
    [
        ((1, 1), [(0, 1), (1, 2), (1, 1), (1, 0)]),
        ((0, 0), [(0, 0), (0, 1), (1, 0), (0, 0)]),
        ((2, 2), [(1, 2), (2, 2), (2, 2), (2, 2)]),
    ],
)
def test_moves_end_at_borders_and_walls(cell: tuple[int, int], ends: list[tuple[int, int]]) -> None:
    grid = Grid(("...", "...", ".#."))
    assert [grid.moved(Cell(*cell), move) for move in MOVES] == ends


@pytest.mark.parametrize(("text", "message"), [("", "empty"), ("a/bb", "equally"), ("ax", "'x'")])
def test_wrong_maps_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grid.read(text, "ab")
