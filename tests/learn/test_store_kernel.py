"""Contexts and rows in their hash tables, and the header that leads to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recurl
from recurl.learn import store_kernel as k
from recurl.learn.engine import model_store
from recurl.learn.env_engine import env_store
from recurl.learn.settings import make_settings
from recurl.learn.store import ContextStore
from recurl.simulation.jit import compiled

H = 2
"""The component of cloud that has two exits."""


@compiled
def _find(h: np.ndarray, kind: int) -> int:
    return k.find(h, kind)


@compiled
def _create(h: np.ndarray, kind: int, entry: int) -> int:
    return k.create(h, kind, entry)


@compiled
def _nearest(h: np.ndarray, kind: int, entry: int) -> int:
    return k.nearest(h, kind, entry)


@compiled
def _make_row(h: np.ndarray, context: int, vertex: int) -> int:
    return k.make_row(h, context, vertex)


@compiled
def _best_at(h: np.ndarray, context: int, vertex: int) -> float:
    return k.best_at(h, context, vertex)


def cloud(**given: Any) -> ContextStore:
    return model_store(recurl.zoo.cloud(), make_settings("paper", given), flat=False)


def env(**given: Any) -> ContextStore:
    store = env_store(make_settings("paper", given), flat=False)
    store.arrays["vertices"]["count"][:6] = 2
    store.arrays["used"][k.MORE_ROWS], store.arrays["used"][k.MORE_PAIRS] = 8, 16
    store.grow()
    return store


def found(store: ContextStore, kind: int, *values: float) -> int:
    store.arrays["vector"][: len(values)] = values
    return int(_find(store.header, kind))


def made(store: ContextStore, kind: int, *values: float, entry: int = 0) -> int:
    store.make_room()
    number = found(store, kind, *values)
    return number if number >= 0 else int(_create(store.header, kind, entry))


def closest(store: ContextStore, kind: int, *values: float, entry: int = 0) -> int:
    store.arrays["vector"][: len(values)] = values
    return int(_nearest(store.header, kind, entry))


def entry_of(store: ContextStore, context: int) -> int:
    """First entry of q of H's entry in a context."""
    return int(store.arrays["block"][context] + store.arrays["first_pair"][H])


def test_contexts_are_found_as_in_a_dictionary() -> None:
    store, known = cloud(), {}
    for one, two in (np.random.default_rng(0).integers(0, 40, (2000, 2)) * 0.125).tolist():
        assert found(store, H, one, two) == known.get((one, two), -1)
        known[one, two] = made(store, H, one, two)
    assert store.n_contexts == 1 + len(known)  # and the one in which runs start
    assert sorted(known.values()) == list(range(1, 1 + len(known)))
    assert found(store, H, 0.0, 99.0) == -1
    assert found(store, 1, 0.125) == -1


def test_components_do_not_share_contexts() -> None:
    store = cloud()
    two, before = made(store, H, 0.0, 0.0), store.n_pairs
    one = made(store, 1, 0.0)
    assert (found(store, H, 0.0, 0.0), found(store, 1, 0.0)) == (two, one)
    assert store.n_pairs - before == np.diff(store.arrays["first_pair"])[1]


def test_new_contexts_begin_with_the_initial_value() -> None:
    store = cloud(initial_value=0.5)
    made(store, H, 0.0, 1.0)
    assert set(store.q.tolist()) == {0.5}
    assert set(store.visits.tolist()) == {0}


def test_new_contexts_inherit_from_the_nearest() -> None:
    store = cloud(inherit=50)
    near, far = made(store, H, 0.0, 1.0), made(store, H, 0.0, 5.0)
    for context, value in ((near, -3.0), (far, -9.0)):
        store.arrays["q"][entry_of(store, context)] = value
        store.arrays["visits"][entry_of(store, context)] = 70
    assert closest(store, H, 0.0, 2.9) == near
    assert closest(store, H, 0.0, 3.1) == far
    heir = entry_of(store, made(store, H, 0.0, 2.0))
    assert (store.q[heir], store.visits[heir]) == (-3.0, 50)


def test_only_recent_contexts_are_looked_at() -> None:
    store = cloud()
    numbers = [made(store, H, 0.0, float(i)) for i in range(k.SCANNED + 1)]
    assert closest(store, H, 0.0, 0.0) == numbers[1]
    assert closest(store, 1, 0.0) == -1


def test_a_hashed_row_is_made_once_with_the_initial_value() -> None:
    store = env(initial_value=-1.5)
    begin = _make_row(store.header, 0, 3)
    assert store.q[begin : begin + 2].tolist() == [-1.5, -1.5]
    assert _make_row(store.header, 0, 3) == begin
    assert _make_row(store.header, 0, 4) == begin + 2
    assert store.n_rows == 2


def test_rows_never_made_promise_the_initial_value() -> None:
    store = env(initial_value=4.0)
    assert _best_at(store.header, 0, 3) == 4.0
    store.arrays["q"][_make_row(store.header, 0, 3) + 1] = 4.5
    assert _best_at(store.header, 0, 3) == 4.5


def test_contexts_of_an_environment_are_their_exit_values() -> None:
    store = env()
    assert made(store, 2, 0.0, 0.0) == made(store, 1, 0.0) == 0
    assert made(store, 2, 0.0, 1.0) == 1
    assert made(store, 2, 1.0, 0.0) == 2
    assert made(store, 3, 0.0, 1.0, 0.0) == 3
    assert made(store, 2, 0.0, 1.0) == 1


def test_a_new_context_of_an_environment_inherits_the_rows_of_the_nearest() -> None:
    store = env(inherit=10)
    near, far = made(store, 2, 0.0, 1.0), made(store, 2, 0.0, 9.0)
    for context, value in ((near, -1.0), (far, -2.0)):
        begin = _make_row(store.header, context, 0)
        store.arrays["q"][begin : begin + 2] = value
        store.arrays["visits"][begin] = 99
    heir = made(store, 2, 0.0, 2.0)
    assert _best_at(store.header, heir, 0) == -1.0
    begin = _make_row(store.header, heir, 0)
    assert store.visits[begin : begin + 2].tolist() == [10, 0]


def test_a_context_that_was_not_entered_there_is_not_near() -> None:
    store = env(inherit=10)
    made(store, 2, 0.0, 1.0)
    assert closest(store, 2, 0.0, 1.1, entry=3) == -1
    _make_row(store.header, 0, 3)
    assert closest(store, 2, 0.0, 1.1, entry=3) == 0


@compiled
def _touch(h: np.ndarray) -> float:
    k.floats(h, k.Q)[1] = 2.5
    k.longs(h, k.VISITS)[2] = 7
    k.vertex_records(h, k.VERTICES)[1].count = 9
    return float(k.size_of(h, k.Q) + k.floats(h, k.NUMBERS)[k.QUANTUM])


@pytest.mark.parametrize("store", [cloud(quantum=0.25), env(quantum=0.25)], ids=["model", "env"])
def test_compiled_code_sees_the_arrays_themselves(store: ContextStore) -> None:
    arrays = store.arrays
    assert _touch(store.header) == len(arrays["q"]) + 0.25
    seen = (arrays["q"][1], arrays["visits"][2], arrays["vertices"]["count"][1])
    assert seen == (2.5, 7, 9)


@pytest.mark.parametrize("store", [cloud(), env()], ids=["model", "env"])
def test_every_array_has_the_type_that_the_header_says(store: ContextStore) -> None:
    assert list(store.arrays) == list(k.FIELDS)
    for name, array in store.arrays.items():
        assert array.dtype == np.dtype(k.FIELDS[name]), name
        assert array.flags.c_contiguous, name
