from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.definition import models

import recurl
from recurl.model.outcomes import PACKED, outcomes_of_model, running_sums
from recurl.model.tables import CALLS, EXITS


@given(models())
def test_calls_land_at_entries_and_push_the_first_return_port(model: recurl.RMDP) -> None:
    t, outcomes = model.tables, model.outcomes
    calls = outcomes.move == CALLS
    np.testing.assert_array_equal(calls, outcomes.push >= 0)
    boxes = t.move_box[calls]
    np.testing.assert_array_equal(outcomes.push[calls], t.box_return[boxes])
    np.testing.assert_array_equal(outcomes.port[calls], t.target[calls])
    np.testing.assert_array_equal(outcomes.landing, t.landing)
    assert (outcomes.box[outcomes.move == EXITS] == -1).all()
    np.testing.assert_array_equal(outcomes.start[t.start_prob > 0], t.starts)


def test_records_hold_the_columns() -> None:
    outcomes = outcomes_of_model(recurl.zoo.palindrome().tables)
    records = outcomes.packed()
    assert PACKED.itemsize == 32
    for name in PACKED.names or ():
        np.testing.assert_array_equal(records[name], getattr(outcomes, name))


def test_running_sums_end_in_one_and_skip_empty_rows() -> None:
    prob, row_start = np.array([0.1] * 10 + [1.0, 0.3, 0.7]), np.array([0, 0, 10, 11, 11, 13])
    below = running_sums(prob, row_start)
    np.testing.assert_allclose(below[:10], np.arange(1, 11) / 10, atol=1e-15)
    assert below[[9, 10, 12]].tolist() == [1.0, 1.0, 1.0]
    assert abs(below[11] - 0.3) < 1e-15
