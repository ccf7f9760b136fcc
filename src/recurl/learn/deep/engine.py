"""Shared parts of a deep learner's work on models and on environments."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from recurl.errors import CheckpointError, LimitError
from recurl.learn.deep.loop import DeepAgent, LoopProgram
from recurl.learn.deep.replay import Transition, steps_of
from recurl.learn.deep.settings import DeepSettings

Tree = TypeVar("Tree")

Vector = tuple[float, ...]
"""A context: what each exit is worth."""


class DeepEngine:
    """A deep learner's work; see `DeepModelEngine` and `DeepEnvEngine`."""

    settings: DeepSettings
    program: LoopProgram
    agent: DeepAgent
    flat: bool
    without_buffer = False
    """Whether this is a policy that was kept without the steps that it was learned from."""

    @property
    def loss(self) -> float:
        """Loss of the latest update."""
        return float(self.agent.learned.loss)

    @property
    def n_contexts(self) -> int:
        """A network keeps no contexts."""
        return 0

    @property
    def start(self) -> Vector:
        """Context in which an episode begins."""
        return (0.0,) * self.program.shape.exits

    def knows(self, context: object) -> bool:
        """Whether this is a context of a prediction."""
        fits = isinstance(context, tuple) and len(context) == len(self.start)
        return fits and all(isinstance(value, float) for value in context)  # type: ignore[attr-defined]

    @property
    def stored(self) -> Transition:
        """The rows of the buffer as steps."""
        return steps_of(self.program.record, self.agent.buffer)

    def set_rates(self, settings: DeepSettings) -> None:
        """Take schedules that are settled now; before the first step."""
        self.settings, self.program = settings, self.program._replace(plan=settings.plan)

    def restored(self, like: Tree, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Tree:
        """A tree like the one given with the numbers of a checkpoint; its buffer may be left out.

        Raises:
            CheckpointError: The checkpoint was written by a version that kept other arrays.
            ValueError: An array has another shape or type than it had, or is not finite.
        """
        own = as_arrays(like)
        self.without_buffer = bool(header.get("without_buffer"))
        if self.without_buffer:
            arrays = {**{name: own[name] for name in own if is_stored(name)}, **arrays}
        if missing := own.keys() - arrays.keys():
            raise CheckpointError(
                f"the run was written by recurl {header.get('version')}, whose deep learners kept "
                f"other arrays (there is no {min(missing)}): learn again, or load it with that "
                "version"
            )
        return from_arrays(like, arrays)


def check_finite(
    loss: float, exit_values: Any, step: int, good: int, settings: DeepSettings
) -> None:
    """Complain of a loss, or else of exit values, that are not finite."""
    bad = [x for x in (loss, *np.ravel(exit_values).tolist()) if not math.isfinite(x)]
    if bad:
        cause = "an exit value" if math.isfinite(loss) else "the loss"
        raise LimitError(
            f"{cause} is {bad[0]} at step {step}: lower learning_rate (now "
            f"{settings.learning_rate}), or give reward_scale and value_scale if rewards are "
            f"large. What was learned up to step {good} is kept"
        )


def check_actions(steps: Transition, actions: int) -> None:
    """Refuse stored steps with actions that do not exist."""
    taken = np.asarray(steps.action)
    if taken.min() < 0 or taken.max() >= actions:
        raise ValueError("the run names actions that do not exist")


def as_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a tree of device arrays by their paths.

    Example:
        >>> as_arrays({"a": (jnp.zeros(2), jnp.int32(3))})
        {'a.0': array([0., 0.], dtype=float32), 'a.1': array(3, dtype=int32)}
    """
    return {_name(path): np.asarray(leaf) for path, leaf in _leaves(tree)}


def is_stored(name: str) -> bool:
    """Whether an array of a checkpoint is of use only to go on: the buffer, and stacks of copies.

    Example:
        >>> is_stored("buffer.shown"), is_stored("learned.online.layers.0.weights")
        (True, False)
    """
    return not {"buffer", "place"}.isdisjoint(name.split("."))


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


def _taken(name: str, wanted: Any, arrays: dict[str, np.ndarray]) -> jax.Array:
    array = arrays[name]
    if array.size == wanted.size and 1 in (*array.shape[:1], *wanted.shape[:1]):
        # A file holds a number as an array of one, and older files a single run without an axis.
        array = array.reshape(wanted.shape)
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        raise ValueError(f"{name} should be {wanted.dtype}{list(wanted.shape)}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite")
    return jnp.asarray(array)
