from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solving.exact_one_exit import exact_values, small_models
from tests.solving.references import broken_step_bounds

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.solving.blocks import Iterate, policy_iteration
from recurl.solving.one_exit_bounds import (
    enclose,
    enclose_tightly,
    holds_above,
    holds_below,
    step_bounds,
)
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


@settings(max_examples=25)
@given(small_models)
def test_step_bounds_hold_in_exact_arithmetic(model: recurl.RMDP) -> None:
    system = System.of(model, Question())
    steps = step_bounds(system)
    assert broken_step_bounds(model, system.by_vertex(steps, np.inf)) == []


def test_step_bounds_are_near_the_greatest_steps() -> None:
    model = recurl.zoo.cloud(exits=1)
    system = System.of(model, Question())
    steps = system.by_vertex(step_bounds(system), np.inf)
    greatest = exact_values(model, rewards="steps")
    assert all(x <= d <= 1.03 * float(x) for x, d in zip(greatest, steps, strict=True))


def test_step_bounds_of_discounted_blocks_are_found_without_policies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Actions stop with probability 0.01, but calls of other blocks make their weights 1.98."""
    monkeypatch.setattr("recurl.solving.one_exit_bounds.policy_iteration", None)
    system = System.of(recurl.zoo.spelunking(), Question())
    steps, ones = step_bounds(system), np.ones_like(system.gain)
    assert steps is not None
    assert holds_above(system.equations, ones, ones, steps)
    assert steps.max() < 1.001 * 100**2
    assert broken_step_bounds(system.model, system.by_vertex(steps, np.inf)) == []


def test_no_step_bounds_without_an_end() -> None:
    assert step_bounds(System.of(recurl.zoo.gambler(p=0.6), Question())) is None


@settings(max_examples=25)
@given(small_models, st.integers(0, 1000), st.sampled_from([enclose, enclose_tightly]))
def test_any_guess_is_enclosed(model: recurl.RMDP, seed: int, method: object) -> None:
    system = System.of(model, Question())
    steps = step_bounds(system)
    it = Iterate.first(system.equations, system.gain, steps)
    it.x[:] = np.random.default_rng(seed).normal(size=len(it.x))
    bounds = method(system, it, steps)
    exact = exact_values(model)
    for vertex, low, high in zip(system.vertex, bounds.lower, bounds.upper, strict=True):
        assert low <= exact[vertex] <= high


def test_a_guess_off_by_little_is_refused_as_a_bound() -> None:
    system = System.of(recurl.zoo.cloud(exits=1), Question())
    it = Iterate.first(system.equations, system.gain, step_bounds(system))
    policy_iteration(it, 0.0)
    eq, gain, size = system.equations, system.gain, system.size
    for q in range(system.n_rows):
        above, below = it.x + 1e-9 * it.right, it.x - 1e-9 * it.right
        assert holds_above(eq, gain, size, above)
        assert holds_below(eq, gain, size, below, it.choice)
        above[q] = it.x[q] - 1e-6
        below[q] = it.x[q] + 1e-6
        assert not holds_above(eq, gain, size, above)
        assert not holds_below(eq, gain, size, below, it.choice)


def test_tight_bounds_follow_the_good_policy() -> None:
    """Spelunking can take 9901 steps, but its best policy takes about 12."""
    system = System.of(recurl.zoo.spelunking(), Question())
    steps = step_bounds(system)
    it = Iterate.first(system.equations, system.gain, steps)
    policy_iteration(it, 0.0)
    loose, tight = enclose(system, it, steps), enclose_tightly(system, it, steps)
    start = system.row[system.model.tables.starts[0]]
    assert tight.upper[start] - tight.lower[start] < 0.1 * (loose.upper[start] - loose.lower[start])
    assert Fraction(tight.lower[start]) <= Fraction(tight.upper[start])


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("of", ["reward", "steps", "exit:u2"])
def test_written_read_and_verified(objective: str, of: str, tmp_path: Path) -> None:
    model = recurl.zoo.cloud(exits=1)
    solution = recurl.solve(model, objective=objective, of=of)
    solution.certificate.save(tmp_path / "cloud.json")
    certificate = Certificate.load(tmp_path / "cloud.json")
    verdict = recurl.verify(model, certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
    assert len(certificate.points) == len(certificate.pieces) == model.tables.n_components


def test_another_model_is_refused() -> None:
    certificate = recurl.solve(recurl.zoo.countdown()).certificate
    with pytest.raises(CertificateError, match="another model"):
        recurl.verify(recurl.zoo.cloud(exits=1), certificate)
