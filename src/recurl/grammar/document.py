"""Grammars as YAML.

```yaml
recurl: 1
name: epidemic
start: I
grammar:
  I:                                # with choices
    wait: ["I I [0.3] {-2}", "[0.7] {-2}"]
    treat: ["I [0.2] {-3}", "[0.8] {-3}"]
  J: ["'a' J 'b' [1/3]", "'c' [2/3]"]   # without
```

Instead of the mapping, `grammar` may be a text with a rule per line.
"""

from __future__ import annotations

import os

from recurl.errors import ModelError
from recurl.grammar.grammar import Grammar
from recurl.model.document.pieces import TreePieces
from recurl.model.document.source import read_document
from recurl.model.document.tree import Tree
from recurl.model.limits import read_text
from recurl.model.report import Report

KEYS = ("recurl", "name", "start", "terminals", "grammar")


def load(path: str | os.PathLike[str]) -> Grammar:
    """Read a grammar from a YAML file.

    Raises:
        DocumentError: With all problems of the document and their lines.
    """
    file = os.fspath(path)
    return loads(read_text(file), file)


def loads(text: str, file: str = "<text>") -> Grammar:
    """Read a grammar from a YAML text.

    Example:
        >>> loads("{recurl: 1, grammar: {W: ['W W [0.4]', '[0.6]']}}")
        <Grammar grammar: 1 nonterminal, 2 rules, 0 terminals>
    """

    def make(tree: Tree, report: Report) -> Grammar:
        if not TreePieces(report).check_version(tree):
            raise ModelError(report.problems)
        return read_grammar(tree, report)

    return read_document(text, make, file)


def read_grammar(tree: Tree, report: Report) -> Grammar:
    """The grammar in a tree."""
    pieces = TreePieces(report)
    fields = pieces.fields(tree, (), KEYS)
    if "grammar" not in fields:
        report.add((), "has no key `grammar`", "write grammar: {HEAD: [RULE, RULE]}", line=1)
    name = pieces.text(fields.get("name", "grammar"), ("name",))
    start = pieces.text(fields["start"], ("start",)) if "start" in fields else None
    terminals = pieces.words(fields.get("terminals", []), ("terminals",))
    rules = fields.get("grammar", "")
    heads = {} if isinstance(rules, str) else pieces.mapping(rules, ("grammar",))
    written = {head: _choices(pieces, tree, ("grammar", head)) for head, tree in heads.items()}
    report.raise_any()
    try:
        if isinstance(rules, str):
            return Grammar.read(rules, name, start, terminals=terminals)
        return Grammar(name, written, start, terminals=terminals)
    except ModelError as error:
        for problem in error.problems:
            path = (
                ("grammar", *problem.path[1:]) if problem.path[:1] == ("rules",) else problem.path
            )
            report.add(path, problem.message, problem.fix)
        raise ModelError(report.problems) from None


def _choices(
    pieces: TreePieces, tree: Tree, path: tuple[str, ...]
) -> list[str] | dict[str, list[str]]:
    if isinstance(tree, dict):
        return {choice: _rows(pieces, rows, (*path, choice)) for choice, rows in tree.items()}
    return _rows(pieces, tree, path)


def _rows(pieces: TreePieces, tree: Tree, path: tuple[str, ...]) -> list[str]:
    """Right sides: a list of texts, or one text, with bars between them if there are several."""
    if isinstance(tree, str):
        return [tree]
    return [pieces.text(row, (*path, i)) for i, row in enumerate(pieces.list(tree, path))]
