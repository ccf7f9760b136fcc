"""Gridworlds from text maps, as labelled processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from recurl.automaton.grid import MOVES, WALL, Cell, Grid
from recurl.automaton.mdp import LabelledMDP, Move
from recurl.errors import UnknownNameError
from recurl.model.limits import MOST_CELLS
from recurl.model.numbers import exact
from recurl.model.spec import Number

FREE = "."
START = "S"
_SIDES = {"north": ("west", "east"), "south": ("east", "west")}
_SIDES |= {"east": ("north", "south"), "west": ("south", "north")}


def gridworld(
    layout: str,
    name: str = "grid",
    *,
    start: str | Mapping[tuple[int, int], Number] | None = None,
    slip: Number = 0,
    sideways: bool = True,
    stays: Mapping[str, str] | None = None,
    replaced: Mapping[str, Number] | None = None,
    breakdown: Number = 0,
    step_reward: Number = 0,
    rewards: Mapping[str, Number] | None = None,
    ends: str = "",
) -> LabelledMDP:
    """A gridworld from a text map.

    Rows are separated by line breaks or slashes; ``#`` is a wall, ``.`` is free, any other
    character is a letter. The actions are north, east, south and west, without effect at walls.
    A step's labels are the name of the action that was performed and the letter of the cell where
    it ends, moved or not.

    Args:
        layout: The map.
        name: Name of the process.
        start: Letters of the first cells, all equally likely, or probabilities by (row, column);
            if not given, the cells marked S, or all cells if there are none.
        slip: Probability that a move goes wrong.
        sideways: Whether it then goes to either side, equally likely, or else stays.
        stays: Further actions, which do not move, each with the letters of the cells that have it;
            ``""`` stands for all cells.
        replaced: Actions that come in place of the one chosen, and how likely each is.
        breakdown: Probability, per step, that the run ends before anything else happens.
        step_reward: Reward of every step.
        rewards: Reward of ending a step on each letter, added to that.
        ends: Letters that end the run.

    Raises:
        ValueError: The map or a parameter is wrong.

    Example:
        >>> gridworld("S.#/..G", slip="1/10", ends="G")
        <LabelledMDP grid: 4 states, 4 actions, 6 labels>
    """
    text = layout.strip()
    if len(text) > MOST_CELLS:
        raise ValueError(f"the map has {len(text)} cells, more than {MOST_CELLS}")
    letters = set(text) - set("/\n\r\t ")
    grid = Grid.read(text, letters="".join(sorted(letters | {FREE, WALL})))
    for what, named in (("rewards", rewards or {}), ("ends", ends)):
        if strange := set(named) - letters:
            raise ValueError(f"{what}: no cell of the map shows {min(strange)!r}")
    world = _World(
        grid,
        _share("slip", slip),
        sideways,
        dict(stays or {}),
        replaced={_known(a, stays): _share(a, p) for a, p in (replaced or {}).items()},
        breakdown=_share("breakdown", breakdown),
        step_reward=exact(step_reward),
        rewards={letter: exact(r) for letter, r in (rewards or {}).items()},
        ends=ends,
    )
    shown = letters - {FREE, WALL}
    return LabelledMDP.explore(
        name,
        _starts(grid, start),
        world.actions,
        world.step,
        labels=[*MOVES, *world.stays, *shown],
        features=lambda cell: [float(cell.row), float(cell.column)],
        feature_names=("row", "column"),
    )


@dataclass(frozen=True, slots=True)
class _World:
    """The rules of one map."""

    grid: Grid
    slip: Fraction
    sideways: bool
    stays: Mapping[str, str]
    replaced: Mapping[str, Fraction]
    breakdown: Fraction
    step_reward: Fraction
    rewards: Mapping[str, Fraction]
    ends: str = field(default="")

    def actions(self, cell: Cell) -> list[str]:
        here = self.grid[cell]
        extra = [name for name, letters in self.stays.items() if not letters or here in letters]
        return [*MOVES, *extra]

    def step(self, cell: Cell, action: str) -> Iterator[Move]:
        if self.breakdown:
            yield Move(cell, self.breakdown, self.step_reward, (), True)
        for performed, p in self._performed(action):
            for there, q in self._ends(cell, performed):
                yield self._move(there, performed, p * q * (1 - self.breakdown))

    def _performed(self, action: str) -> Iterable[tuple[str, Fraction]]:
        rest = 1 - sum(self.replaced.values(), Fraction(0))
        chosen = {action: rest}
        for other, p in self.replaced.items():
            chosen[other] = chosen.get(other, Fraction(0)) + p
        return [(name, p) for name, p in chosen.items() if p]

    def _ends(self, cell: Cell, action: str) -> Iterator[tuple[Cell, Fraction]]:
        if action not in MOVES or not self.slip:
            yield (self.grid.moved(cell, action) if action in MOVES else cell), Fraction(1)
            return
        yield self.grid.moved(cell, action), 1 - self.slip
        if not self.sideways:
            yield cell, self.slip
            return
        for side in _SIDES[action]:
            yield self.grid.moved(cell, side), self.slip / 2

    def _move(self, there: Cell, performed: str, p: Fraction) -> Move:
        letter = self.grid[there]
        reward = self.step_reward + self.rewards.get(letter, Fraction(0))
        labels = [performed] if letter == FREE else [performed, letter]
        return Move(there, p, reward, labels, letter in self.ends)


def _starts(grid: Grid, start: str | Mapping[tuple[int, int], Number] | None) -> dict[Cell, Number]:
    """The first cells and their probabilities."""
    if isinstance(start, Mapping):
        cells = {Cell(*place): p for place, p in start.items()}
        for cell in cells:
            if cell not in grid or grid[cell] == WALL:
                raise ValueError(f"start: no free cell in row {cell.row}, column {cell.column}")
        return cells
    found = list(grid.cells(START if start is None else start))
    if not found and start is not None:
        raise ValueError(f"start: no cell of the map shows one of {start!r}")
    found = found or [cell for cell in grid.cells() if grid[cell] != WALL]
    if not found:
        raise ValueError("the map has no free cell")
    return {cell: Fraction(1, len(found)) for cell in found}


def _share(name: str, p: Number) -> Fraction:
    value = exact(p)
    if not 0 <= value < 1:
        raise ValueError(f"{name}: a probability must be in [0, 1), not {p}")
    return value


def _known(action: str, stays: Mapping[str, str] | None) -> str:
    known = [*MOVES, *(stays or {})]
    if action not in known:
        raise UnknownNameError("action", action, known)
    return action
