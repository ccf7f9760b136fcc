"""Schedules against their formulas."""

from __future__ import annotations

import msgspec
import pytest

from recurl.experiment.options import read_schedule
from recurl.learn import schedules
from recurl.learn.schedules import constant, exponential, harmonic, linear, power


def test_the_formulas() -> None:
    assert constant(0.3)(10**9, 10**9) == 0.3
    assert [linear(1, 0.1, 100)(t) for t in (0, 50, 100, 1000)] == pytest.approx(
        [1, 0.55, 0.1, 0.1]
    )
    assert exponential(0.9, 10, 0.1)(20) == pytest.approx(0.1 + 0.8 / 4)
    assert [harmonic()(0, n) for n in (1, 2, 10)] == pytest.approx([1, 0.5, 0.1])
    assert harmonic(0.5, 9)(0, 11) == pytest.approx(0.5 * 10 / 20)
    assert power(0.6)(0, 1000) == pytest.approx(1000**-0.6)
    assert power(0.6, last=0.2)(0, 1000) == 0.2


def test_robbins_monro() -> None:
    assert power(0.6).robbins_monro
    assert harmonic(offset=10).robbins_monro
    assert not power(0.5).robbins_monro
    assert not power(1.1).robbins_monro
    assert not power(0.8, last=0.01).robbins_monro
    assert not constant(0.1).robbins_monro


def test_nonsense_is_refused() -> None:
    for make in (lambda: constant(1.5), lambda: constant(-0.1), lambda: constant(float("nan"))):
        with pytest.raises(ValueError, match="within"):
            make()
    with pytest.raises(ValueError, match="positive"):
        linear(1, 0, 0)
    with pytest.raises(ValueError, match="omega"):
        power(0)


def test_as_schedule_and_text() -> None:
    assert schedules.as_schedule(0.25) == constant(0.25)
    assert schedules.as_schedule(power(0.7)) == power(0.7)
    assert str(constant(0.25)) == "0.25"
    assert str(power(0.75)) == "power(1, 0, 0, 0.75)"


@pytest.mark.parametrize(
    "schedule",
    [
        schedules.constant(0.1),
        schedules.linear(1, 0.1, 30_000),
        schedules.exponential(1, 1000),
        schedules.exponential(1, 1000, 0.15),
        schedules.exponential(1, 1000, 0.15, fraction=0.1),
        schedules.linear(1, 0.1, 30_000, fraction=0.5),
        schedules.harmonic(offset=10),
        schedules.power(0.75),
        schedules.power(0.5, 0.9, 3, last=0.01),
    ],
)
def test_a_schedule_is_shown_as_it_is_made(schedule: schedules.Schedule) -> None:
    name, _, arguments = repr(schedule).partition("(")
    made = read_schedule(name, arguments.removesuffix(")"))
    assert made == schedule


def test_a_fraction_of_the_budget_becomes_steps() -> None:
    whole = linear(1.0, 0.1, fraction=0.25)
    assert whole.within(8000) == linear(1.0, 0.1, 2000)
    assert constant(0.3).within(8000) == constant(0.3)
    with pytest.raises(ValueError, match="once the budget is known"):
        whole(10)


@pytest.mark.parametrize("given", [{}, {"steps": 10, "fraction": 0.0}, {"fraction": 1.5}])
def test_a_linear_schedule_takes_steps_or_a_fraction(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="fraction"):
        linear(1.0, 0.1, **given)


def test_steps_and_a_fraction_are_the_smaller_of_both() -> None:
    capped = linear(1.0, 0.1, 8000, fraction=0.5)
    assert capped.within(4000) == linear(1.0, 0.1, 2000)
    assert capped.within(100_000) == linear(1.0, 0.1, 8000) == capped.without_budget
    assert capped(4000) == pytest.approx(0.55)
    half = exponential(1.0, 1000, fraction=0.1)
    assert half.within(5000) == exponential(1.0, 500)
    assert half.within(50_000) == exponential(1.0, 1000)
    with pytest.raises(ValueError, match="fraction"):
        exponential(1.0, 1000, fraction=2)


def test_schedules_of_older_files_have_no_fraction() -> None:
    old = msgspec.json.decode(b"[1, 1.0, 0.1, 30000.0, 1.0]", type=schedules.Schedule)
    assert old == linear(1.0, 0.1, 30_000)
