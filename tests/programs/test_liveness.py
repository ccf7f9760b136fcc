from __future__ import annotations

import ast

import pytest

from recurl.programs.liveness import before, reads, writes

KNOWN = frozenset("abcdef")


@pytest.mark.parametrize(
    ("text", "after", "result"),
    [
        ("a = b", "a", "b"),
        ("a += b", "a", "ab"),
        ("a, b = b, a", "ab", "ab"),
        ("a[b] = c", "", "abc"),
        ("a: int = b", "a", "b"),
        ("if a: b = 1\nelse: b = 2", "b", "a"),
        ("if a: b = 1", "b", "ab"),
        ("for a in b: c = a", "", "b"),
        ("for a in b: c += a", "c", "bc"),
        ("for a in b:\n  d = c\n  c = a", "", "bc"),
        ("while a:\n  d = c\n  c = b", "", "abc"),
        ("a = [b for b in c]", "a", "c"),
        ("a = (lambda b: b + d)(c)", "a", "cd"),
        ("a = 1\nb = a\nc = b", "c", ""),
        ("match a:\n  case [b, c]: d = b", "", "a"),
        ("match a:\n  case 1: d = 2\n  case [b, _] if c: e = b", "de", "acde"),
        ("import a", "ab", "b"),
        ("del a", "", "a"),
        ("other = a", "b", "ab"),
    ],
)
def test_what_matters_before(text: str, after: str, result: str) -> None:
    found = before(ast.parse(text).body, frozenset(after), KNOWN)
    assert "".join(sorted(found)) == result


def test_reads_and_writes_of_nodes() -> None:
    assert reads(None, KNOWN) == frozenset()
    (node,) = ast.parse("(a, *b), c = d").body
    assert isinstance(node, ast.Assign)
    assert writes(node.targets[0]) == frozenset("abc")
    assert reads(node, KNOWN) == frozenset("d")
