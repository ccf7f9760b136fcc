from __future__ import annotations

from fractions import Fraction

import pytest

from recurl.programs.decisions import Table, expression, literal, parsed, simplest


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
            "False if n <= 1 else True if n <= 5 else False",
        ),
        (("n",), {(i,): i % 2 == 0 for i in range(4)}, "{0: True, 1: False, 2: True, 3: False}[n]"),
        (("n", "m"), {(0, 1): "a", (1, 0): "b"}, "{(0, 1): 'a', (1, 0): 'b'}[n, m]"),
    ],
)
def test_expressions_are_short_and_right(
    names: tuple[str, ...], rows: dict[tuple[object, ...], object], text: str
) -> None:
    assert expression(Table(names, rows)) == text
    parsed(text)


def test_names_that_decide_nothing_are_dropped_from_the_end() -> None:
    rows = [((a, b, c), a == b) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert simplest(("a", "b", "c"), rows).names == ("a", "b")
    assert simplest(("a", "b"), [((0, 5), 1), ((1, 6), 2)]).names == ("a",)
    assert simplest(("a",), [((0,), 1), ((1,), 1)]) == Table((), {(): 1})


def test_literals_can_be_read_again() -> None:
    for value in (1, -0.5, "x", None, (1,), ((), "y"), frozenset([1]), Fraction(1, 3)):
        assert eval(literal(value)) == value  # noqa: S307 (our own text)
    assert literal(len) == "len"
