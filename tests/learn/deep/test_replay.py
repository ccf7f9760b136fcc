from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from recurl.learn.deep.replay import Transition, new_buffer, sample, store, store_rows


def step(number: float) -> Transition:
    x, i = jnp.float32(number), jnp.int32(number)
    row = jnp.full(2, number, jnp.float32)
    return Transition(i, row, i, x, jnp.uint8(1), x, i, row, jnp.zeros(0, bool))


def test_the_oldest_step_is_written_over() -> None:
    buffer = new_buffer(step(0), 3)
    for number in range(5):
        buffer = store(buffer, jnp.int32(number), step(number))
    assert buffer.here.tolist() == [3, 4, 2]
    assert buffer.values.tolist() == [[3, 3], [4, 4], [2, 2]]


def test_samples_come_from_what_is_filled() -> None:
    buffer = new_buffer(step(0), 10)
    for number in range(4):
        buffer = store(buffer, jnp.int32(number), step(number + 1))
    draws = jnp.asarray([0.0, 0.24, 0.25, 0.5, 0.99, np.nextafter(np.float32(1), np.float32(0))])
    assert sample(buffer, jnp.int32(4), draws).here.tolist() == [1, 1, 2, 3, 4, 4]


def test_rows_that_are_not_real_are_left_out() -> None:
    one = step(7)
    rows = Transition(*(jnp.stack([x, x + 1, x + 2]) if x.size else x[None] for x in one))
    rows = rows._replace(mask=jnp.zeros((3, 0), bool))
    real = jnp.asarray([True, False, True])
    buffer = store_rows(new_buffer(one, 4), jnp.asarray([3, 4, 4]), rows, real)
    assert buffer.here.tolist() == [9, 0, 0, 7]
