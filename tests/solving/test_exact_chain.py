from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.solving.references import cubic
from tests.solving.test_soundness import doubling

import recurl
from recurl.solving.exact_chain import ExactRows, decide
from recurl.solving.rows import rows_of_policy


def test_a_critical_walk_ends_after_infinitely_many_steps() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.gambler(p="1/2"))
    rows = rows_of_policy(policy)
    places = np.flatnonzero(policy.model.tables.states).astype(np.int32)
    found = decide(rows, ExactRows(policy), places)
    assert found is not None
    assert found.critical[rows.start[0]]
    assert found.infinite[rows.start[0]]
    # After the second call there is one step left.
    assert found.steps == [Fraction(1)]


@pytest.mark.parametrize("p", ["0.49999999999999999999999", "0.4"])
def test_expected_steps_in_fractions(p: str) -> None:
    policy = recurl.Policy.uniform(doubling(p, 1))
    rows = rows_of_policy(policy)
    places = np.flatnonzero(policy.model.tables.states).astype(np.int32)
    found = decide(rows, ExactRows(policy), places)
    assert found is not None
    at = found.finite.tolist().index(int(rows.start[0]))
    assert found.reward[at] == 1 / (1 - 2 * Fraction(p))
    assert found.steps[at] == (1 + 2 * Fraction(p)) / (1 - 2 * Fraction(p))


def test_calls_that_may_not_come_back_are_left_alone() -> None:
    policy = recurl.Policy.uniform(cubic())
    places = np.flatnonzero(policy.model.tables.states).astype(np.int32)
    assert decide(rows_of_policy(policy), ExactRows(policy), places) is None


def test_a_random_choice_has_the_exact_share() -> None:
    policy = recurl.Policy.uniform(recurl.zoo.cloud())
    rows, exact = rows_of_policy(policy), ExactRows(policy)
    at = policy.model.find("S.u3")
    begin, end = rows.transition_start[rows.action_start[at : at + 2]]
    assert sum((exact.prob(i) for i in range(begin, end)), Fraction(0)) == 1
    for i in range(len(rows.prob)):
        assert abs(exact.prob(i) - Fraction(rows.prob[i])) <= rows.doubt[i]


def test_gains_before_a_critical_part_are_finite() -> None:
    builder = recurl.Builder("free").component("A", entries="in", exits="out")
    builder.box("a", "W").at("in").action("go", reward=2).to("a")
    builder.at("a.out").action("go").to("out")
    builder.component("W", entries="in", exits="out").box("a", "W").box("b", "W")
    builder.at("in").action("go").to("a", "1/2").to("out", "1/2")
    builder.at("a.out").action("go").to("b").at("b.out").action("go").to("out")
    found = recurl.evaluate(recurl.Policy.uniform(builder.build("A")))
    assert (found.steps, found.termination) == (math.inf, (1.0, 1.0))
    assert found.lower <= 2 <= found.upper
    assert found.upper - found.lower < 1e-12
