"""Large models part by part: the bounds hold whatever the parts are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recurl
from recurl.errors import LimitError, NotProperError
from recurl.model.table_folder import open_tables, save_tables
from recurl.solving.by_components import BYTES, solve_large


def hierarchy(seed: int) -> recurl.RMDP:
    return recurl.zoo.random_model(
        seed=seed, components=12, nodes=15, kind="hierarchical", exits=1, entries=1
    )


def recursive(seed: int) -> recurl.RMDP:
    return recurl.zoo.random_model(seed=seed, components=5, nodes=12, kind="one_exit")


@pytest.mark.parametrize("make", [hierarchy, recursive])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_and_are_narrow(make, seed: int) -> None:
    model = make(seed)
    found = solve_large(model.tables, epsilon=1e-8)
    truth = recurl.solve(model, epsilon=1e-9)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower <= 1e-6
    assert truth.values_lower is not None
    entries = model.tables.component_start[:-1]
    assert (found.entry_lower <= truth.values_upper[entries] + 1e-12).all()
    assert (found.entry_upper >= truth.values_lower[entries] - 1e-12).all()


def test_less_memory_means_more_parts_and_the_same_bounds(tmp_path: Path) -> None:
    model = hierarchy(1)
    save_tables(model.tables, tmp_path)
    mapped = open_tables(tmp_path)
    whole = solve_large(model.tables)
    largest = int(
        np.diff(
            model.tables.transition_start[model.tables.action_start[model.tables.component_start]]
        ).max()
    )
    small = solve_large(mapped, memory=BYTES * largest)
    assert whole.parts == 1
    assert small.parts >= 10
    assert small.largest < whole.largest == model.tables.n_transitions
    assert small.lower <= whole.upper
    assert whole.lower <= small.upper
    assert small.upper - small.lower <= 1e-4


def test_what_does_not_fit_or_end_is_refused() -> None:
    with pytest.raises(LimitError, match="components that call each other"):
        solve_large(recursive(0).tables, memory=1000)
    with pytest.raises(NotProperError, match="need not end"):
        solve_large(recurl.zoo.gambler(p=0.6).tables)
    with pytest.raises(ValueError, match="one entry and one exit"):
        solve_large(recurl.zoo.cloud().tables)
