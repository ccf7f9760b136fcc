"""The palindrome gridworld of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Literal

from recurl.automaton.grid import MOVES, Cell, Grid
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.outcomes import Branch, add_action
from recurl.zoo.values import at_least, between

BOTTOM = "bottom"
SPECIAL = "special"
FEATURES = ("row", "column", "phase", "top", "wrong", "goal_row", "goal_column")


def vertices(size: int, **others: Any) -> float:
    """About how many vertices the model has."""
    return 75 * size**2


def palindrome(
    size: int = 3, corruption: Number = 0.01, *, penalty: Literal["each", "once"] = "each"
) -> RMDP:
    """Walk a palindrome that ends on the goal, before the eyes of a pushdown automaton.

    The grid is square, its goal in the centre, the start uniformly random; a wall means no move.
    Actions are the four moves and ``special``, and each chosen one is replaced by ``special`` with
    a small probability: then it counts as ``special`` in all that follows.

    - Before the middle a move pushes its letter, and ``special`` says "middle reached" (it moves
      nothing). Both pay -1.
    - After the middle every action pops a letter. If it is that letter it pays -1, else it pays -5
      and something went wrong, for good. Moves still move.
    - When the stack is empty after the middle, any action ends the run: a move pays -5; ``special``
      pays 50 on the goal if nothing went wrong, else -1.

    As a recursive model there is a component per letter and one for the bottom of the stack, a push
    is a call, and a letter is popped by leaving through the exit for (cell, went wrong): exit
    number 2 cell + wrong. All cells have exits, so that exits mean the same in all letters, though
    no right letter ends at its own far border. The three exits of the bottom say how the run ended.

    With the defaults the value is **41.0326**; pushing four letters is enough. The paper's text
    pays -5 on entering the rejecting sink of the automaton, its published runs for every action
    that does not match. The default is that of the runs, since the published curves were learned
    with it; ``penalty="once"`` is the text's: after the first wrong action all others pay -1, and
    the value is **41.0338**.

    Features: row, column, phase (0 before the middle, 1 after it), top of the stack (0 at the
    bottom, then north, east, south, west), went wrong, row and column of the goal.

    Args:
        size: Rows and columns of the grid, at least 1.
        corruption: Probability that an action becomes ``special``, in [0, 1). With 0 a run may go
            on forever, so the model is not proper.
        penalty: Whether -5 is paid for ``each`` wrong action, or ``once``, for the first.

    Example:
        >>> model = palindrome()
        >>> model
        <RMDP palindrome: 5 components, 621 vertices, multi-exit, recursive>
        >>> model.action_names(model.find("north.r0c1"))
        ['north', 'east', 'south', 'west', 'special']
    """
    at_least("size", size, 1)
    if penalty not in ("each", "once"):
        raise ValueError(f"penalty must be 'each' or 'once', not {penalty!r}")
    rules = _Rules(
        Grid(("." * size,) * size),
        between("corruption", corruption, 0, 1, closed="low"),
        penalty == "once",
    )
    builder = Builder("palindrome").features(*FEATURES)
    rules.write(builder, BOTTOM, rules.grid.cells())
    for letter in MOVES:
        rules.write(builder, letter, (rules.grid.moved(c, letter) for c in rules.grid.cells()))
    return builder.build({f"{BOTTOM}.{cell}": Fraction(1, size**2) for cell in rules.grid.cells()})


@dataclass(frozen=True, slots=True)
class _Rules:
    """The effects of each action, and the components that follow from them."""

    grid: Grid
    corruption: Fraction
    once: bool

    def write(self, builder: Builder, top: str, entries: Iterable[Cell]) -> None:
        """The component in which `top` is the top of the stack."""
        cells = sorted(set(entries))
        builder.component(top, entries=map(str, cells), exits=self._exits(top))
        for letter in MOVES:
            builder.box(letter, letter)
        for cell in cells:
            builder.at(str(cell), features=self._features(top, cell, phase=0))
            self._actions(builder, partial(self._push, cell))
        for vertex, cell, wrong in self._after_middle(cells):
            builder.at(vertex, features=self._features(top, cell, phase=1, wrong=wrong))
            self._actions(builder, partial(self._pop, top, cell, wrong))

    def _exits(self, top: str) -> list[str]:
        if top == BOTTOM:
            return ["success", "failure", "moved"]
        return [_exit(cell, wrong) for cell in self.grid.cells() for wrong in (False, True)]

    def _after_middle(self, cells: Iterable[Cell]) -> Iterator[tuple[str, Cell, bool]]:
        """The vertices of a component at which actions pop."""
        yield from ((_back(cell), cell, False) for cell in cells)
        for letter, cell, wrong in product(MOVES, self.grid.cells(), (False, True)):
            yield f"{letter}.{_exit(cell, wrong)}", cell, wrong

    def _actions(self, builder: Builder, effect: Callable[[str], tuple[str, int]]) -> None:
        """All actions of a vertex, given the target and reward of each."""
        instead, paid_instead = effect(SPECIAL)
        for action in (*MOVES, SPECIAL):
            target, paid = effect(action)
            chosen = Branch(target, 1 - self.corruption, paid)
            add_action(builder, action, [chosen, Branch(instead, self.corruption, paid_instead)])

    def _push(self, cell: Cell, action: str) -> tuple[str, int]:
        if action == SPECIAL:
            return _back(cell), -1
        return f"{action}.{self.grid.moved(cell, action)}", -1

    def _pop(self, top: str, cell: Cell, wrong: bool, action: str) -> tuple[str, int]:
        if top == BOTTOM:
            return self._end(cell, wrong, action)
        there = cell if action == SPECIAL else self.grid.moved(cell, action)
        return _exit(there, wrong or action != top), self._paid(action == top, wrong)

    def _end(self, cell: Cell, wrong: bool, action: str) -> tuple[str, int]:
        if action != SPECIAL:
            return "moved", self._paid(False, wrong)
        return ("success", 50) if cell == self._goal and not wrong else ("failure", -1)

    def _paid(self, right: bool, wrong: bool) -> int:
        """The reward of an action after the middle, where something may have been wrong before."""
        return -1 if right or (self.once and wrong) else -5

    @property
    def _goal(self) -> Cell:
        rows, columns = self.grid.shape
        return Cell(rows // 2, columns // 2)

    def _features(self, top: str, cell: Cell, *, phase: int, wrong: bool = False) -> list[float]:
        letter = (BOTTOM, *MOVES).index(top)
        return [*cell, phase, letter, wrong, *self._goal]


def _exit(cell: Cell, wrong: bool) -> str:
    return f"{cell}-{'wrong' if wrong else 'ok'}"


def _back(cell: Cell) -> str:
    return f"{cell}-back"
