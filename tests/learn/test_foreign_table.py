"""Numbers for what an environment shows, and how the table grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import LimitError, ProtocolError
from recurl.learn import notes_kernel as k
from recurl.learn.foreign_table import ForeignTable, decode_key, encode_key, key_function
from recurl.learn.settings import make_settings
from recurl.simulation.random import new_stream


def table(space: spaces.Space[Any] | None = None, **given: Any) -> ForeignTable:
    settings = make_settings("paper", given)
    return ForeignTable(
        space or spaces.Discrete(1000),
        spaces.Discrete(3, start=5),
        settings,
        flat=False,
        random=new_stream(0),
    )


SPACES = [
    (spaces.Discrete(9), 3, 3, 4),
    (spaces.Box(0, 1, (2,)), np.ones(2), np.ones(2), np.array([1.0, 0.5])),
    (spaces.MultiDiscrete([3, 3]), np.array([1, 2]), np.array([1, 2]), np.array([2, 1])),
    (spaces.Text(5), "ab", "ab", "ba"),
    (spaces.Tuple([spaces.Discrete(3), spaces.Text(3)]), (1, "x"), (1, "x"), (1, "y")),
    (spaces.Dict(a=spaces.Discrete(3)), {"a": 1}, {"a": np.int64(1)}, {"a": 2}),
]


@pytest.mark.parametrize(("space", "one", "same", "other"), SPACES)
def test_observations_are_told_apart_by_value(space: Any, one: Any, same: Any, other: Any) -> None:
    key = key_function(space)
    assert key(one) == key(same) != key(other)
    assert decode_key(encode_key(key(one))) == key(one)
    numbers = [table(space).vertex(x) for x in (one, other)]
    assert numbers == [0, 0]  # each in a table of its own
    shared = table(space)
    assert [shared.vertex(x) for x in (one, other, same)] == [0, 1, 0]


def test_a_space_without_values_is_refused() -> None:
    with pytest.raises(ProtocolError, match="cannot be indexed"):
        table(spaces.Graph(spaces.Discrete(2), None))


def test_actions_are_those_of_the_mask_counted_from_the_start_of_the_space() -> None:
    one = table()
    assert one.actions[one.visit(7, np.array([1, 0, 1], np.int8))] == [5, 7]
    assert one.actions[one.visit(8, None)] == [5, 6, 7]
    assert one.notes.count[:2].tolist() == [2, 3]
    assert one.notes.used[k.WIDEST] == 3


def test_boxes_are_told_by_where_their_exits_lead() -> None:
    one = table()
    assert [one.box(exits) for exits in ((3, 4), (4, 3), (3, 4), (3,))] == [0, 1, 0, 2]
    assert one.header_fields()["boxes"] == [[0, 1], [1, 0], [0]]


def test_growth_keeps_everything() -> None:
    one = table()
    for i in range(300):
        one.visit(i, None)
        one.box(tuple(range(i, i + 3)))
    one.notes.q[:5] = range(5)
    before = len(one.notes.q)
    one.grow()
    assert len(one.notes.q) == 2 * before
    assert one.notes.q[:5].tolist() == [0, 1, 2, 3, 4]
    assert one.notes.count[:300].tolist() == [3] * 300
    assert one.header_fields()["boxes"][299] == [299, 300, 301]


def test_the_limit_names_contexts_and_a_coarser_quantum() -> None:
    one = table(memory=10_000, quantum=0.5)
    with pytest.raises(LimitError, match=r"1 contexts and 0 Q-values .* quantum of 1 "):
        one.grow()


def test_a_table_is_kept_whole() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud(), "onehot")
    learner = recurl.RecursiveQLearning(env, preset="swift").learn(2000)
    old = learner.engine.table
    assert isinstance(old, ForeignTable)
    settings = learner.settings
    new = ForeignTable(
        env.observation_space, env.action_space, settings, flat=False, random=new_stream(1)
    )
    new.restore(old.header_fields(), old.arrays())
    assert new.header_fields() == old.header_fields()
    for name, array in old.arrays().items():
        np.testing.assert_array_equal(array, new.arrays()[name], name)
    assert new.vertices == old.vertices


@pytest.mark.parametrize(
    "change",
    [
        {"row_vertex": np.array([10**6])},
        {"q": np.zeros(1)},
        {"exits": np.array([1])},
        {"values": np.array([np.nan])},
    ],
)
def test_numbers_that_do_not_fit_are_refused(change: dict[str, np.ndarray]) -> None:
    old = table()
    old.visit(3, None)
    with pytest.raises(ValueError, match=r"fit together|out of bounds"):
        table().restore(old.header_fields(), {**old.arrays(), **change})
