from __future__ import annotations

import pytest
from tests.programs.written import program_of

from recurl.errors import ModelError
from recurl.programs.flow import flow_of


def test_only_locals_that_matter_are_kept() -> None:
    program = program_of(
        """
        @program
        def f(a, b):
            c = a + 1
            reward(c)
            flip(0.5)
            return b
        """
    )
    blocks = flow_of(program.source).blocks
    live = {block.line: block.live for block in blocks if block.event is not None}
    assert live == {4: ("b", "c"), 5: ("b",)}
    assert blocks[0].live == ("a", "b")


def test_statements_without_events_stay_whole() -> None:
    program = program_of(
        """
        @program
        def f(n):
            total = 0
            for i in range(n):
                if i == 7:
                    continue
                total += i
            reward(total)
        """
    )
    first, event, last = flow_of(program.source).blocks
    assert len(first.statements) == 2
    assert event.event is not None
    assert last.value is not None


def test_code_after_a_return_is_dropped() -> None:
    program = program_of("@program\ndef f():\n    return 1\n    reward(2)")
    (only,) = flow_of(program.source).blocks
    assert only.statements == []


def test_a_local_that_may_have_no_value_is_refused() -> None:
    program = program_of(
        "@program\ndef f(n):\n    for i in range(n):\n        reward(1)\n    return i"
    )
    with pytest.raises(ModelError, match=r"line 3: f: i may be read before .* \(write i = "):
        flow_of(program.source)


def test_temporaries_are_explained() -> None:
    program = program_of("@program\ndef f():\n    for _ in range(2):\n        x = f() + 1")
    meanings = flow_of(program.source).meanings
    assert set(meanings.values()) == {
        "what the loop on line 3 goes through from here",
        "the value of f() on line 4",
    }
