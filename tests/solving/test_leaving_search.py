from __future__ import annotations

import numpy as np
import pytest
from tests.solving.oracle import Chain, random_spec, stackless
from tests.solving.test_leaving import negotiation

import recurl
from recurl.solving.leaving_search import LeavingSearch
from recurl.solving.relaxed import relaxed_equations


@pytest.mark.parametrize("seed", [100012, 100036, 100066])
def test_no_policy_has_more_than_the_best_action_for_every_number(seed: int) -> None:
    model = random_spec(seed, exits=1 + seed // 2 % 3, actions=2)
    exits = int(model.tables.n_exits[model.tables.start_component])
    truths = [Chain(model, choice).truth() for choice in stackless(model, 64)]
    for greatest in (True, False):
        proof = LeavingSearch.of(model, np.ones(exits), None).proof(greatest=greatest)
        start = int(model.tables.component_start[model.tables.start_component])
        for k in range(exits):
            reached = [float(truth.exits[k]) for truth in truths]
            if greatest:
                assert max(reached) <= proof.upper[start, k] + 1e-12
            else:
                assert min(reached) >= proof.lower[start, k] - 1e-12


def test_a_policy_that_is_given_is_the_one_that_is_proved() -> None:
    model = negotiation(waits=True)
    search = LeavingSearch.of(model, np.array([1.0, 0.0]), None)
    actions = np.zeros(model.tables.n_vertices, np.int32)
    proof = search.proof(greatest=True, actions=actions)
    attained = recurl.evaluate(recurl.Policy.stackless(model, actions)).exit_intervals["deal"]
    assert proof.lower[0, 0] == pytest.approx(attained[0], abs=1e-9)
    assert proof.upper[0, 0] == pytest.approx(0.95, abs=1e-9)


def test_totals_that_are_infinite_have_no_upper_bound() -> None:
    model = negotiation(waits=True)
    gain = np.ones(model.tables.n_transitions)
    proof = LeavingSearch.of(model, np.zeros(2), gain).proof(greatest=True)
    assert np.isinf(proof.upper[0, -1])
    f = LeavingSearch.of(model, np.zeros(2), gain)
    plain = relaxed_equations(f.rows, f.columns, gain, 0)
    value, _ = f.local_optimum(plain, np.zeros(f.rows.size, np.int32), -1)
    assert -4 < value < -1
