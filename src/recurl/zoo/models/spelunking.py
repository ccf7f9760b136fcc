"""Infinite spelunking: the 1-exit experiment of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NamedTuple

from recurl.automaton.grid import MOVES, Cell, Grid
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.outcomes import Branch, add_action
from recurl.zoo.values import between, number

FEATURES = ("level", "row", "column", "gear", "landing_row", "landing_column")
LEVELS = ("oxo/oxo/oxo", "oox/xoo/rxo")
STEP_REWARD = Fraction(-1)
ACTIONS = (*MOVES, "climb")

STEP_LIMIT = 200
"""Steps after which an episode is cut, as in the published runs; the paper's text has no limit."""


def spelunking(
    trap: Number = 0.5,
    fall_reward: Number = -1,
    futile_reward: Number = -1,
    *,
    levels: tuple[str, ...] = LEVELS,
    discount: Number = 0.99,
    start: tuple[int, int] = (0, 2),
) -> RMDP:
    """Climb out of an infinite cave whose levels have traps and, some, climbing gear.

    A level is a component and its state is (cell, gear or not, the cell where one landed). Actions
    are the four moves (a wall means no move) and ``climb``; each step pays -1.

    - On a trap (x) without gear, with the trap probability the action is not carried out: the agent
      falls to a uniformly random cell of the next level, which pays `fall_reward` instead. When it
      returns it stands in its own level on that same random cell.
    - ``climb`` without gear descends to the cell below, in the next level, and so returns to the
      cell where it began. With gear it leaves the level from the cell where one landed; otherwise
      nothing happens, which pays `futile_reward`.
    - Who returns from below has the gear; so has who lands or walks on it (r).
    - Each step, calls included, leaves the level with probability 1 - discount, and pays what it
      would have paid in the mean (box-wise discounting).

    Types of levels take turns: below type i lies type i + 1, below the last one the first. Every
    box remembers where the agent will stand on return, and its landing cell in its own level. As a
    transition has one reward, falling from a trap to the very cell that a descent leads to pays
    the mean of both.

    The value is **-11.7619**; with the rewards of the published runs (fall_reward -2, futile_reward
    -5) it is -12.5471. With these the best route changes from over the traps to around them near a
    trap probability of 0.95; with every step at -1 the traps win throughout.

    Features: type of the level, row, column, gear (0 or 1), row and column of the landing cell.

    Args:
        trap: Probability that a trap opens, in [0, 1].
        fall_reward: Reward of a step in which a trap opens.
        futile_reward: Reward of climbing with gear where one did not land.
        levels: A map for each type of level: o free, x trap, r gear; rows separated by slashes. All
            of the same size.
        discount: Probability of not leaving the level by chance, in (0, 1]. With 1 a run may go on
            forever, so the model is not proper.
        start: Row and column in the first type of level, where one starts as if landed there.

    Example:
        >>> model = spelunking(trap=0.9)
        >>> model
        <RMDP spelunking: 2 components, 1857 vertices, 1-exit, recursive>
        >>> model.action_names(model.find("level0.r0c2"))
        ['north', 'east', 'south', 'west', 'climb']
    """
    rules = (
        between("trap", trap, 0, 1, closed="both"),
        number("fall_reward", fall_reward),
        number("futile_reward", futile_reward),
        between("discount", discount, 0, 1, closed="high"),
    )
    kinds = [_Level(kind, grid, *rules) for kind, grid in enumerate(_read_levels(levels))]
    entrance = Cell(*start)
    if entrance not in kinds[0].grid:
        raise ValueError(
            f"start {start} lies outside the map, which has {kinds[0].grid.shape} cells"
        )
    builder = Builder("spelunking").features(*FEATURES)
    for kind, landings in _landings(kinds, entrance).items():
        kinds[kind].write(builder, landings, below=f"level{(kind + 1) % len(kinds)}")
    return builder.build(f"level0.{entrance}")


def _read_levels(levels: tuple[str, ...]) -> list[Grid]:
    if isinstance(levels, str) or not levels:
        raise ValueError("levels must be a tuple of maps, one for each type of level")
    grids = [Grid.read(text, letters="oxr") for text in levels]
    if len({grid.shape for grid in grids}) != 1:
        raise ValueError("levels must all have the same size: a fall leads to the cell below")
    return grids


class _State(NamedTuple):
    """Where one stands in a level, and whether one has the gear."""

    cell: Cell
    gear: bool


_Target = _State | Cell | None
"""Walk to a state, call the next level at a cell, or leave."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One type of level, and what actions do in it."""

    kind: int
    grid: Grid
    trap: Fraction
    fall: Fraction
    futile: Fraction
    discount: Fraction

    def outcomes(self, landing: Cell, state: _State, action: str) -> Iterator[Branch]:
        """All that an action may lead to."""
        target, reward = self._acted(landing, state, action)
        opens = self.trap if self._on_trap(state) else 0
        yield Branch(_name(target, landing), (1 - opens) * self.discount, reward)
        yield Branch("out", 1 - self.discount, opens * self.fall + (1 - opens) * reward)
        if opens:
            p = opens * self.discount / prod(self.grid.shape)
            yield from (Branch(_name(c, landing), p, self.fall) for c in self.grid.cells())

    def _on_trap(self, state: _State) -> bool:
        return self.grid[state.cell] == "x" and not state.gear

    def _acted(self, landing: Cell, state: _State, action: str) -> tuple[_Target, Fraction]:
        """The effect of an action where no trap opens."""
        if action in MOVES:
            there = self.grid.moved(state.cell, action)
            return self.stand(there, gear=state.gear), STEP_REWARD
        if not state.gear:
            return state.cell, STEP_REWARD
        if state.cell == landing:
            return None, STEP_REWARD
        return state, self.futile

    def stand(self, cell: Cell, *, gear: bool = False) -> _State:
        """The state on a cell; one that holds gear gives it."""
        return _State(cell, gear or self.grid[cell] == "r")

    def explore(self, landing: Cell) -> tuple[set[_State], set[Cell]]:
        """The outcomes of a visit: the states walked to, and the cells of calls."""
        walked: set[_State] = set()
        called: set[Cell] = set()
        todo = [self.stand(landing)]
        while todo:
            state = todo.pop()
            for target in self._targets(landing, state):
                if isinstance(target, _State) and target not in walked:
                    walked.add(target)
                    todo.append(target)
                elif isinstance(target, Cell) and target not in called:
                    called.add(target)
                    todo.append(_State(target, gear=True))
        return walked, called

    def _targets(self, landing: Cell, state: _State) -> Iterator[_Target]:
        opens = self.trap if self._on_trap(state) else 0
        if opens:
            yield from self.grid.cells()
        if opens != 1:
            yield from (self._acted(landing, state, action)[0] for action in ACTIONS)

    def write(self, builder: Builder, landings: Iterable[Cell], below: str) -> None:
        """The component of this type of level, entered at these cells."""
        visits = {landing: self.explore(landing) for landing in sorted(landings)}
        builder.component(f"level{self.kind}", entries=map(str, visits), exits="out")
        for landing, (_, called) in visits.items():
            for cell in sorted(called):
                builder.box(_box(cell, landing), below)
        for landing, (walked, called) in visits.items():
            self._write_vertex(builder, str(landing), landing, self.stand(landing))
            for state in sorted(walked):
                self._write_vertex(builder, _node(state, landing), landing, state)
            for cell in sorted(called):
                port = f"{_box(cell, landing)}.out"
                self._write_vertex(builder, port, landing, _State(cell, gear=True))

    def _write_vertex(self, builder: Builder, name: str, landing: Cell, state: _State) -> None:
        builder.at(name, features=[self.kind, *state.cell, state.gear, *landing])
        for action in ACTIONS:
            add_action(builder, action, self.outcomes(landing, state, action))


def _landings(levels: list[_Level], start: Cell) -> dict[int, set[Cell]]:
    """The cells of each type of level that a run can land on."""
    landings: dict[int, set[Cell]] = {0: {start}}
    todo = [(0, start)]
    while todo:
        kind, landing = todo.pop()
        below = (kind + 1) % len(levels)
        known = landings.setdefault(below, set())
        new = levels[kind].explore(landing)[1] - known
        known |= new
        todo += [(below, cell) for cell in new]
    return {kind: cells for kind, cells in sorted(landings.items()) if cells}


def _name(target: _Target, landing: Cell) -> str:
    if target is None:
        return "out"
    if isinstance(target, _State):
        return _node(target, landing)
    return f"{_box(target, landing)}.{target}"


def _node(state: _State, landing: Cell) -> str:
    return f"{state.cell}{'-gear' if state.gear else ''}@{landing}"


def _box(cell: Cell, landing: Cell) -> str:
    return f"below-{cell}@{landing}"
