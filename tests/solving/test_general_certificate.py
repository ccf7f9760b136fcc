from __future__ import annotations

import pytest

import recurl
from recurl.errors import CertificateError
from recurl.solving.general_certificate import general_certificate
from recurl.solving.question import Question


@pytest.mark.parametrize("model", [recurl.zoo.succinct(5), recurl.zoo.stack_matters()])
def test_a_general_method_proves_it(model: recurl.RMDP) -> None:
    value = recurl.solve(model).value
    verdict = recurl.verify(model, general_certificate(model, Question(), 1e-6, {}))
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower - 1e-6 <= value <= verdict.upper + 1e-6


def test_answers_of_models_in_which_staying_costs_have_certificates() -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("stay", reward=-1).to("n").action("x", reward=-3).to("x")
    builder.at("n").action("stay", reward=-1).to("n").action("y", reward=-1).to("y")
    model = builder.build()
    solution = recurl.solve(model)
    assert solution.value == -2
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.theorems == ("costs", "policy")
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower <= -2 <= verdict.upper < verdict.lower + 1e-9


def test_there_is_none_without_a_theorem() -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("stay").to("n").action("x", reward=-3).to("x")
    builder.at("n").action("stay").to("n").action("y", reward=-1).to("y")
    with pytest.raises(CertificateError, match="no certificate for this answer: walk is not"):
        general_certificate(builder.build(), Question(), 1e-6, {})
