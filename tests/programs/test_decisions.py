from __future__ import annotations

import pytest
from tests.programs.written import program_of

from recurl.programs.decisions import DecisionTable, condition, expression, same, simplest
from recurl.programs.literals import Writer, parsed

BOTH = (True, False)


@pytest.mark.parametrize(
    ("names", "rows", "text"),
    [
        ((), {(): "a"}, "'a'"),
        (("x",), {(True,): 1, (False,): 2}, "1 if x else 2"),
        (("x",), {(False,): 1, (True,): 2}, "2 if x else 1"),
        (("x",), {("a",): "b", ("c",): "d"}, "'b' if x == 'a' else 'd'"),
        (("x",), {(None,): "b", ("c",): "d"}, "'b' if x is None else 'd'"),
        (("n",), {(i,): i + 1 for i in range(4)}, "n + 1"),
        (("n",), {(i,): i for i in range(4)}, "n"),
        (("n",), {(i,): i - 2 for i in range(4)}, "n - 2"),
        (("n",), {(3,): "b", (1,): "a", (2,): "a"}, "'a' if n <= 2 else 'b'"),
        (
            ("n",),
            {(i,): i // 2 in (1, 2) for i in range(8)},
            "2 <= n <= 5",
        ),
        (("n",), {(i,): i % 2 for i in range(4)}, "{0: 0, 1: 1, 2: 0, 3: 1}[n]"),
        (("n", "m"), {(0, 1): "a", (1, 0): "b"}, "('a') if n == 0 else ('b')"),
    ],
)
def test_expressions_are_short_and_right(
    names: tuple[str, ...], rows: dict[tuple[object, ...], object], text: str
) -> None:
    assert expression(DecisionTable(names, rows)) == text
    parsed(text)


def test_names_that_decide_nothing_are_dropped_from_the_end() -> None:
    rows = [((a, b, c), a == b) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert simplest(("a", "b", "c"), rows).names == ("a", "b")
    assert simplest(("a", "b"), [((0, 5), 1), ((1, 6), 2)]).names == ("a",)
    assert simplest(("a",), [((0,), 1), ((1,), 1)]) == DecisionTable((), {(): 1})


@pytest.mark.parametrize(
    ("names", "rows", "text"),
    [
        (("n",), {(n,): n >= 3 for n in range(6)}, "n >= 3"),
        (("n",), {(n,): n <= 3 for n in range(6)}, "n <= 3"),
        (("n",), {(n,): n not in (2, 3) for n in range(6)}, "n < 2 or n > 3"),
        (("n",), {(n,): n == 2 for n in range(6)}, "n == 2"),
        (("n",), {(n,): n % 2 == 0 for n in range(6)}, "n in {0, 2, 4}"),
        (("x",), {(True,): False, (False,): True}, "not x"),
        (("x",), {(None,): False, (1,): True, (2,): True}, "x is not None"),
        (("x",), {(True,): False, ("a",): True}, "x == 'a'"),
        (
            ("a", "b"),
            {(a, b): a and b == 1 for a in (True, False) for b in (0, 1)},
            "(a) and (b == 1)",
        ),
        (
            ("a", "b"),
            {(a, b): a == b for a in range(3) for b in range(3)},
            "(a, b) in {(0, 0), (1, 1), (2, 2)}",
        ),
    ],
)
def test_conditions_are_short_and_right(
    names: tuple[str, ...], rows: dict[tuple[object, ...], bool], text: str
) -> None:
    table = DecisionTable(names, rows)
    assert condition(table) == text
    for values, result in rows.items():
        found = eval(text, {}, dict(zip(names, values, strict=True)))  # noqa: S307 (our own text)
        assert bool(found) == result


def test_two_values_are_told_apart_by_truth_only_if_they_are_truth_values() -> None:
    rows = {(True,): 1, ("yes",): 2}
    assert expression(DecisionTable(("x",), rows)) == "1 if x == True else 2"


def test_what_is_equal_but_of_another_type_is_another_result() -> None:
    assert not same(1, True)
    assert not same((1, 2), (1, 2.0))
    assert simplest(("a",), [((0,), 1), ((1,), True)]).names == ("a",)


def test_long_tables_are_constants_above_the_function() -> None:
    writer = Writer(program_of("@program\ndef f(): pass").source)
    rows = {(n, m): n * m % 7 for n in range(5) for m in range(5)}
    assert expression(DecisionTable(("n", "m"), rows), writer) == "F_CHOICE[n, m]"
    assert writer.constants["F_CHOICE"].startswith("{\n    (0, 0): 0,\n    (0, 1): 0,\n")
