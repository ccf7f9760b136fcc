"""The loop for environments against the kernel for models: the same numbers, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.learn.shared_env import SharedEnv

import recurl
from recurl.learn.contexts_kernel import find
from recurl.learn.engine import ModelEngine
from recurl.learn.foreign import ForeignEngine
from recurl.learn.settings import make_settings
from recurl.simulation.random import new_stream

STEPS = 8000


def both(
    model: recurl.RMDP, flat: bool, coding: str = "index", **given: Any
) -> tuple[ModelEngine, ForeignEngine]:
    settings = make_settings(
        given.pop("preset", "paper"), {"episode_limit": 100, "seed": 3, **given}
    )
    kernel = ModelEngine(model, settings, flat)
    kernel.advance(STEPS)
    random = new_stream(3)
    loop = ForeignEngine(SharedEnv(model, random, coding), settings, flat, random=random)
    loop.advance(STEPS)
    return kernel, loop


def compare(kernel: ModelEngine, loop: ForeignEngine, vertex_of: dict[int, int]) -> int:
    """Compares every row that both have; returns how many these are."""
    t, n, x = kernel.model.tables, loop.table.notes, kernel.table.contexts
    compared = 0
    for row in range(n.used[0]):
        number, context = int(n.row_vertex[row]), int(n.row_context[row])
        vector = np.zeros(t.max_exits)
        if context:
            begin, count = n.value_start[context], n.exits[context]
            vector[:count] = n.values[begin : begin + count]
        vertex = vertex_of[number]
        component = 0 if kernel.flat else int(t.vertex_component[vertex])
        found = find(x, component, vector)
        if found < 0:
            continue
        begin, width = n.row_begin[row], n.count[number]
        first = x.block[found] + t.action_start[vertex]
        np.testing.assert_array_equal(x.q[first : first + width], n.q[begin : begin + width])
        np.testing.assert_array_equal(
            x.visits[first : first + width], n.visits[begin : begin + width]
        )
        compared += 1
    return compared


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"learning_rate": 0.02, "exploration": recurl.schedules.power(0.5)},
        {"preset": "swift", "inherit": 0},
        {"initial_value": 5.0, "learning_rate": recurl.schedules.exponential(0.5, 1000, 0.1)},
    ],
)
@pytest.mark.parametrize("name", ["cloud", "gambler", "stack_matters", "spelunking", "and_or"])
def test_kernel_and_loop_agree_to_the_bit(name: str, given: dict[str, Any], flat: bool) -> None:
    kernel, loop = both(recurl.zoo.make(name), flat, **given)
    assert (kernel.episodes, kernel.cut) == (loop.episodes, loop.cut)
    vertex_of = {number: int(key) for key, number in loop.table.vertices.items()}  # type: ignore[call-overload]
    assert compare(kernel, loop, vertex_of) == loop.table.notes.used[0]
    visited = int(kernel.table.visits.sum())
    assert visited == loop.table.notes.visits[: loop.table.notes.used[1]].sum()


def test_contexts_inherit_in_environments_too() -> None:
    """The same rule, up to which of equally near contexts is taken."""
    _, loop = both(recurl.zoo.cloud(), False, preset="swift")
    notes = loop.table.notes
    deep = [row for row in range(notes.used[0]) if notes.row_context[row] > 0]
    begin = notes.row_begin[deep]
    assert len(deep) > 50
    assert (notes.visits[begin] > 0).mean() > 0.9


def test_observations_may_be_arrays() -> None:
    kernel, loop = both(recurl.zoo.cloud(), False, coding="onehot")
    keys = {np.eye(24)[v].tobytes(): v for v in range(24)}
    vertex_of = {number: keys[key] for key, number in loop.table.vertices.items()}  # type: ignore[index]
    assert compare(kernel, loop, vertex_of) == loop.table.notes.used[0]
