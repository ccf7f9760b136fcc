"""Numbers for what an environment shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from recurl.errors import ProtocolError
from recurl.learn import store_kernel as k
from recurl.learn.env_engine import env_store
from recurl.learn.numbering import Numbering, decode_key, encode_key, key_function
from recurl.learn.settings import make_settings


def table(space: spaces.Space[Any] | None = None, *, inherit: bool = False) -> Numbering:
    store = env_store(make_settings("paper", {}), flat=False)
    observations = space or spaces.Discrete(1000)
    return Numbering(observations, spaces.Discrete(3, start=5), store, inherit=inherit)


SPACES = [
    (spaces.Discrete(9), 3, 3, 4),
    (spaces.Box(0, 1, (2,)), np.ones(2), np.ones(2), np.array([1.0, 0.5])),
    (spaces.Box(0, 1, (2,)), np.ones(2, np.float32), np.ones(2), np.array([-1.0, -0.5])),
    (spaces.Box(-1, 1, (1,)), np.array([0.0]), np.array([-0.0], np.float32), np.array([-1.0])),
    (spaces.MultiDiscrete([3, 3]), np.array([1, 2]), np.array([1, 2], np.int8), np.array([2, 1])),
    (spaces.MultiDiscrete([3, 3]), np.array([1, 2]), np.array([1, 2]), np.array([2, 1])),
    (spaces.Text(5), "ab", "ab", "ba"),
    (spaces.Text(5), "a [:", "a [:", "longer than five"),
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
    arrays = one._store.arrays
    assert arrays["vertices"]["count"][:2].tolist() == [2, 3]
    assert arrays["used"][[k.MORE_ROWS, k.MORE_PAIRS]].tolist() == [2, 6]


def test_inheriting_contexts_need_room_for_all_rows() -> None:
    one = table(inherit=True)
    for observation in range(5):
        one.visit(observation, None)
    assert one._store.arrays["used"][[k.MORE_ROWS, k.MORE_PAIRS]].tolist() == [7, 21]


def test_boxes_are_told_by_where_their_exits_lead() -> None:
    one = table()
    assert [one.box(exits) for exits in ((3, 4), (4, 3), (3, 4), (3,))] == [0, 1, 0, 2]
    assert one.header_fields()["boxes"] == [[0, 1], [1, 0], [0]]


def test_growth_keeps_everything() -> None:
    one = table()
    for i in range(300):
        one.visit(i, None)
        one.box(tuple(range(i, i + 3)))
    one.box(tuple(range(40)))
    arrays = one._store.arrays
    assert arrays["vertices"]["count"][:300].tolist() == [3] * 300
    assert one.header_fields()["boxes"][299] == [299, 300, 301]
    assert arrays["boxes"][299].tolist() == (897, 3)
    assert arrays["ports"][897:900].tolist() == [299, 300, 301]
    assert len(arrays["vector"]) == 40


def test_numbers_are_kept_whole() -> None:
    old, new = table(), table()
    old.visit(7, np.array([1, 0, 1], np.int8))
    old.visit(8, np.array([1, 1, 1], np.int8))
    old.box((7, 9))
    new.restore(old.header_fields())
    assert new.header_fields() == old.header_fields()
    assert new.vertices == old.vertices
    assert new.boxes == old.boxes
    assert new.visit(7, np.array([1, 0, 1], np.int8)) == 0


def test_a_box_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="leads nowhere"):
        table().restore({**table().header_fields(), "boxes": [[]]})


@pytest.mark.parametrize("kind", [np.int8, np.int64, bool, list])
def test_a_mask_may_have_any_type_and_is_known_after_loading(kind: Any) -> None:
    mask: Any = [1, 0, 1] if kind is list else np.array([1, 0, 1], kind)
    old, new = table(), table()
    assert [old.visit(7, mask), old.visit(7, mask)] == [0, 0]
    new.restore(old.header_fields())
    assert new.visit(7, mask) == 0
    with pytest.raises(ProtocolError, match=r"it leaves \[5, 6\], and left \[5, 7\] before"):
        new.visit(7, np.array([1, 1, 0], np.int8))
    with pytest.raises(ProtocolError, match=r"it leaves \[5, 6, 7\], and left \[5, 7\] before"):
        new.visit(7, None)


@pytest.mark.parametrize("actions", [[4], [8], [6, 5], [5, 5]])
def test_actions_that_do_not_exist_are_not_loaded(actions: list[int]) -> None:
    one = table()
    one.visit(7, None)
    with pytest.raises(ValueError, match="do not exist"):
        table().restore({**one.header_fields(), "actions": [actions]})


@pytest.mark.parametrize(
    ("space", "seen"),
    [
        (spaces.Discrete(3), -1),
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), 1.5),
        (spaces.Discrete(3), "1"),
        (spaces.Box(0, 1, (2,)), np.zeros(3)),
        (spaces.Dict(a=spaces.Discrete(3)), {"a": 3}),
        (spaces.Tuple([spaces.Discrete(3)]), (1, 2)),
        (spaces.Text(5), 3),
    ],
)
def test_an_observation_of_another_form_is_refused(space: Any, seen: Any) -> None:
    for read in (lambda one: one.vertex(seen), lambda one: one.visit(seen, None)):
        with pytest.raises(ProtocolError, match="not in the observation space"):
            read(table(space))
