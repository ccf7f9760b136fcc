"""The text of a completed function: that of the original, comments included, where nothing changed.

A comment belongs to the statement on its line, or else to the one that follows it. Comments of a
branch that is never taken go with the branch.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from recurl.programs.fold_statements import Folded
from recurl.programs.syntax import Source

INDENT = "    "


@dataclass(eq=False)
class Comments:
    """Comments of a statement.

    Attributes:
        above: Lines before it, blank ones included.
        inside: Those between the lines of a simple statement.
        beside: After a simple statement, or after the header of each arm of a compound one.
        between: Lines before the header of each arm but the first.
        below: Lines at the end of each arm.
    """

    above: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    beside: dict[int, str] = field(default_factory=dict)
    between: dict[int, list[str]] = field(default_factory=dict)
    below: dict[int, list[str]] = field(default_factory=dict)


class Original:
    """The text of a function as it was written.

    Args:
        source: The function.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.first = source, source.first_line
        self.lines = [line.rstrip("\n") for line in source.lines]
        self.notes: dict[ast.stmt, Comments] = {}
        self._own: dict[int, tuple[int, str]] = {}
        self._beside: dict[int, str] = {}
        self.in_string: set[int] = set()
        self._colons: list[tuple[int, int]] = []
        self.quotes: set[str] = set()
        self.header, self.tail = "", list[str]()
        if self.lines:
            self._read_tokens()
            begin, end = source.tree.lineno, self.first + len(self.lines)
            self.header = self._headers(begin, source.tree.body[0].lineno)
            self.tail = self._attach(source.tree.body, begin, end, source.tree.col_offset + 1)

    def _read_tokens(self) -> None:
        text = "\n".join(self.lines) + "\n"
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            (row, column), (last, _) = token.start, token.end
            line = row + self.first - 1
            if token.type == tokenize.COMMENT:
                if self.lines[row - 1][:column].strip():
                    self._beside[line] = token.string
                else:
                    self._own[line] = (column, token.string)
            elif token.type == tokenize.OP and token.string == ":":
                self._colons.append((line, column))
            elif token.type == tokenize.STRING:
                self.quotes.add(token.string[-1])
            if token.type == tokenize.COMMENT:
                continue
            if last > row and token.type not in (tokenize.NEWLINE, tokenize.NL):
                self.in_string.update(range(line + 1, line + 1 + last - row))

    # Which comments belong to what

    def _attach(self, body: Sequence[ast.stmt], begin: int, end: int, column: int) -> list[str]:
        """Attach comments between two lines to statements; returns those behind the last one."""
        before = begin
        for number, statement in enumerate(body):
            start = statement.lineno
            notes = self.notes[statement] = Comments(self._between(before, start, 0))
            if number == 0:
                while notes.above and not notes.above[0]:
                    del notes.above[0]
            after = body[number + 1].lineno if number + 1 < len(body) else end
            last = statement.end_lineno or statement.lineno
            arms = list(_arms(statement))
            if arms:
                before = self._attach_arms(statement, arms, after)
            else:
                lines = range(statement.lineno, last)
                notes.inside = [self._comment(n) for n in lines if self._comment(n)]
                if after > last and last in self._beside:
                    notes.beside[0] = self._beside[last]
                before = last
        return _stripped(self._between(before, end, column))

    def _attach_arms(
        self, statement: ast.stmt, arms: list[tuple[ast.AST | None, list[ast.stmt]]], after: int
    ) -> int:
        """Attach comments inside a compound statement; returns the line where they end."""
        notes = self.notes[statement]
        line = statement.lineno
        for number, (header, body) in enumerate(arms):
            first = body[0].lineno
            begin = line if number == 0 else self._line_of_arm(header, line, first)
            if number:
                notes.between[number] = [text for text in self._between(line, begin, 0) if text]
            if number and isinstance(header, ast.If):
                self.notes[header] = Comments()
                return self._attach_arms(header, list(_arms(header)), after)
            comment = self._headers(begin, first)
            if comment:
                notes.beside[number] = comment
            following = arms[number + 1] if number + 1 < len(arms) else None
            last = body[-1].end_lineno or 0
            if following is None:
                end = after
            else:
                end = self._line_of_arm(following[0], last, following[1][0].lineno)
            column = self._column(body[0])
            below = self._taken(last, end, column)
            notes.below[number] = self._attach(body, begin, last + below + 1, column)
            line = last + below
        return line

    def _taken(self, last: int, end: int, column: int) -> int:
        """How many lines behind a block belong to it: up to its last comment."""
        count = 0
        for line in range(last + 1, end):
            if line in self._own and self._own[line][0] >= column:
                count = line - last
            elif line in self._own:
                break
        return count

    def _line_of_arm(self, header: ast.AST | None, after: int, first: int) -> int:
        """Line of the header of an arm: of its pattern or test, or of ``else``."""
        if header is not None:
            return int(getattr(header, "lineno", after))
        for line in range(first, after, -1):
            if re.match(r"\s*else\s*:", self._text(line)):
                return line
        return first

    def _headers(self, begin: int, first: int) -> str:
        """Comments beside the lines of a header, as one."""
        lines = range(begin, max(begin + 1, first))
        return " ".join(self._beside[n] for n in lines if n in self._beside and n < first)

    def _between(self, before: int, start: int, column: int) -> list[str]:
        """Comments and blank lines between two lines, with a single blank line for several."""
        found: list[str] = []
        for line in range(before + 1, start):
            if line in self._own and self._own[line][0] >= column:
                found.append(self._own[line][1])
            elif not self._text(line).strip() and (not found or found[-1]):
                found.append("")
        return found

    def _comment(self, line: int) -> str:
        return self._beside.get(line) or self._own.get(line, (0, ""))[1]

    # Text

    def _text(self, line: int) -> str:
        at = line - self.first
        return self.lines[at] if 0 <= at < len(self.lines) else ""

    def _column(self, node: ast.stmt) -> int:
        return len(self._text(node.lineno)) - len(self._text(node.lineno).lstrip())

    def simple(self, node: ast.stmt) -> list[str]:
        """Lines of a simple statement, without its indentation."""
        return self._cut(node, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def head(self, node: ast.stmt | ast.expr | ast.pattern, last: ast.AST) -> list[str]:
        """Lines of a header, up to the colon behind its last part."""
        end = (getattr(last, "end_lineno", 0), getattr(last, "end_col_offset", 0))
        text = self._text(end[0])
        chars = (end[0], len(text.encode()[: end[1]].decode()))
        line, column = next(colon for colon in self._colons if colon >= chars)
        until = len(self._text(line)[: column + 1].encode())
        return self._cut(node, node.lineno, node.col_offset, line, until)

    def case_head(self, case: ast.match_case) -> list[str]:
        """The header of a case, if it stands on one line."""
        line, last = case.pattern.lineno, case.guard or case.pattern
        text = self._text(line)
        if not text.lstrip().startswith("case") or last.end_lineno != line:
            return []
        end = len(text.encode()[: last.end_col_offset].decode())
        colon = next(column for at, column in self._colons if at == line and column >= end)
        return [text[: colon + 1].lstrip()]

    def _cut(
        self, node: ast.AST, line: int, column: int, last: int | None, until: int | None
    ) -> list[str]:
        last, until = last or line, until or 0
        texts = [self._text(n) for n in range(line, last + 1)]
        indent = len(texts[0]) - len(texts[0].lstrip())
        texts[-1] = texts[-1].encode()[:until].decode()
        texts[0] = texts[0].encode()[column:].decode()
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(1, len(texts)):
            if is_text or line + number not in self.in_string:
                text = texts[number]
                blank = len(text) - len(text.lstrip())
                texts[number] = text[min(indent, blank) :]
            else:
                texts[number] = _VERBATIM + texts[number]
        return texts


_VERBATIM = "\0"
"""Marks lines that begin inside a text: these are not indented."""


def _stripped(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _arms(node: ast.stmt) -> Iterable[tuple[ast.AST | None, list[ast.stmt]]]:
    """Blocks of a compound statement, with what the header of each has a place by."""
    match node:
        case ast.If() | ast.While() | ast.For():
            yield node, node.body
            if node.orelse:
                nested = node.orelse[0]
                chained = isinstance(node, ast.If) and len(node.orelse) == 1
                is_if = isinstance(nested, ast.If) and nested.col_offset == node.col_offset
                yield (nested if chained and is_if else None), node.orelse
        case ast.Match():
            for case in node.cases:
                yield case.pattern, case.body


def layout(source: Source, folded: Folded, header: str) -> str:
    """The text of a function.

    Args:
        source: The function as it was written.
        folded: What it has become.
        header: Its first line.
    """
    return _Layout(source, folded).text(header)


class _Layout:
    def __init__(self, source: Source, folded: Folded) -> None:
        self.original, self.folded = Original(source), folded
        self.written = {node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)}
        self.out: list[str] = []

    def text(self, header: str) -> str:
        """The whole function."""
        comment = self.original.header
        self.out.append(f"{header}  {comment}" if comment else header)
        self._block(self.folded.body, INDENT)
        self._lines(self.original.tail, INDENT)
        return "\n".join(line.rstrip() for line in self.out)

    def _block(self, body: Sequence[ast.stmt], indent: str) -> None:
        start = len(self.out)
        for statement in body:
            self._comments_above(statement, indent, first=len(self.out) == start)
            self._statement(statement, indent)

    def _notes(self, node: ast.stmt) -> Comments:
        return self.original.notes.get(self.folded.origins.get(node, node)) or Comments()

    def _lines(self, lines: Iterable[str], indent: str) -> None:
        for line in lines:
            if line.startswith(_VERBATIM):
                self.out.append(line[1:])
            else:
                self.out.append(indent + line if line else "")

    def _comments_above(self, node: ast.stmt, indent: str, first: bool) -> None:
        found: list[str] = []
        for replaced, arm in self.folded.inlined.get(node, ()):
            notes = self.original.notes.get(replaced) or Comments()
            beside = notes.beside.get(max(arm, 0))
            found += [*notes.above, *([beside] if beside else [])]
        notes = self._notes(node)
        found += notes.above
        if node in self.folded.origins:
            found += notes.inside
        while first and found and not found[0]:
            del found[0]
        self._lines(found, indent)

    # Statements

    def _statement(self, node: ast.stmt, indent: str) -> None:
        match node:
            case ast.If():
                self._if(node, indent)
            case ast.While() | ast.For():
                self._compound(node, indent)
            case ast.Match():
                self._match(node, indent)
            case _:
                lines = self._simple(node)
                self._lines(self._with_comment(lines, self._notes(node).beside.get(0)), indent)

    def _simple(self, node: ast.stmt) -> list[str]:
        if node in self.written and self.original.lines:
            return self.original.simple(node)
        return self._unparsed(node)

    def _unparsed(self, node: ast.AST) -> list[str]:
        text = ast.unparse(ast.fix_missing_locations(node))
        return (_double_quoted(text) if self.original.quotes == {'"'} else text).split("\n")

    def _with_comment(self, lines: list[str], comment: str | None) -> list[str]:
        return [*lines[:-1], f"{lines[-1]}  {comment}"] if comment else lines

    def _head(self, node: ast.stmt, *parts: ast.AST) -> list[str]:
        """The header of a statement: as it was, or made of its parts."""
        origin = self.folded.origins.get(node, node)
        if self.original.lines and {*parts} <= {*ast.iter_child_nodes(origin)}:
            return self.original.head(origin, parts[-1])
        return self._unparsed(_hollow(node))[:1]

    def _arm(self, node: ast.stmt, arm: int, head: list[str], indent: str) -> None:
        notes = self._notes(node)
        self._lines(notes.between.get(arm, ()), indent)
        self._lines(self._with_comment(head, notes.beside.get(arm)), indent)

    def _if(self, node: ast.If, indent: str, word: str = "if") -> None:
        head = self._head(node, node.test)
        head[0] = re.sub(r"^(el)?if\b", word, head[0])
        self._lines(self._with_comment(head, self._notes(node).beside.get(0)), indent)
        self._block(node.body, indent + INDENT)
        self._lines(self._notes(node).below.get(0, ()), indent + INDENT)
        if not node.orelse:
            return
        nested = node.orelse[0]
        if len(node.orelse) == 1 and isinstance(nested, ast.If) and self._chained(node, nested):
            self._lines(self._notes(node).between.get(1, ()), indent)
            self._if(nested, indent, "elif")
        else:
            self._arm(node, 1, ["else:"], indent)
            self._block(node.orelse, indent + INDENT)
            self._lines(self._notes(node).below.get(1, ()), indent + INDENT)

    def _chained(self, node: ast.If, nested: ast.If) -> bool:
        """Whether an if in an else is written as elif, as it was or to be shorter."""
        if node not in self.written or nested not in self.written or not self.original.lines:
            return not self.folded.inlined.get(nested)
        return nested.col_offset == node.col_offset

    def _compound(self, node: ast.While | ast.For, indent: str) -> None:
        parts = [node.test] if isinstance(node, ast.While) else [node.target, node.iter]
        self._arm(node, 0, self._head(node, *parts), indent)
        self._block(node.body, indent + INDENT)
        self._lines(self._notes(node).below.get(0, ()), indent + INDENT)
        if node.orelse:
            self._arm(node, 1, ["else:"], indent)
            self._block(node.orelse, indent + INDENT)
            self._lines(self._notes(node).below.get(1, ()), indent + INDENT)

    def _match(self, node: ast.Match, indent: str) -> None:
        self._lines(self._head(node, node.subject), indent)
        for number, case in enumerate(node.cases):
            head = self.original.case_head(case) or self._unparsed(
                ast.match_case(case.pattern, case.guard, [ast.Pass()])
            )
            del head[1:]
            self._arm(node, number, head, indent + INDENT)
            self._block(case.body, indent + 2 * INDENT)
            self._lines(self._notes(node).below.get(number, ()), indent + 2 * INDENT)


def _hollow(node: ast.stmt) -> ast.stmt:
    """A compound statement without its blocks."""
    match node:
        case ast.If() | ast.While():
            return type(node)(node.test, [ast.Pass()], [])
        case ast.For():
            return ast.copy_location(ast.For(node.target, node.iter, [ast.Pass()], []), node)
        case ast.Match():
            return ast.Match(node.subject, [])
    return node


def _double_quoted(text: str) -> str:
    """Text with double quotes around plain strings, as the original has them."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
        plain = token.type == tokenize.STRING and re.fullmatch(r"'[^'\"\\]+'", token.string)
        if plain and token.start[0] == token.end[0]:
            row, begin, end = token.start[0] - 1, token.start[1], token.end[1]
            lines[row] = f'{lines[row][:begin]}"{token.string[1:-1]}"{lines[row][end:]}'
    return "\n".join(lines)
