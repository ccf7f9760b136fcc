from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from tests.solving.oracle import Chain, random_spec, uniform

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate


def two_ways() -> recurl.RMDP:
    """Calls itself twice with 3/5, and leaves by one of two exits else."""
    builder = recurl.Builder("two ways").component("A", entries="in", exits=["x", "y"])
    builder.box("one", "A").box("two", "A")
    builder.at("in").action("go").to("one", "3/5").to("x", "1/5").to("y", "1/5")
    for exit in "xy":
        builder.at(f"one.{exit}").action("next").to("two")
        builder.at(f"two.{exit}").action("next").to(exit)
    return builder.build()


def changed(given: Certificate, **values: object) -> Certificate:
    assert given.values is not None
    return msgspec.structs.replace(given, values=msgspec.structs.replace(given.values, **values))


def test_chains_with_several_exits_that_may_not_end_have_certificates() -> None:
    model = two_ways()
    found = recurl.solve(model, of="exit:x")
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert proved.theorems == ("values",)
    # It ends with 2/3, and the exits are as likely as each other.
    assert Fraction(found.lower) <= Fraction(1, 3) <= Fraction(found.upper)
    assert found.gap < 1e-12


@pytest.mark.parametrize(("name", "sign"), [("lower", 1), ("upper", -1)])
def test_bounds_beyond_the_truth_are_refused(name: str, sign: int) -> None:
    model = two_ways()
    own = recurl.solve(model, of="exit:x").certificate
    assert own.values is not None
    numbers = getattr(own.values, name)
    for by in (1e-9, 1e-3, 1 / 3):
        moved = [x + sign * by * (x > 0) for x in numbers]
        with pytest.raises(CertificateError, match="not proved"):
            recurl.verify(model, changed(own, **{name: moved}))


def test_another_solution_of_the_equations_is_not_a_lower_end() -> None:
    # x = y = 1/2 solves the equations too: only progress tells that it is not the least solution.
    model = two_ways()
    own = recurl.solve(model, of="exit:x").certificate
    assert own.values is not None
    greater = [0.5 if 0 < x < 1 else x for x in own.values.lower]
    for factor in (1.0, 1e3, 1e6):
        progress = [x * factor for x in own.values.progress]
        claim = msgspec.structs.replace(own, lower=0.5, upper=None)
        with pytest.raises(CertificateError, match="not proved"):
            recurl.verify(model, changed(claim, lower=greater, upper=greater, progress=progress))


def test_the_policy_has_one_action_per_vertex() -> None:
    model = two_ways()
    own = recurl.solve(model, of="exit:x").certificate
    assert own.values is not None
    with pytest.raises(CertificateError, match="an action per vertex"):
        recurl.verify(model, changed(own, actions=own.values.actions * 2))
    with pytest.raises(CertificateError, match="a number per state"):
        recurl.verify(model, changed(own, lower=own.values.lower[1:]))


@pytest.mark.parametrize("seed", [700001, 700035, 700083])
def test_random_chains_against_exact_values(seed: int) -> None:
    model = random_spec(seed, exits=1 + seed // 2 % 3)
    truth = Chain(model, uniform(model)).truth()
    t = model.tables
    first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
    for k, expected in enumerate(truth.exits):
        found = recurl.solve(model, of=f"exit:{model.local_name(first + k)}")
        proved = recurl.verify(model, found.certificate)
        assert (proved.lower, proved.upper) == (found.lower, found.upper)
        assert proved.lower <= float(expected) + 1e-12
        assert float(expected) <= proved.upper + 1e-12
        assert found.gap < 1e-9
