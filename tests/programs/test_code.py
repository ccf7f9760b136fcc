from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import pytest
from tests.programs.written import program_of

from recurl.errors import LimitError, ModelError
from recurl.programs.code import RETURNED, described, value_text


def run(text: str, *arguments: Any) -> tuple[int, tuple[Any, ...]]:
    code = program_of(text).code
    return code.run(*code.entered(code.enter(arguments, {})))


def test_a_function_runs_to_its_return() -> None:
    assert run("@program\ndef f(a, b=2):\n    return a + b", 1) == (RETURNED, (3,))


def test_a_function_stops_at_an_event_and_resumes() -> None:
    code = program_of("@program\ndef f(a):\n    b = choose(1, a)\n    return a * b").code
    position, values = code.run(*code.entered((5,)))
    event = code.events[position]
    assert (event.word, event.names, values) == ("choose", ("a",), (5,))
    assert event.operands(*values) == ((1, 5), {})
    assert code.run(*event.resume(3, values)) == (RETURNED, (15,))


def test_exceptions_name_line_and_locals() -> None:
    text = "@program\ndef f(n):\n    m = n + 1\n    return 1 // n"
    with pytest.raises(ModelError, match=r"line 4: f: ZeroDivisionError: .*, with n=0"):
        run(text, 0)


def test_exceptions_of_helpers_name_the_line_of_the_program() -> None:
    text = "def g(n): return n[0]\n@program\ndef f(n):\n    return g(n)"
    with pytest.raises(ModelError, match=r"line [14]: f: TypeError"):
        run(text, 0)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("xs = [n]\n    reward(n)\n    return len(xs)", "xs is a list"),
        ("return {n: n}", "the value returned is a dict"),
        ("xs = iter((1, 2))\n    flip(0.5)\n    return next(xs)", "xs is a tuple_iterator"),
        ("xs = (n, [])\n    reward(n)\n    return len(xs)", "xs is a tuple"),
    ],
)
def test_locals_without_a_value_are_refused(body: str, name: str) -> None:
    with pytest.raises(ModelError, match=f"{name}, which has no value .*frozen dataclasses"):
        run(f"@program\ndef f(n):\n    {body}", 1)


def test_arguments_without_a_value_are_refused() -> None:
    with pytest.raises(ModelError, match="the argument n is a list"):
        run("@program\ndef f(n):\n    return 1", [])


def test_an_endless_loop_is_noticed() -> None:
    text = "@program\ndef f(n):\n    while True:\n        if n > 2:\n            return 1"
    with pytest.raises(LimitError, match=r"line [34]: the loop takes more than 250000 steps"):
        run(text, 1)


@dataclass(frozen=True)
class Point:
    x: int


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize("value", [Point(1), Colour.RED, frozenset([1]), math.sqrt, range(3), 1j])
def test_values_that_stay_what_they_are_are_accepted(value: Any) -> None:
    assert run("@program\ndef f(n):\n    return n", value) == (RETURNED, (value,))


def test_words_for_values() -> None:
    assert value_text(((Colour.RED,), "x", math.sqrt)) == "((Colour.RED,), 'x', sqrt)"
    assert described(("a",), (Colour.RED,)) == "a=Colour.RED"
