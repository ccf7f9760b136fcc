from __future__ import annotations

import pytest

from recurl.automaton import Machine, rule
from recurl.automaton.machine_document import read_machine
from recurl.errors import DocumentError
from recurl.model.document.pieces import TreePieces
from recurl.model.document.source import read_document

TEXT = """
machine:
  name: balance
  start: up
  stack: [A, bottom]
  final: done
  labels: [a, b, c]
  exclusive: [[a, b, c]]
  otherwise: stop
  rules:
    - {from: up, read: a, push: A _}
    - {from: up, to: down, read: b, top: A, push: ""}
    - {from: down, to: done, read: else, top: bottom, reward: 1/3}
    - {from: down, to: up, top: A, choice: back}
"""


def read(text: str) -> Machine | None:
    return read_document(
        text, lambda tree, report: read_machine(tree["machine"], TreePieces(report), ("machine",))
    )


def test_a_document_is_the_same_as_python() -> None:
    machine = read(TEXT)
    assert machine is not None
    assert machine.rules == (
        rule("up", "a", "up", push="A _"),
        rule("up", "b", "down", top="A", push=""),
        rule("down", "else", "done", top="bottom", reward="1/3"),
        rule("down", None, "up", top="A", choice="back"),
    )
    assert (machine.start, machine.stack, machine.final) == ("up", ("A", "bottom"), ("done",))
    assert (machine.labels, machine.otherwise) == (("a", "b", "c"), "stop")


def test_guards_may_overlap_if_the_first_applies() -> None:
    text = TEXT.replace("  exclusive: [[a, b, c]]\n", "")
    with pytest.raises(DocumentError, match="overlap"):
        read(text)
    machine = read(text.replace("otherwise: stop", "first_match: true"))
    assert machine is not None
    assert machine.first_match


def test_a_grammar_makes_a_machine() -> None:
    machine = read("machine: {grammar: \"S -> 'a' S 'b' | 'c'\", accept: 2, end: stop}")
    assert machine is not None
    assert set(machine.labels) == {"a", "b", "c", "stop"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("read: a,", "read: a &,", "line 11: .*is not a formula"),
        ("read: a,", "reed: a,", "line 11: .*unknown key .did you mean 'read'"),
        ("from: up, read: a", "read: a", "line 11: .*has no `from`"),
        ("top: A, push", "top: X, push", "line 12: .*never on the stack"),
        ("read: b", "read: z", "line 12: .*unknown label 'z'"),
        ("reward: 1/3", "reward: lots", "line 13: .*finite decimal"),
        ("otherwise: stop", "otherwise: [stop]", "line 9: .*is a list, not text"),
        ("otherwise: stop", "first_match: perhaps", "line 9: .*neither true nor false"),
    ],
)
def test_problems_have_lines(old: str, new: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read(TEXT.replace(old, new))


def test_conflicts_of_a_grammar_are_reported() -> None:
    with pytest.raises(DocumentError, match=r"line 1: .*does not tell whether"):
        read("machine: {grammar: \"S -> 'a' 'b' | 'a' 'c'\", method: ll1}")
    machine = read("machine: {grammar: \"S -> 'a' 'b' | 'a' 'c'\"}")
    assert machine is not None
    assert machine.stack == ("s0",)
