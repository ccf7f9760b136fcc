from __future__ import annotations

import pytest
from tests.zoo.reference import solved

import recurl
from recurl import zoo


def test_it_has_the_certified_optimum_of_the_model_made_by_hand() -> None:
    solution = solved("palindrome_product")
    assert solution.gap <= 1e-6
    assert solution.lower - 1e-9 <= 41.0325964913 <= solution.upper + 1e-9


@pytest.mark.parametrize(("size", "corruption"), [(1, "0.1"), (2, "0.05"), (2, "0.2")])
def test_other_sizes_agree_too(size: int, corruption: str) -> None:
    made, built = zoo.palindrome(size, corruption), zoo.palindrome_product(size, corruption)
    values = [recurl.solve(model, epsilon=1e-5).value for model in (made, built)]
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def test_only_exits_that_can_be_reached_exist() -> None:
    model = zoo.palindrome_product()
    assert model.tables.n_exits.tolist() == [3, 15, 15, 15, 15]
    assert not model.warnings
