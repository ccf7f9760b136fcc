"""Trees of device arrays as named numpy arrays, and back."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Tree = TypeVar("Tree")


def as_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a tree by their paths; random keys as the numbers behind them.

    Example:
        >>> as_arrays({"a": (jnp.zeros(2), jnp.int32(3))})
        {'a.0': array([0., 0.], dtype=float32), 'a.1': array(3, dtype=int32)}
    """
    return {_name(path): np.asarray(_plain(leaf)) for path, leaf in _leaves(tree)}


def from_arrays(like: Tree, arrays: dict[str, np.ndarray]) -> Tree:
    """A tree like the one given, with other numbers.

    Raises:
        ValueError: An array has another shape or type than it had, or is not finite.
        KeyError: An array is missing.
    """
    leaves = [_taken(_name(path), leaf, arrays) for path, leaf in _leaves(like)]
    tree: Tree = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return tree


def _leaves(tree: Any) -> list[tuple[Any, Any]]:
    return jax.tree_util.tree_flatten_with_path(tree)[0]


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _taken(name: str, leaf: Any, arrays: dict[str, np.ndarray]) -> Any:
    array, wanted = arrays[name], _plain(leaf)
    if wanted.shape == () and array.shape == (1,):
        array = array.reshape(())  # a file holds a number as an array of one
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        raise ValueError(f"{name} should be {wanted.dtype}{list(wanted.shape)}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite")
    return jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else jnp.asarray(array)
