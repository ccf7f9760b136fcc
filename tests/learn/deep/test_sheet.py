from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from recurl.learn.deep.network import Shape
from recurl.learn.deep.sheet import Seen, blank, read


def test_what_is_written_is_read() -> None:
    shape, rng = Shape(3, 2, 4), np.random.default_rng(0)
    sheet, seen = blank(shape, lanes=2)
    written = {}
    for name in Seen._fields:
        part = getattr(seen, name)
        numbers = rng.integers(0, 2, part.shape)
        part[...] = written[name] = numbers
    found = read(shape, jnp.asarray(sheet))
    for name, numbers in written.items():
        np.testing.assert_array_equal(getattr(found, name), numbers)
    assert (found.action.dtype, found.move.dtype) == (jnp.int32, jnp.uint8)
    assert (found.mask.dtype, found.there.dtype) == (jnp.bool_, jnp.float32)
    assert found.ports.shape == (2, 2, 3)
    assert found.ports_mask.shape == (2, 2, 4)
