"""Contexts in their hash table, against a dictionary."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.learn.contexts_kernel import (
    CONTEXTS,
    PAIRS,
    SCANNED,
    Contexts,
    create,
    find,
    nearest,
)
from recurl.learn.table import Table

H = 2
"""The component of cloud that has two exits."""


def filled(count: int) -> tuple[Contexts, dict[tuple[float, ...], int]]:
    table = Table(recurl.zoo.cloud().tables)
    table.reserve(count + 8, 20 * count)
    known: dict[tuple[float, ...], int] = {}
    for values in np.random.default_rng(0).integers(0, 40, (count, 2)) * 0.125:
        found = find(table.contexts, H, values)
        assert found == known.get(tuple(values), -1)
        if found < 0:
            known[tuple(values)] = create(table.contexts, H, values, 0.5, 0)
    return table.contexts, known


def test_contexts_are_found_as_in_a_dictionary() -> None:
    x, known = filled(2000)
    assert x.used[CONTEXTS] == 1 + len(known)  # and the one in which runs start
    assert sorted(known.values()) == list(range(1, 1 + len(known)))
    for values, number in known.items():
        assert find(x, H, np.array(values)) == number
    assert find(x, H, np.array([0.0, 99.0])) == -1
    assert find(x, 1, np.array([0.125, 0.0])) == -1


def test_components_do_not_share_contexts() -> None:
    x, known = filled(5)
    before = x.used[PAIRS]
    number = create(x, 1, np.zeros(2), 0.0, 0)
    assert find(x, 1, np.zeros(2)) == number
    assert x.used[PAIRS] - before == x.first_action[2] - x.first_action[1]
    assert find(x, H, np.zeros(2)) == known.get((0.0, 0.0), -1)


def test_new_contexts_begin_with_the_initial_value() -> None:
    x, known = filled(3)
    for number in known.values():
        begin = x.block[number] + x.first_action[H]
        end = x.block[number] + x.first_action[H + 1]
        assert set(x.q[begin:end]) == {0.5}
        assert set(x.visits[begin:end]) == {0}


def test_new_contexts_inherit_from_the_nearest() -> None:
    table = Table(recurl.zoo.cloud().tables)
    table.reserve(10, 200)
    x = table.contexts
    near, far = (create(x, H, np.array([0.0, value]), 0.0, 0) for value in (1.0, 5.0))
    pair = int(x.first_action[H])
    x.q[x.block[near] + pair], x.visits[x.block[near] + pair] = -3.0, 70
    x.q[x.block[far] + pair], x.visits[x.block[far] + pair] = -9.0, 70
    assert nearest(x, H, np.array([0.0, 2.9])) == near
    assert nearest(x, H, np.array([0.0, 3.1])) == far
    heir = create(x, H, np.array([0.0, 2.0]), 0.0, 50)
    assert (x.q[x.block[heir] + pair], x.visits[x.block[heir] + pair]) == (-3.0, 50)


def test_only_recent_contexts_are_looked_at() -> None:
    table = Table(recurl.zoo.cloud().tables)
    table.reserve(SCANNED + 10, 2000)
    numbers = [
        create(table.contexts, H, np.array([0.0, float(i)]), 0.0, 0) for i in range(SCANNED + 1)
    ]
    assert nearest(table.contexts, H, np.array([0.0, 0.0])) == numbers[1]
    assert nearest(table.contexts, 1, np.zeros(2)) == -1
