from __future__ import annotations

import numpy as np
import pytest
from tests.solving.test_longest_path import ladder

import recurl
from recurl.solving import path_certificate
from recurl.solving.question import Question

QUESTIONS = [Question(a, b) for a in ("max", "min") for b in ("model", "steps")]


@pytest.mark.parametrize("exits", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_the_one_that_is_proved(seed: int, exits: int) -> None:
    model = recurl.zoo.random_model(
        seed, components=3, nodes=8, kind="deterministic", exits=exits, reward_low=-2, reward_high=2
    )
    for question in QUESTIONS:
        of = "steps" if question.rewards == "steps" else "reward"
        found = recurl.solve(model, of=of, objective=question.objective)
        assert found.method == "longest path"
        assert found.gap < 1e-14
        verdict = recurl.verify(model, found.certificate)
        assert (verdict.lower, verdict.upper) == (found.lower, found.upper)
        assert verdict.theorems == ("steps",)


def test_totals_that_are_floats_are_proved_exactly() -> None:
    for model, best in ((ladder(), 11), (recurl.zoo.succinct(40), 2**40 - 1)):
        verdict = recurl.verify(model, recurl.solve(model).certificate)
        assert verdict.lower == verdict.upper == best


def test_exits_that_are_worth_something() -> None:
    model = ladder()
    for objective in ("max", "min"):
        found = recurl.solve(model, of="exit:bad", objective=objective)
        verdict = recurl.verify(model, found.certificate)
        assert (verdict.lower, verdict.upper) == (found.lower, found.upper) == (found.value,) * 2


def test_random_starts_with_exits_of_their_own() -> None:
    builder = recurl.Builder("two").component("A", entries=["one", "other"], exits=["x", "y"])
    builder.box("b", "B").at("one").action("go", reward=1).to("b.in")
    builder.at("other").action("go", reward=2).to("b.into")
    builder.at("b.u").action("up", reward=4).to("x").at("b.v").action("up", reward=8).to("y")
    builder.component("B", entries=["in", "into"], exits=["u", "v"])
    builder.at("in").action("go").to("u").at("into").action("go").to("v")
    model = builder.build({"A.one": 0.5, "A.other": 0.5})
    found = recurl.solve(model)
    verdict = recurl.verify(model, found.certificate)
    assert found.lower <= 7.5 <= found.upper
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower <= 7.5 <= verdict.upper


def test_where_there_are_too_many_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_certificate, "_MOST", 3)
    found = recurl.solve(ladder())
    assert (found.lower, found.upper) == (11, 11)
    verdict = recurl.verify(found.model, found.certificate)
    assert np.isclose([verdict.lower or 0.0, verdict.upper or 0.0], 11, atol=1e-6).all()
