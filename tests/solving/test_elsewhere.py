from __future__ import annotations

import pytest

import recurl
from recurl.errors import CertificateError
from recurl.solving.elsewhere import certified_elsewhere
from recurl.solving.question import Question


@pytest.mark.parametrize("model", [recurl.zoo.succinct(5), recurl.zoo.stack_matters()])
def test_a_general_method_proves_it(model: recurl.RMDP) -> None:
    value = recurl.solve(model).value
    verdict = recurl.verify(model, certified_elsewhere(model, Question(), 1e-6, {}))
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower - 1e-6 <= value <= verdict.upper + 1e-6


def test_answers_of_models_that_need_not_end_have_no_certificate() -> None:
    builder = recurl.Builder("walk").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("stay", reward=-1).to("n").action("x", reward=-3).to("x")
    builder.at("n").action("stay", reward=-1).to("n").action("y", reward=-1).to("y")
    solution = recurl.solve(builder.build())
    assert solution.value == -2
    with pytest.raises(CertificateError, match="no certificate for this answer: walk is not"):
        _ = solution.certificate
