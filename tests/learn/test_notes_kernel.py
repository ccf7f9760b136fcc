"""One array that leads to all others."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from recurl.learn.jit import compiled

from recurl.learn import notes_kernel as k
from recurl.learn.foreign_table import ForeignTable
from recurl.learn.settings import make_settings
from recurl.simulation.random import new_stream


@compiled
def _touch(header: np.ndarray) -> float:
    n = k.open_notes(header)
    n.q[1], n.visits[2], n.box_exits[0] = 2.5, 7, 9
    return float(len(n.q) + n.numbers[k.QUANTUM])


@compiled
def _step_size(header: np.ndarray, n: int) -> float:
    numbers = k.open_notes(header).numbers
    schedule = k.schedule_at(numbers, k.STEP_SIZE)
    return float(schedule.first * (1.0 + schedule.scale) / (n + schedule.scale))


def table(preset: str = "swift") -> ForeignTable:
    settings = make_settings(preset, {"quantum": 0.25})
    return ForeignTable(
        spaces.Discrete(5), spaces.Discrete(3), settings, flat=False, random=new_stream(0)
    )


def test_compiled_code_sees_the_arrays_themselves() -> None:
    one = table()
    assert _touch(one.header) == len(one.notes.q) + 0.25
    assert (one.notes.q[1], one.notes.visits[2], one.notes.box_exits[0]) == (2.5, 7, 9)


def test_every_array_has_the_type_that_the_header_says() -> None:
    for name, array in table().notes._asdict().items():
        expected = np.uint64 if name == "random" else np.float64 if name in k.FLOATS else np.int64
        assert array.dtype == expected, name


def test_numbers_are_the_settings() -> None:
    numbers = table().notes.numbers
    assert numbers[[k.QUANTUM, k.GRAIN, k.REPLAY, k.INHERIT, k.FLAT]].tolist() == [
        0.25,
        32,
        8,
        50,
        0,
    ]
    assert _step_size(table().header, 12) == 0.5
    assert numbers[k.EXPLORATION + 1] == 0.1
