from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.definition import landing
from tests.zoo.reference import Configuration, best_exit_values, start_value, step_bound

from recurl import zoo
from recurl.model.rmdp import RMDP

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
PUBLISHED = {"fall_reward": -2, "futile_reward": -5}
CAVES = [
    zoo.parameters("spelunking")["levels"],
    ("xo/or",),
    ("xxx/xox", "oxo/rrx", "ooo/xox"),
]


class Frame(NamedTuple):
    """One visit to a level; a visit that waits stands where it will be on return, with the gear."""

    level: int
    landing: tuple[int, int]
    cell: tuple[int, int]
    gear: bool


Frames = tuple[Frame, ...]


class Cave:
    """The rules once more, step by step, with the visits as a stack."""

    def __init__(self, levels: tuple[str, ...], trap: str, fall: int, futile: int) -> None:
        self.maps = [level.split("/") for level in levels]
        self.trap, self.fall, self.futile = Fraction(trap), fall, futile
        self.stay = Fraction(99, 100)

    def letter(self, level: int, cell: tuple[int, int]) -> str:
        return self.maps[level][cell[0]][cell[1]]

    def outcomes(self, frames: Frames, action: str) -> dict[Frames, tuple[Fraction, Fraction]]:
        """Probability and mean reward of all that may follow."""
        *under, here = frames
        events: list[tuple[Fraction, int, Frames]] = []
        opens = Fraction(0)
        if self.letter(here.level, here.cell) == "x" and not here.gear:
            opens = self.trap
            cells = [(r, c) for r, row in enumerate(self.maps[0]) for c in range(len(row))]
            events += [(opens / len(cells), self.fall, self.down(frames, cell)) for cell in cells]
        events.append((1 - opens, *self.act(frames, action)))
        mean = sum(p * reward for p, reward, _ in events)
        total: dict[Frames, tuple[Fraction, Fraction]] = {}
        leaving = [(1 - self.stay, mean, tuple(under))]
        for p, reward, after in [(p * self.stay, r, a) for p, r, a in events] + leaving:
            known = total.get(after, (Fraction(0), Fraction(0)))
            total[after] = known[0] + p, known[1] + p * reward
        return {after: (p, paid / p) for after, (p, paid) in total.items() if p}

    def act(self, frames: Frames, action: str) -> tuple[int, Frames]:
        *under, here = frames
        if action == "climb":
            if not here.gear:
                return -1, self.down(frames, here.cell)
            return (-1, tuple(under)) if here.cell == here.landing else (self.futile, frames)
        row, column = here.cell[0] + MOVES[action][0], here.cell[1] + MOVES[action][1]
        if not (0 <= row < len(self.maps[0]) and 0 <= column < len(self.maps[0][0])):
            row, column = here.cell
        gear = here.gear or self.letter(here.level, (row, column)) == "r"
        return -1, (*under, here._replace(cell=(row, column), gear=gear))

    def down(self, frames: Frames, cell: tuple[int, int]) -> Frames:
        *under, here = frames
        below = (here.level + 1) % len(self.maps)
        landed = Frame(below, cell, cell, self.letter(below, cell) == "r")
        return (*under, here._replace(cell=cell, gear=True), landed)


def frames_of(model: RMDP, configuration: Configuration | None) -> Frames:
    """What a configuration of the model stands for: all frames have a vertex with features."""
    if configuration is None:
        return ()
    boxes, vertex = configuration
    assert model.features is not None
    rows = [model.features[v] for v in [*model.tables.box_return[list(boxes)], vertex]]
    return tuple(
        Frame(int(level), (int(lr), int(lc)), (int(row), int(column)), bool(gear))
        for level, row, column, gear, lr, lc in rows
    )


@pytest.mark.parametrize("levels", CAVES)
@pytest.mark.parametrize("trap", ["0", "1/2", "1"])
def test_model_follows_the_rules_exactly(levels: tuple[str, ...], trap: str) -> None:
    model = zoo.spelunking(trap, -2, -5, levels=levels, start=(0, 1))
    cave, t = Cave(levels, trap, -2, -5), model.tables
    rng = np.random.default_rng(1)
    (entry,) = model.start_exact()
    for _ in range(8):
        here: Configuration | None = ((), entry)
        assert frames_of(model, here) == (Frame(0, (0, 1), (0, 1), levels[0][1] == "r"),)
        for _ in range(80):
            if here is None:
                break
            action = int(rng.integers(5))
            name = model.action_names(here[1])[action]
            row = t.action_start[here[1]] + action
            edges = range(t.transition_start[row], t.transition_start[row + 1])
            found = {
                frames_of(model, landing(model, here[0], int(t.target[e]))): (
                    model.exact.prob(e),
                    model.exact.reward(e),
                )
                for e in edges
            }
            assert found == cave.outcomes(frames_of(model, here), name)
            here = landing(model, here[0], int(t.target[int(rng.choice(edges))]))


def first_moves(model: RMDP) -> list[str]:
    """The best actions at the start."""
    t, x = model.tables, best_exit_values(model)
    (entry,) = model.start_exact()
    q = np.add.reduceat(t.prob * (t.reward + x[t.target]), t.transition_start[:-1])
    own = q[t.action_start[entry] : t.action_start[entry + 1]]
    return [
        name for name, v in zip(model.action_names(entry), own, strict=True) if v > max(own) - 1e-9
    ]


@pytest.mark.parametrize(
    ("trap", "best"), [(0.5, "west"), (0.94, "west"), (0.97, "south"), (1, "south")]
)
def test_published_rewards_turn_away_from_traps_near_095(trap: float, best: str) -> None:
    assert first_moves(zoo.spelunking(trap, -2, -5)) == [best]


@pytest.mark.parametrize("trap", [0.1, 0.5, 0.95, 1])
def test_with_equal_rewards_the_traps_win(trap: float) -> None:
    assert first_moves(zoo.spelunking(trap)) == ["west"]


@pytest.mark.parametrize(("rewards", "value"), [({}, -11.7618885), (PUBLISHED, -12.5471010)])
def test_values(rewards: dict[str, int], value: float) -> None:
    assert start_value(zoo.spelunking(**rewards)) == pytest.approx(value, abs=1e-6)  # type: ignore[arg-type]


def test_expected_length_is_bounded() -> None:
    assert step_bound(zoo.spelunking()).max() < 100 * 101


def test_structure() -> None:
    model = zoo.spelunking()
    assert list(model.names.components) == ["level0", "level1"]
    assert model.kind.one_exit
    assert model.tables.n_entries.tolist() == [9, 9]
    assert model.vertex_name(int(model.tables.starts[0])) == "level0.r0c2"
    assert model.feature_names == (
        "level",
        "row",
        "column",
        "gear",
        "landing_row",
        "landing_column",
    )


@pytest.mark.parametrize("levels", CAVES)
@pytest.mark.parametrize("trap", [0, 0.5, 1])
def test_every_state_can_be_visited(levels: tuple[str, ...], trap: float) -> None:
    assert not zoo.spelunking(trap, levels=levels, start=(0, 1)).warnings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trap": 1.5}, r"trap must be in \[0, 1\], not 1.5"),
        ({"discount": 0}, r"discount must be in \(0, 1\], not 0"),
        ({"fall_reward": "much"}, "fall_reward: 'much' is not a finite"),
        ({"futile_reward": float("inf")}, "futile_reward"),
        ({"levels": ("oo", "o/o")}, "same size"),
        ({"levels": ("oo/o",)}, "equally long"),
        ({"levels": ("oq",)}, "'q'; its letters are o x r"),
        ({"levels": ()}, "levels must be a tuple of maps"),
        ({"levels": "oxo"}, "levels must be a tuple of maps"),
        ({"start": (0, 3)}, "outside the map"),
        ({"start": (-1, 0)}, "outside the map"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zoo.spelunking(**wrong)
