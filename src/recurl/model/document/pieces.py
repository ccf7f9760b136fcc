"""The pieces of trees: mappings, lists, texts, each read or reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from recurl.model.report import Report, shown

if TYPE_CHECKING:
    from recurl.model.document.tree import Tree
    from recurl.model.report import KeyPath

VERSION = "1"


class TreePieces:
    """Reads the pieces of a tree; what does not fit is reported and replaced by something harmless.

    Paths lead to where a piece stands.

    Args:
        report: Where problems go.

    Example:
        >>> report = Report()
        >>> pieces = TreePieces(report)
        >>> pieces.fields({"nam": "cloud"}, (), ("name", "start"))
        {'name': 'cloud'}
        >>> print(report.problems[0])
        nam: unknown key (did you mean 'name'?)
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    def fields(self, tree: Tree, path: KeyPath, known: tuple[str, ...]) -> dict[str, Tree]:
        """The values of known keys; others are reported, and read as keys that they resemble."""
        found: dict[str, Tree] = {}
        for key, value in self.mapping(tree, path).items():
            if key in known:
                found[key] = value
                continue
            missing = [name for name in known if name not in tree]
            fix = self.report.hint(key, missing, f"known keys: {', '.join(known)}")
            self.report.add((*path, key), "unknown key", fix)
            for name in missing:
                if fix == f"did you mean {shown(name)}?":
                    found.setdefault(name, value)
        return found

    def mapping(self, tree: Tree, path: KeyPath) -> dict[str, Tree]:
        """A mapping."""
        if type(tree) is dict:
            return tree
        self.report.add(path, f"is {kind_of(tree)}, not a mapping", "write KEY: VALUE")
        return {}

    def text(self, tree: Tree, path: KeyPath) -> str:
        """A text."""
        if type(tree) is str or type(tree) is int:
            return str(tree)
        self.report.add(
            path, f"is {kind_of(tree)}, not text", "write one word, in quotes if need be"
        )
        return "unreadable"

    def truth(self, tree: Tree, path: KeyPath) -> bool:
        """True or false."""
        value = str(tree).lower()
        if value not in ("true", "false"):
            self.report.add(path, "is neither true nor false", "write one of them")
        return value == "true"

    def texts(self, tree: Tree, path: KeyPath) -> dict[str, str]:
        """A mapping of texts."""
        pairs = self.mapping(tree, path)
        return {name: self.text(value, (*path, name)) for name, value in pairs.items()}

    def names(self, tree: Tree, path: KeyPath) -> list[str]:
        """A list of names; a single name may stand alone."""
        if type(tree) is str or type(tree) is int:
            return [str(tree)]
        if type(tree) is not list:
            self.report.add(path, f"is {kind_of(tree)}, not a list of names", "write [NAME, NAME]")
            return []
        return [self.text(item, (*path, index)) for index, item in enumerate(tree)]

    def words(self, tree: Tree, path: KeyPath) -> list[str]:
        """A list of texts, or one text with words separated by blanks."""
        return tree.split() if isinstance(tree, str) else self.names(tree, path)

    def list(self, tree: Tree, path: KeyPath) -> list[Tree]:
        """A list."""
        if type(tree) is list:
            return tree
        self.report.add(path, f"is {kind_of(tree)}, not a list", "write [ITEM, ITEM]")
        return []

    def check_version(self, tree: Tree) -> bool:
        """Whether a document is one of ours, of the version that is read here."""
        if "recurl" not in tree:
            message = "is not a recurl document: the key `recurl` is missing"
            self.report.add((), message, f"begin with `recurl: {VERSION}`", line=1)
            return False
        version = tree["recurl"]
        if str(version) != VERSION:
            message = f"format {shown(version)} is not known"
            self.report.add(("recurl",), message, f"this version reads `recurl: {VERSION}`")
            return False
        return True


def kind_of(tree: Any) -> str:
    """The kind of a value, as messages name it."""
    if isinstance(tree, str):
        return "text"
    if isinstance(tree, dict | list):
        return "a mapping" if isinstance(tree, dict) else "a list"
    return json.dumps(tree)
