from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recurl
from recurl.learn.deep.engine import DeepModelEngine
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.stretch import advance, trial_key

SMALL: dict[str, Any] = {"hidden": (8,), "batch": 8, "warm_up": 20, "buffer": 200}


def test_a_test_comes_with_the_stretch_that_ends_where_it_is_due() -> None:
    settings = DeepSettings(**SMALL, evaluate_every=50)
    engine = DeepModelEngine(recurl.zoo.cloud(), settings, flat=False)
    key = jax.random.key(0)
    run, (returns, lengths, cut) = advance(
        engine.program, engine.world, engine.run, jnp.int32(50), key
    )
    assert int(run.step) == 50
    assert (np.asarray(lengths) >= 1).all()
    assert (np.asarray(returns) < 0).all()
    assert not np.asarray(cut).any()
    run, (returns, lengths, _) = advance(engine.program, engine.world, run, jnp.int32(49), key)
    assert int(run.step) == 99
    assert not np.asarray(lengths).any()
    assert not np.asarray(returns).any()


def test_keys_of_tests_differ() -> None:
    key = jax.random.key(0)
    one, two = (float(jax.random.uniform(trial_key(key, jnp.int32(i)))) for i in (1, 2))
    assert one != pytest.approx(two)
