from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.solving.scaled import scale_of

TINY, HUGE, CLOSE = ("1e-320", "1e-320"), ("1e308", "-1e308"), ("10000000000000001.5", "-1e16")
LOST = ("1e-330", "1e-400")


def toss(first: str, second: str, exits: tuple[str, ...], *, choice: bool) -> recurl.RMDP:
    """A coin decides whether the second reward is paid after the first."""
    builder = recurl.Builder("toss").component("A", entries="in", exits=exits)
    builder.at("in").action("go", reward=first).to("n", "1/2").to(exits[-1], "1/2")
    if choice:
        builder.action("stop", reward=f"-{first}").to(exits[0])
    return builder.at("n").action("go", reward=second).to(exits[0]).build()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exits", [("out",), ("x", "y")])
@pytest.mark.parametrize("choice", [False, True])
@pytest.mark.parametrize("rewards", [TINY, HUGE, CLOSE, LOST])
def test_rewards_of_any_size(
    rewards: tuple[str, str], exits: tuple[str, ...], choice: bool
) -> None:
    model = toss(*rewards, exits, choice=choice)
    truth = Fraction(rewards[0]) + Fraction(rewards[1]) / 2
    for method in ("auto", "certified"):
        solution = recurl.solve(model, method)
        assert Fraction(solution.lower) <= truth <= Fraction(solution.upper)
        size = max(abs(Fraction(x)) for x in rewards)
        assert solution.gap <= float(size) * 1e-11 + 1e-323
        verdict = recurl.verify(model, solution.certificate)
        assert verdict.lower is not None
        assert verdict.upper is not None
        assert Fraction(verdict.lower) <= truth <= Fraction(verdict.upper)


def test_values_and_thresholds_come_back_in_the_usual_unit() -> None:
    model = toss("1e200", "1e200", ("out",), choice=True)
    told: list[float] = []
    solution = recurl.solve(
        model, at_least=1e200, callback=lambda lower, upper, work: told.append(lower)
    )
    assert solution.at_least(1e200) is True
    assert solution.model is model
    assert solution.policy.model is model
    assert told[-1] == pytest.approx(solution.lower)
    assert solution.values_lower[model.tables.starts[0]] == pytest.approx(1.5e200)


def test_the_unit_is_part_of_the_claim() -> None:
    model = toss(*HUGE, ("out",), choice=True)
    certificate = recurl.solve(model).certificate
    assert certificate.scale > 1000
    for scale in (0, certificate.scale - 1, certificate.scale + 1, 10**9):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(certificate, scale=scale))


def test_sums_beyond_all_floats() -> None:
    model = toss("1.6e308", "1.6e308", ("out",), choice=True)
    solution = recurl.solve(model)
    assert solution.lower > 1.79e308
    assert solution.upper == math.inf
    verdict = recurl.verify(model, solution.certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, None)


def test_usual_sizes_stay_as_they_are() -> None:
    model = toss("1e-9", "1e9", ("out",), choice=True)
    assert scale_of(model, recurl.Question()) == 0
    assert scale_of(toss("0", "0", ("out",), choice=False), recurl.Question()) == 0
    assert scale_of(toss(*HUGE, ("out",), choice=False), recurl.Question("max", "steps")) == 0
