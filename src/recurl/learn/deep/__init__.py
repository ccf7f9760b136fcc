"""Deep Recursive Q-learning on JAX; everything here needs the extra ``deep``."""

from __future__ import annotations

from importlib.util import find_spec

from recurl.errors import MissingExtraError

if not (find_spec("jax") and find_spec("optax")):
    raise MissingExtraError("Deep learning", "deep")
