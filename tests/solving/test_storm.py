"""The same optimum from Storm, where it is installed: on plain processes, and on 1-exit models.

With d the step bounds, x = d y turns the equations of a 1-exit model into those of a plain process:
the rows sum to at most 1 - 1/d, and what is missing goes to the exit.
"""

from __future__ import annotations

import pytest
from benchmarks.storm import available, storm_model, storm_time

import recurl
from recurl.model.tables import Layout
from recurl.solving.one_exit_bounds import step_bounds
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question

pytestmark = pytest.mark.skipif(not available(), reason="stormpy is not installed: bench extra")


def scaled(model: recurl.RMDP) -> tuple[recurl.RMDP, float]:
    """A process without calls, and what its value from the start is to be multiplied by."""
    system = System.of(model, Question())
    eq, d, n = system.equations, step_bounds(system), system.n_rows
    start = int(system.row[model.tables.starts[0]])
    target, prob, reward, transitions, actions = [], [], [], [0], [0]
    # Vertices: the entry, which nothing leads to and which does what `start` does; the exit; rows.
    for vertex, q in enumerate((start, -1, *range(n))):
        for a in range(eq.action_start[q], eq.action_start[q + 1]) if vertex != 1 else ():
            entries = slice(eq.matrix.indptr[a], eq.matrix.indptr[a + 1])
            column = eq.matrix.indices[entries]
            weight = eq.matrix.data[entries] * d[column] / d[q]
            target += [*(column.astype(int) + 2), 1]
            prob += [*weight, 1 - weight.sum()]
            reward += [system.gain[a] / d[q]] * (len(weight) + 1)
            transitions.append(len(target))
        actions.append(len(transitions) - 1)
    process = recurl.RMDP.from_arrays(
        Layout.of([1], [1], [n]),
        action_start=actions,
        transition_start=transitions,
        target=target,
        prob=prob,
        reward=reward,
    )
    return process, float(d[start])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("calls", [0.0, 0.5])
def test_storm_agrees(seed: int, calls: float) -> None:
    model = recurl.zoo.random_model(
        seed, 2, 30, kind="one_exit", call_fraction=calls, exit_probability=0.2, reward_low=0
    )
    process, factor = scaled(model)
    _, value = storm_time(storm_model(process), "OPTIMISTIC_VALUE_ITERATION", 0, 1e-9)
    solution = recurl.solve(model, epsilon=1e-9)
    assert factor * value == pytest.approx(solution.value, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_storm_agrees_on_unravelled_models(seed: int) -> None:
    model = recurl.zoo.random_model(
        seed, 2, 4, kind="general", exits=2, exit_probability=0.5, reward_low=0
    )
    flat = recurl.unravel(model, 3)
    done = range(
        int(flat.tables.n_entries[0]), int(flat.tables.n_entries[0] + flat.tables.n_exits[0])
    )
    assert len(done) == 3
    _, value = storm_time(storm_model(flat), "OPTIMISTIC_VALUE_ITERATION", 0, 1e-9)
    assert value == pytest.approx(recurl.solve(flat, epsilon=1e-8).value, abs=1e-6)
    # Whatever lies deeper is worth at least nothing.
    assert value <= recurl.solve(model).upper + 1e-6
