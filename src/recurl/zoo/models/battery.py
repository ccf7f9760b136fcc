"""A robot that stores energy on a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from recurl.automaton.grid import MOVES, Cell, Grid
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.outcomes import Branch, add_action
from recurl.zoo.values import at_least, between, number

FEATURES = ("row", "column", "charged", "reserve", "over")
LANES = ("done", "broken")


def battery(
    layout: str = "S..#/.#.T/C...",
    charge: int = 2,
    *,
    breakdown: Number = 0.01,
    slip: Number = 0,
    target_reward: Number = 1,
    step_reward: Number = 0,
) -> RMDP:
    """Reach the target before the battery runs dry: dwelling on a charger pushes, moving pops.

    On a grid (S start, T target, C charger, # wall, . free) each of the four moves uses up one unit
    of charge, also at a wall, where it does not move; so it does, by slipping, with probability
    `slip`. On a charger ``stay`` gains one unit. A move with an empty battery ends the run. Each
    step first breaks down with a small probability, which ends the run: waiting forever
    does not pay, though the battery has no limit. The target pays `target_reward` and ends the
    run; each step pays `step_reward`, whatever comes of it.

    As a recursive model each unit gained is a call of the component ``unit``, which is left through
    the exit for the cell where that unit was used up. Two exit lanes, ``done`` and ``broken``, lead
    straight down. The component ``reserve`` counts the units that were there from the start.

    Without slipping and step rewards the value is **(1 - breakdown)ⁿ** target_reward, where n is
    the least number of steps, dwelling included, in which the target can be reached: 10 on the
    default map.

    Features: row, column, charged (1 while gained units are left), units of the reserve that are
    left (where charged is 0), over (1 in the lanes).

    Args:
        layout: The map, rows separated by slashes, with one S and at least one T.
        charge: Units at the start.
        breakdown: Probability of a breakdown per step, in [0, 1). With 0 the model is not proper.
        slip: Probability that a move stays where it is, in [0, 1).
        target_reward: Reward of reaching the target.
        step_reward: Reward of each step.

    Example:
        >>> battery()
        <RMDP battery: 2 components, 48 vertices, multi-exit, recursive>
    """
    world = _World(
        Grid.read(layout, letters=".SCT#"),
        between("breakdown", breakdown, 0, 1, closed="low"),
        between("slip", slip, 0, 1, closed="low"),
        number("target_reward", target_reward),
        number("step_reward", step_reward),
    )
    at_least("charge", charge, 0)
    check_map(layout)
    (start,) = world.grid.cells("S")
    builder = Builder("battery").features(*FEATURES)
    entries, used = world.unit_cells(start, charge)
    world.write_reserve(builder, start, charge, used=used)
    if entries:
        world.write_unit(builder, entries, used)
    return builder.build("reserve")


def check_map(layout: str) -> None:
    """A map must say where the robot starts and where it is to go."""
    if layout.count("S") != 1 or "T" not in layout:
        raise ValueError(f"the map {layout!r} must have one start S and at least one target T")


@dataclass(frozen=True, slots=True)
class _World:
    """The rules of one map, and the components that follow from them."""

    grid: Grid
    breakdown: Fraction
    slip: Fraction
    target_reward: Fraction
    step_reward: Fraction

    def unit_cells(self, start: Cell, charge: int) -> tuple[set[Cell], set[Cell]]:
        """The chargers on which units can be gained, and the cells on which they are used up."""
        layer = seen = {start}
        for _ in range(charge):
            layer = self._spread(layer)
            seen = seen | layer
        chargers, used = self._chargers(seen), set[Cell]()
        while not (there := self._spread(chargers | used)) <= used:
            used |= there
            chargers |= self._chargers(used)
        return chargers, used

    def _chargers(self, cells: set[Cell]) -> set[Cell]:
        return {cell for cell in cells if self.grid[cell] == "C"}

    def _spread(self, cells: set[Cell]) -> set[Cell]:
        """Where one move can end, short of the target."""
        ends = {there for cell in cells for move in MOVES for there, _ in self._ends(cell, move)}
        return {cell for cell in ends if self.grid[cell] != "T"}

    def _ends(self, cell: Cell, move: str) -> Iterator[tuple[Cell, Fraction]]:
        yield self.grid.moved(cell, move), 1 - self.slip
        if self.slip:
            yield cell, self.slip

    def write_unit(self, builder: Builder, entries: set[Cell], used: set[Cell]) -> None:
        """The component of a gained unit: its exits are the cells on which it is used up."""
        exits = [*map(str, sorted(used)), *LANES]
        builder.component("unit", entries=[_charge(c) for c in sorted(entries)], exits=exits)
        builder.box("more", "unit")
        names = {_charge(cell): cell for cell in sorted(entries)}
        names |= {f"more.{cell}": cell for cell in sorted(used)}
        for name, cell in names.items():
            builder.at(name, features=[*cell, 1, 0, 0])
            self._moves(builder, cell, leave=str)
            self._stay(builder, cell, box="more")
        _lanes(builder, "more")

    def write_reserve(self, builder: Builder, start: Cell, charge: int, *, used: set[Cell]) -> None:
        """The component at the bottom, which counts the units of the start."""
        builder.component("reserve", entries="start", exits=[*LANES, "dry"])
        layer = {start}
        for units in range(charge, -1, -1):
            names = {"start" if units == charge else f"{c}-{units}": c for c in sorted(layer)}
            box = f"more{units}"
            if self._chargers(layer):
                builder.box(box, "unit")
                _lanes(builder, box)
                names |= {f"{box}.{cell}": cell for cell in sorted(used)}
            for name, cell in names.items():
                builder.at(name, features=[*cell, 0, units, 0])
                self._moves(builder, cell, leave=_spend(units))
                self._stay(builder, cell, box=box)
            layer = self._spread(set(names.values()))

    def _moves(self, builder: Builder, cell: Cell, leave: Callable[[Cell], str]) -> None:
        """The four moves; `leave` names where the last unit's use leads, by cell."""
        for move in MOVES:
            outcomes = [self._broken]
            for there, p in self._ends(cell, move):
                target, reward = leave(there), self.step_reward
                if self.grid[there] == "T" and target != "dry":
                    target, reward = "done", reward + self.target_reward
                outcomes.append(Branch(target, p * (1 - self.breakdown), reward))
            add_action(builder, move, outcomes)

    def _stay(self, builder: Builder, cell: Cell, box: str) -> None:
        """On a charger: gain a unit."""
        if self.grid[cell] == "C":
            gained = Branch(f"{box}.{_charge(cell)}", 1 - self.breakdown, self.step_reward)
            add_action(builder, "stay", [self._broken, gained])

    @property
    def _broken(self) -> Branch:
        return Branch("broken", self.breakdown, self.step_reward)


def _charge(cell: Cell) -> str:
    return f"charge-{cell}"


def _spend(units: int) -> Callable[[Cell], str]:
    """Where the use of a unit of the reserve leads, by cell."""
    return (lambda there: f"{there}-{units - 1}") if units else (lambda there: "dry")


def _lanes(builder: Builder, box: str) -> None:
    """The exit lanes of a box, straight on to the own ones."""
    for lane in LANES:
        builder.at(f"{box}.{lane}", features=[0, 0, 0, 0, 1]).action("stop").to(lane)
