from __future__ import annotations

import pytest

from recurl.errors import DocumentError, ModelError, Problem
from recurl.model.document.source import read_document
from recurl.model.document.tree import Tree
from recurl.model.report import Report


@pytest.mark.parametrize("text", ["a: [b, 1]", '{"a": ["b", 1]}'])
def test_a_tree_is_what_the_text_says(text: str) -> None:
    assert read_document(text, lambda tree, _: [str(x) for x in tree["a"]]) == ["b", "1"]


def test_problems_get_their_lines_in_order() -> None:
    def make(tree: Tree, report: Report) -> None:
        report.add(("b", "c"), "is last", "correct it")
        report.add(("a",), "is first", "correct it")

    with pytest.raises(DocumentError) as caught:
        read_document("x: 1\na: 2\nb:\n  c: 3\n", make, "some.yaml")
    assert [(p.line, p.message) for p in caught.value.problems] == [(2, "is first"), (4, "is last")]
    assert "some.yaml" in str(caught.value)


def test_errors_of_models_become_errors_of_documents() -> None:
    def make(tree: Tree, report: Report) -> None:
        raise ModelError([Problem("a", "is wrong", "correct it", ("a",))])

    with pytest.raises(DocumentError, match=r"line 2: .*is wrong"):
        read_document("x: 1\na: 2\n", make)


def test_texts_that_cannot_be_read() -> None:
    for text, message in (("a: [", "is not valid YAML"), ("\0", "is a binary file"), ("", "empty")):
        with pytest.raises(DocumentError, match=message):
            read_document(text, lambda tree, report: tree)
