from __future__ import annotations

from pathlib import Path

import pytest

from recurl.errors import DocumentError
from recurl.grammar import Grammar, load, loads

TEXT = """
recurl: 1
name: epidemic
start: I
grammar:
  I:
    wait: ["I I [0.3] {-2}", "[0.7] {-2}"]
    treat: "I [0.2] {-3} | [0.8] {-3}"
  J: ["'a' J [1/3]", "[2/3]"]
"""


def test_a_document_is_the_same_as_python(tmp_path: Path) -> None:
    grammar = Grammar(
        "epidemic",
        {
            "I": {
                "wait": ["I I [0.3] {-2}", "[0.7] {-2}"],
                "treat": ["I [0.2] {-3}", "[0.8] {-3}"],
            },
            "J": ["'a' J [1/3]", "[2/3]"],
        },
    )
    (tmp_path / "g.yaml").write_text(TEXT)
    for found in (loads(TEXT), load(tmp_path / "g.yaml")):
        assert (found.name, found.start, found.rules) == ("epidemic", "I", grammar.rules)


def test_rules_as_text() -> None:
    found = loads("recurl: 1\ngrammar: |\n  S -> 'a' S [1/2]\n  S -> [1/2]\n")
    assert len(found.alternatives("S")) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.7]", "[0.6]", "line 7: .*sum to 0.9"),
        ("J [1/3]", "K [1/3]", "line 9: .*'K' has no rules"),
        ("start: I", "start: Q", "line 4: .*'Q' has no rules"),
        ("name:", "nme:", "line 3: .*unknown key"),
        ("grammar:", "rules:", "has no key `grammar`"),
    ],
)
def test_problems_have_lines(old: str, new: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        loads(TEXT.replace(old, new))


def test_rules_as_text_have_their_lines_and_terminals() -> None:
    text = "recurl: 1\nterminals: [a]\ngrammar: |\n  S -> a S [1/2]\n  S -> [1/2]\n"
    assert loads(text).terminals == {"a"}
    with pytest.raises(
        DocumentError, match=r"line 3: grammar: line 2: 'S => \[1/2\]' is not a rule"
    ):
        loads(text.replace("S -> [", "S => ["))
    with pytest.raises(DocumentError, match="line 3: grammar, S: probabilities sum to"):
        loads(text.replace("S -> [1/2]", "S -> [1/4]"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{grammar: {S: [a]}}", "the key `recurl` is missing"),
        ("{recurl: 3, grammar: {S: [a]}}", "format '3' is not known"),
        ("{recurl: 1, grammar: {S: [\"'' S\", '']}}", "a terminal is empty"),
    ],
)
def test_what_is_no_grammar_document(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        loads(text)
