from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.solving.depth_kernel import local_graph, raise_height
from recurl.solving.rows import rows_of_model


def test_probabilities_to_stay_below_a_height() -> None:
    # T(h + 1) = 1/2 + T(h) / 2 with T(0) = 0: 1 - 2^-h.
    model = recurl.zoo.countdown(p="1/2")
    rows = rows_of_model(model.tables)
    order = np.flatnonzero(model.tables.states)[::-1].astype(np.int32)
    table = np.zeros((rows.size, 1))
    for height in range(1, 6):
        table = raise_height(rows, table, order)
        assert table[model.tables.starts[0], 0] == pytest.approx(1 - 0.5**height)


def test_calls_lead_to_what_follows_them() -> None:
    model = recurl.zoo.gambler(p="1/4")
    rows = rows_of_model(model.tables)
    places = np.flatnonzero(model.tables.states).astype(np.int32)
    start, target = local_graph(rows, places)
    first = int(model.tables.starts[0])
    after = target[start[first] : start[first + 1]].tolist()
    assert after == rows.push[rows.transition_start[rows.action_start[first]] :][:1].tolist()
