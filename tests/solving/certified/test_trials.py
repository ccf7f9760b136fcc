"""Trials: bounds at any time, better with every bundle, whatever they start from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import recurl
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.evidence import policy_of
from recurl.solving.certified.points import Cloud
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.search import BestBounds, first_bounds
from recurl.solving.certified.trials import Trials, needed_points
from recurl.solving.certified.upper import Upper, upper_bound
from recurl.solving.question import Question

from .parts import random_problem


@pytest.mark.parametrize("exits", [2, 3, 6])
def test_bounds_improve_and_stand(exits: int) -> None:
    problem = random_problem(exits)
    trials = Trials(*first_bounds(problem), tolerance=1e-8)
    seen = [trials.bounds()]
    for _ in range(4):
        trials.run()
        seen.append(trials.bounds())
    for before, after in itertools.pairwise(seen):
        assert before[0] - 1e-12 <= after[0] <= after[1] <= before[1] + 1e-12
    assert seen[-1][1] - seen[-1][0] < 0.2 * (seen[0][1] - seen[0][0])
    found = BestBounds()
    found.keep_upper(trials.upper())
    found.keep_lower(trials.lower())
    assert found.low == pytest.approx(seen[-1][0])
    assert found.high == pytest.approx(seen[-1][1], abs=1e-9)


def test_every_piece_is_below_its_choices() -> None:
    problem = random_problem(3)
    trials = Trials(*first_bounds(problem), tolerance=1e-8)
    for _ in range(3):
        trials.run()
    lower = trials.lower()
    model = recurl.zoo.random_model(seed=2, components=3, nodes=8, exits=3)
    exact = recurl.evaluate(policy_of(model, lower)).value
    assert lower.start() <= exact
    assert lower.start() == pytest.approx(exact, abs=1e-6)


def test_no_trust_in_points_that_the_start_does_not_lead_to(problem: SearchProblem) -> None:
    upper, lower = first_bounds(problem)
    far = [Cloud(np.array([[-1000.0, 0.0], problem.crude(c)[0]])) for c in range(3)]
    contexts = Contexts(problem, far)
    bound = upper_bound(contexts, np.zeros(int(contexts.base[-1])), 1e-9)
    values = bound.values.copy()
    contexts.view(values, 0)[0, 0] -= 100.0  # too low, but far from all that is called
    wrong = Upper.of(contexts, values)
    assert wrong.excess < 1e-6
    assert wrong.excess_at([np.arange(n) for n in contexts.count]) > 1
    trials = Trials(wrong, lower, tolerance=1e-8)
    claimed = trials.upper()
    assert claimed.excess_at([np.arange(n) for n in claimed.contexts.count]) < 1e-9
    trials.run()
    sound = Trials(upper, lower, tolerance=1e-8)
    sound.run()
    assert trials.bounds()[1] >= sound.bounds()[0]


def test_points_that_others_dominate_are_not_needed() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 3))
    above = rng.normal(size=(30, 2))
    kept = needed_points(vectors, above)
    for i in set(range(30)) - set(kept.tolist()):
        rise = (vectors[i] - vectors[kept]).max(axis=1)
        assert ((above[kept] + rise[:, None]).min(axis=0) <= above[i]).all()
    assert 0 < len(kept) < 30


def test_a_question_with_values_at_exits() -> None:
    model = recurl.zoo.leaky_pfa()
    t = model.tables
    root = tuple(float(k) for k in range(int(t.n_exits[t.start_component])))
    problem = SearchProblem.of(model, Question("max", "none", root))
    trials = Trials(*first_bounds(problem), tolerance=1e-8)
    for _ in range(6):
        trials.run()
    low, high = trials.bounds()
    assert -1e-9 <= low <= high <= max(root) + 1e-9
    assert high - low < 1e-6
