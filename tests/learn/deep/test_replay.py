from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from recurl.learn.deep.replay import (
    Kind,
    Transition,
    new_buffer,
    sample,
    steps_of,
    store,
    store_rows,
)

KIND = Kind(0, 2, 0, False)


def step(number: float) -> Transition:
    x, i = jnp.float32(number), jnp.int32(number)
    row = jnp.full(2, number, jnp.float32)
    none = jnp.zeros(0, bool)
    return Transition(i, row, i, x, jnp.uint8(1), x, i, row, none, none, none)


def test_the_oldest_step_is_written_over() -> None:
    buffer = new_buffer(KIND, 3)
    for number in range(5):
        buffer = store(buffer, jnp.int32(number), step(number))
    steps = steps_of(KIND, buffer)
    assert steps.here.tolist() == [3, 4, 2]
    assert steps.values.tolist() == [[3, 3], [4, 4], [2, 2]]
    assert (steps.here.dtype, steps.move.dtype) == (jnp.int32, jnp.uint8)


def test_whole_numbers_are_kept_exactly() -> None:
    buffer = store(new_buffer(KIND, 1), jnp.int32(0), step(2**24 - 1))
    assert steps_of(KIND, buffer).there.tolist() == [2**24 - 1]


def test_samples_come_from_what_is_filled() -> None:
    buffer = new_buffer(KIND, 10)
    for number in range(4):
        buffer = store(buffer, jnp.int32(number), step(number + 1))
    draws = jnp.asarray([0.0, 0.24, 0.25, 0.5, 0.99, np.nextafter(np.float32(1), np.float32(0))])
    assert sample(KIND, buffer, jnp.int32(4), draws).here.tolist() == [1, 1, 2, 3, 4, 4]


def test_observations_and_masks_are_kept() -> None:
    kind = Kind(3, 1, 2, True)
    row, values, mask = jnp.array([1.5, 2.5, 3.5]), jnp.array([9.0]), jnp.array([True, False])
    x = jnp.float32(4)
    ports, masks = 2 * row[None], ~mask[None]
    one = Transition(
        row, values, jnp.int32(1), x, jnp.uint8(2), x, -row, values, mask, ports, masks
    )
    found = steps_of(kind, store(new_buffer(kind, 1), jnp.int32(0), one))
    assert found.here.tolist() == [[1.5, 2.5, 3.5]]
    assert found.there.tolist() == [[-1.5, -2.5, -3.5]]
    assert found.mask.tolist() == [[True, False]]
    assert (found.ports.tolist(), found.ports_mask.tolist()) == ([[[3, 5, 7]]], [[[False, True]]])
    assert (found.action.tolist(), found.move.tolist(), found.other.tolist()) == ([1], [2], [4])


def test_rows_that_are_not_real_are_left_out() -> None:
    one = step(7)
    rows = Transition(*(jnp.stack([x, x + 1, x + 2]) if x.size else x[None] for x in one))
    none = jnp.zeros((3, 0), bool)
    rows = rows._replace(mask=none, ports=none, ports_mask=none)
    real = jnp.asarray([True, False, True])
    buffer = store_rows(new_buffer(KIND, 4), jnp.asarray([3, 4, 4]), rows, real)
    assert steps_of(KIND, buffer).here.tolist() == [9, 0, 0, 7]
