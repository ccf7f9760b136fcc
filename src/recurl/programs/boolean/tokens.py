"""The text of a boolean program, cut into tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from recurl.errors import DocumentError, Problem

WORDS = frozenset(
    ["assert", "bool", "choose", "else", "false", "flip", "if", "return", "skip", "true", "var",
     "void", "while"]
)  # fmt: skip
"""Words that cannot be names."""

_PATTERN = re.compile(
    r"(?P<blank>[ \t\r\n]+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<number>\d+/\d+|\d+(\.\d+)?|\.\d+)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<label>\"[^\"\n]*\")"
    r"|(?P<sign>&&|\|\||==|!=|[!(){},;=^*])",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind (name, number, label, sign or end), its text, and where it stands."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def shown(self) -> str:
        """The token as messages call it."""
        return "the end of the file" if self.kind == "end" else f"'{self.text}'"


def tokens_of(text: str, file: str = "<text>") -> list[Token]:
    """All tokens of a text, and one for its end.

    Raises:
        DocumentError: A character belongs to no token.

    Example:
        >>> [token.text for token in tokens_of("x = !y; // why not")]
        ['x', '=', '!', 'y', ';', '']
    """
    found, at, line, begin = list[Token](), 0, 1, 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            problem = Problem("", f"{text[at]!r} means nothing here", "remove it", line=line)
            raise DocumentError([problem], file)
        kind, piece = str(match.lastgroup), match.group()
        if kind != "blank":
            found.append(Token(kind, piece, line, at - begin + 1))
        if "\n" in piece:
            line += piece.count("\n")
            begin = at + piece.rindex("\n") + 1
        at = match.end()
    return [*found, Token("end", "", line, at - begin + 1)]
