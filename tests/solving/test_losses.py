"""Infinite totals of runs that may not end, where only some steps are paid."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.solving.losses import bounded_losses


def spiral(cost: str = "-1") -> recurl.RMDP:
    """A chain that calls itself; it is paid only if a call returns by one of the exits."""
    builder = recurl.Builder("spiral").component("A", entries="in", exits=["x", "y"]).box("b", "A")
    builder.at("in").action("go").to("y", "1/3").to("b", "2/3")
    builder.at("b.x").action("go", reward=cost).to("y", "0.4999").to("b", "0.5001")
    return builder.at("b.y").action("go").to("x", "1/3").to("b", "2/3").build()


def deeper() -> recurl.RMDP:
    """One may call for 1, or leave for less; returns are not paid, and lead to rooms at times."""
    builder = recurl.Builder("deeper").component("A", entries="in", exits=["x", "y"]).box("b", "A")
    builder.at("in").action("call", reward=1).to("b", "0.9").to("x", "0.1")
    builder.action("leave", reward="-0.7").to("y", "0.9").to("x", "0.1")
    builder.at("b.x").action("go").to("x", "0.55").to("y", "0.45")
    builder.at("b.y").action("go").to("room", "0.5").to("y", "0.5")
    builder.at("room").action("go", reward=1).to("room", "0.9").to("b", "0.1")
    return builder.build()


@pytest.mark.parametrize(
    ("model", "objective", "total"),
    [
        (spiral(), "min", -math.inf),
        (spiral("1"), "max", math.inf),
        (deeper(), "max", math.inf),
    ],
)
def test_rewards_of_some_steps_add_up(model: recurl.RMDP, objective: str, total: float) -> None:
    found = recurl.solve(model, objective=objective)
    assert found.lower == found.upper == total
    verdict = recurl.verify(model, found.certificate)
    assert verdict.theorems == ("may not end",)
    assert verdict.lower == verdict.upper == total


def test_other_claims_are_refused() -> None:
    model = spiral()
    certificate = recurl.solve(model, objective="min").certificate
    values = certificate.values
    assert values is not None
    for changes in (
        {"infinite": "inf"},
        {"values": msgspec.structs.replace(values, upper=[0.0] * len(values.upper))},
        {"values": msgspec.structs.replace(values, upper=[min(x, 0.4) for x in values.upper])},
        {"values": msgspec.structs.replace(values, upper=[max(x, 1.0) for x in values.upper])},
    ):
        with pytest.raises(CertificateError):
            recurl.verify(model, msgspec.structs.replace(certificate, **changes))
    free = spiral("0")
    with pytest.raises(CertificateError):
        recurl.verify(free, msgspec.structs.replace(certificate, model=free.fingerprint))


def test_returns_are_not_worth_less_than_nothing() -> None:
    """A negative number after a call would count for runs that never return."""
    model = spiral()
    certificate = recurl.solve(model, objective="min").certificate
    values, t = certificate.values, model.tables
    assert values is not None
    number = 4 * model.find("A.b.x") + 3  # two exits, to leave at all, the total
    assert len(values.upper) == 4 * t.n_vertices
    upper = [-0.01 if i == number else x for i, x in enumerate(values.upper)]
    changed = msgspec.structs.replace(values, upper=upper)
    with pytest.raises(CertificateError, match="negative"):
        recurl.verify(model, msgspec.structs.replace(certificate, values=changed))


def test_no_numbers_where_nothing_is_paid_or_something_is_lost() -> None:
    for model in (spiral("0"), spiral("-1")):
        t = model.tables
        leave, every = np.full((t.n_vertices, 2), 0.4), np.ones(t.n_actions, np.bool_)
        assert bounded_losses(t, t.reward, every, leave) is None


def test_numbers_hold_by_themselves() -> None:
    t = spiral("1").tables
    leave, every = np.full((t.n_vertices, 2), 0.4), np.ones(t.n_actions, np.bool_)
    d = bounded_losses(t, t.reward, every, leave)
    assert d is not None
    gain = np.add.reduceat(t.prob * (t.reward + 0.0), t.transition_start[:-1])
    after = np.add.reduceat(t.prob * d[t.target], t.transition_start[:-1])
    assert (d[t.action_vertex] + gain > after).all()
    assert d[3] > d[0] + 0.4 * (d[4] + d[5])
    assert min(d[4], d[5]) >= 0


def test_paid_rounds_that_may_not_end_are_an_answer() -> None:
    """Rewards of both signs, no policy that surely ends: this had no answer at all."""
    builder = recurl.Builder("rounds").component("A", entries="in", exits=["x", "y"]).box("b", "A")
    builder.at("in").action("call", reward=1).to("b", "0.6").to("x", "0.4")
    builder.action("wait").to("pit", "0.5").to("y", "0.5").at("pit").action("stay").to("pit")
    builder.at("b.x").action("take", reward=3).to("b", "0.7").to("y", "0.3")
    builder.action("skip").to("pit")
    builder.at("b.y").action("go", reward=-1).to("b", "0.9").to("x", "0.1")
    model = builder.build()
    found = recurl.solve(model)
    assert found.lower == found.upper == math.inf
    assert found.policy is not None
    assert recurl.verify(model, found.certificate).theorems == ("may not end",)
