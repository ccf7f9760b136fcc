from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from recurl.errors import LimitError
from recurl.learn.deep.engine import as_arrays, check_finite, from_arrays
from recurl.learn.deep.settings import DeepSettings

TREE = {"key": jnp.arange(2), "layers": ((jnp.ones((2, 3)), jnp.int32(4)),)}


def test_there_and_back() -> None:
    arrays = as_arrays(TREE)
    assert sorted(arrays) == ["key", "layers.0.0", "layers.0.1"]
    other = {"key": jnp.zeros(2, int), "layers": ((jnp.zeros((2, 3)), jnp.int32(0)),)}
    back = from_arrays(other, arrays)
    assert back["key"].tolist() == [0, 1]
    assert back["layers"][0][0].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert int(back["layers"][0][1]) == 4


def test_a_number_may_come_back_as_an_array_of_one() -> None:
    arrays = {name: np.atleast_1d(array) for name, array in as_arrays(TREE).items()}
    assert from_arrays(TREE, arrays)["layers"][0][1].shape == ()


@pytest.mark.parametrize(
    "wrong", [np.ones((3, 2), np.float32), np.ones((2, 3)), np.full((2, 3), np.nan, np.float32)]
)
def test_other_arrays_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"layers\.0\.0"):
        from_arrays(TREE, {**as_arrays(TREE), "layers.0.0": wrong})


def test_a_missing_array_is_refused() -> None:
    arrays = as_arrays(TREE)
    del arrays["key"]
    with pytest.raises(KeyError, match="key"):
        from_arrays(TREE, arrays)


def test_a_finite_loss_is_no_reason_to_complain() -> None:
    check_finite(3.0, np.zeros(2), 7, 5, DeepSettings())


def test_the_number_that_is_not_finite_is_named() -> None:
    with pytest.raises(LimitError, match=r"the loss is nan at step 7.*up to step 5 is kept"):
        check_finite(np.nan, np.zeros(2), 7, 5, DeepSettings())
    with pytest.raises(LimitError, match="an exit value is inf at step 7"):
        check_finite(3.0, np.array([0.0, np.inf]), 7, 5, DeepSettings())
