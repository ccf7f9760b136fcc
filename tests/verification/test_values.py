"""Values by state: starts in several entries, with contexts and with columns."""

from __future__ import annotations

import msgspec
import pytest

import recurl
from recurl.errors import CertificateError


def two_ways_in(*, calls: bool) -> recurl.RMDP:
    """A policy may wait forever; one of the entries is also called, if asked for."""
    builder = recurl.Builder("ways").component("A", entries=["a", "b"], exits=["done", "lost"])
    builder.at("a").action("go").to("n").at("n").action("wait").to("n").action("try")
    builder.to("done", "1/2").to("lost", "1/4")
    if calls:
        builder.to("c.b", "1/4").box("c", "A")
        for name in ("done", "lost"):
            builder.at(f"c.{name}").action("go").to(name)
    else:
        builder.to("n", "1/4")
    builder.at("b").action("go").to("done", "1/4").to("lost", "3/4")
    return builder.build({"A.a": "0.3", "A.b": "0.7"})


@pytest.mark.parametrize(("calls", "best"), [(False, 0.375), (True, 0.34375)])
def test_a_start_in_several_entries(calls: bool, best: float) -> None:
    model = two_ways_in(calls=calls)
    certificate = recurl.solve(model, of="exit:done").certificate
    assert bool(certificate.values.contexts) != calls
    verdict = recurl.verify(model, certificate)
    assert verdict.theorems == ("values",)
    assert verdict.lower <= best <= verdict.upper < verdict.lower + 1e-9
    for name, by in (("lower", 1e-6), ("upper", -1e-6)):
        claim = {name: getattr(certificate, name) + by}
        with pytest.raises(CertificateError, match=f"the {name} claim"):
            recurl.verify(model, msgspec.structs.replace(certificate, **claim))


@pytest.mark.parametrize("calls", [False, True])
def test_every_number_that_promises_more_is_refused(calls: bool) -> None:
    model = two_ways_in(calls=calls)
    certificate = recurl.solve(model, of="exit:done").certificate
    values, refused = certificate.values, 0
    unused = 3 * model.find("A.c.a") if calls else len(values.lower)  # no run comes there
    for name, by in (("lower", 0.01), ("upper", -0.01), ("progress", -10.0)):
        numbers = getattr(values, name)
        for i, number in enumerate(numbers):
            moved = [x + by * (i == k) for k, x in enumerate(numbers)]
            changed = msgspec.structs.replace(values, **{name: moved})
            try:
                recurl.verify(model, msgspec.structs.replace(certificate, values=changed))
            except CertificateError:
                refused += 1
            else:
                assert name != "lower" or number == 0.0 or 0 <= i - unused < 3
    assert refused > len(values.lower)
