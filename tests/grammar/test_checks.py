from __future__ import annotations

from typing import Any

import pytest

from recurl.errors import ModelError
from recurl.grammar import Grammar


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"S": ["A"]}, "the symbol 'A' has no rules"),
        ({"S": ["[0.5]", "'a' [0.4]"]}, "rules, S: probabilities sum to 0.9"),
        ({"S": ["[0.5]", "'a'"]}, "some have not"),
        ({"S": ["[0]", "'a' [1]"]}, "is not in"),
        ({"S": ["[half]"]}, "is not in"),
        ({"S": ["{much}"]}, "reward"),
        ({"S": ["'S'"]}, "is a terminal and has rules"),
        ({"S.x": ["'a'"]}, "is not a usable name"),
        ({"S": {"": ["'a'"], "x": ["'b'"]}}, "with and without a choice"),
        ({"S": {"x": []}}, "has no alternative"),
        ({"S": ["'a"]}, "quote or bracket"),
        ({}, "there are none"),
    ],
)
def test_bad_grammars_are_refused(rules: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Grammar("bad", rules)


def test_an_unknown_start_is_answered_with_a_close_one() -> None:
    with pytest.raises(ModelError, match="did you mean 'Start'"):
        Grammar("bad", {"Start": ["'a'"]}, "Stat")


def test_a_sum_that_misses_one_by_rounding_is_completed() -> None:
    grammar = Grammar("g", {"S": ["'a' [0.3333333333]", "'b' [0.6666666666]"]})
    assert sum(a.p for a in grammar.alternatives("S")) == 1
