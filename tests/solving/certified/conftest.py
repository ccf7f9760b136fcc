"""One problem for all tests of the room's parts."""

from __future__ import annotations

import pytest

import recurl
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.question import Question


@pytest.fixture(scope="package")
def problem() -> SearchProblem:
    """A small random model with two exits, and its rewards."""
    return SearchProblem.of(recurl.zoo.random_model(seed=2, components=3, nodes=8), Question())
