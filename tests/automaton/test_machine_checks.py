from __future__ import annotations

from typing import Any

import pytest

from recurl.automaton import Machine, rule
from recurl.errors import ModelError

GOOD = [rule("p", "a", "p", push="A _"), rule("p", "b", "p", top="A", push="")]


@pytest.mark.parametrize(
    ("rules", "settings", "message"),
    [
        ([rule("p", "a", "p"), rule("p", "a", "q"), rule("q", "a", "q")], {}, "nothing decides"),
        ([rule("p", None, "p"), rule("p", None, "p", push="A _")], {}, "nothing decides"),
        (
            [rule("p", "a", "p"), rule("p", "b", "p", push="A _")],
            {},
            "overlap: both hold with a, b",
        ),
        ([rule("p", "a", "p", choice="c"), rule("p", "b", "p")], {}, "overlap"),
        (
            [rule("p", None, "p"), rule("p", None, "p", push="A _")],
            {"first_match": True},
            "decides",
        ),
        ([rule("p", "a", "p", choice="c"), rule("p", "a & b", "p", choice="c")], {}, "overlap"),
        ([rule("p", "a", "p", push="")], {}, "pops from the bottom"),
        ([rule("p", "a", "p", top="bottom", push="A")], {}, "takes the bottom away"),
        ([rule("p", "a", "p", push="bottom A _")], {}, "pushes the bottom twice"),
        ([rule("p", "a", "p", top="A", push="bottom A")], {"stack": "A bottom"}, "lies above"),
        ([rule("p", "a", "p", top="X")], {}, "'X' is never on the stack"),
        ([rule("p", "c", "p")], {"labels": "ab"}, "there is no label 'c'"),
        ([rule("p", "a", "q")], {}, "state, q: has no rules and is not final"),
        ([rule("p", "a", "q"), rule("q", "a", "p")], {"final": "q"}, "leaves a final state"),
        ([rule("p", "a", "p")], {"start": "q", "final": "q"}, "is a final state"),
        ([rule("p", "a", "p")], {"otherwise": "explode"}, "not a way to treat labels"),
        ([rule("p.q", "a", "p.q")], {}, "is not a usable name"),
        ([], {}, "rules: is empty"),
        ([rule("p", "a", "p")], {"stack": ""}, "stack: is empty"),
    ],
)
def test_a_bad_machine_is_refused(rules: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Machine("bad", rules, **settings)


@pytest.mark.parametrize(
    ("rules", "settings"),
    [
        (GOOD, {"exclusive": ["ab"]}),
        ([rule("p", "a", "p"), rule("p", "!a", "p", push="A _")], {}),
        ([rule("p", "a", "p", choice="c"), rule("p", "a", "p", push="A _", choice="d")], {}),
        ([rule("p", "a", "p"), rule("p", "else", "p", push="A _")], {}),
        ([rule("p", "a", "p", top="A"), rule("p", "a", "p", top="bottom", push="A _")], {}),
        ([rule("p", None, "p", choice="x"), rule("p", None, "p", push="A _", choice="y")], {}),
        ([rule("p", "a", "end", push="")], {"final": "end"}),
        ([rule("p", "a", "p"), rule("p", "a | b", "p", push="A _")], {"first_match": True}),
        ([rule("p", "a", "p", top="A"), rule("p", "b", "p", push="A _")], {"first_match": True}),
    ],
)
def test_a_good_machine_is_not(rules: Any, settings: dict[str, Any]) -> None:
    assert Machine("good", rules, **settings).rules == tuple(rules)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(ModelError) as caught:
        Machine("bad", [rule("p", "a", "nowhere", push=""), rule("p", "b", "p", top="X")])
    assert len(caught.value.problems) == 4
