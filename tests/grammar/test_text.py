from __future__ import annotations

import pytest

from recurl.grammar.text import read_bodies, read_line, read_lines


def test_a_line_has_a_head_a_choice_and_bodies() -> None:
    line = read_line("A ! treat -> B 'c' \"d e\" [1/3] {-2} | [2/3]")
    assert (line.head, line.choice) == ("A", "treat")
    first, second = line.bodies
    assert first.symbols == ("B", "c", "d e")
    assert first.terminal == (False, True, True)
    assert (first.p, first.reward) == ("1/3", "-2")
    assert (second.symbols, second.p, second.reward) == ((), "2/3", None)


def test_lines_go_on_with_bars_and_end_with_comments() -> None:
    lines = read_lines("S -> 'a' # first\n  | 'b#' S\n\nT ->\n")
    assert [line.head for line in lines] == ["S", "T"]
    assert [body.symbols for body in lines[0].bodies] == [("a",), ("b#", "S")]
    assert lines[1].bodies[0].symbols == ()


@pytest.mark.parametrize(
    "text", ["A B", "-> B", "A -> 'b", "A -> B [1] C", "A -> [1] [2]", "A -> B ]"]
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no|follows|second"):
        read_line(text)


def test_bodies_may_be_empty() -> None:
    assert [body.symbols for body in read_bodies("")] == [()]
