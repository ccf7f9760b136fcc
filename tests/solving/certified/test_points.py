"""Points: how those of a component are connected, and their order."""

from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.certified.points import (
    CLOUD,
    LINE,
    MESH,
    arranged,
    call_slots,
    make_points,
    slot_vertices,
)

from .parts import scattered


@pytest.mark.parametrize(("exits", "mode"), [(2, LINE), (3, MESH), (5, MESH), (6, CLOUD)])
def test_modes(exits: int, mode: int) -> None:
    assert scattered(exits, 30).mode.tolist() == [mode]


def test_calls_are_numbered_in_the_order_of_slots() -> None:
    t = recurl.zoo.cloud().tables
    points = make_points(t, [np.zeros((2, int(n))) for n in t.n_exits])
    slots = call_slots(t, points)
    assert len(slots) == points.call[-1] == 2 * len(t.box_owner)
    first = t.component_start[points.component] - points.slot[:-1]
    for x in range(len(points.component)):
        own = slots[points.call[x] : points.call[x + 1]] + first[x]
        begin = points.call_vertex[points.component[x]]
        assert own.tolist() == list(range(begin, begin + len(own)))
    assert (
        slot_vertices(t, points)[slots]
        == np.concatenate(
            [slots[points.call[x] : points.call[x + 1]] + first[x] for x in range(len(first))]
        )
    ).all()


def test_arranged_drops_twins() -> None:
    rows = arranged(np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 4.0]]), connected=True)
    assert rows.tolist() == [[-4.0, 0.0], [1.0, 0.0]]
