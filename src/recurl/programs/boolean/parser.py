"""Boolean programs, parsed into the syntax trees of Python functions.

Globals are handed to every procedure and come back with its result, and so does a flag that says
whether an assertion was violated; a procedure whose callee comes back with it returns at once.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, TypeVar

from recurl.errors import DocumentError, Problem
from recurl.model.limits import DEEPEST

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
    r"|(?P<sign>&&|\|\||==|!=|[!(){},;=^*-])",
    re.DOTALL,
)


class ProgramToken(NamedTuple):
    """A token: its kind (name, number, label, sign or end), its text, and where it stands."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def shown(self) -> str:
        """The token as messages call it."""
        return "the end of the file" if self.kind == "end" else f"'{self.short}'"

    @property
    def short(self) -> str:
        """Its text, cut if it is very long."""
        return self.text if len(self.text) <= 60 else f"{self.text[:60]}..."


def tokens_of(text: str, file: str = "<text>") -> list[ProgramToken]:
    """All tokens of a text, and one for its end.

    Raises:
        DocumentError: A character belongs to no token.

    Example:
        >>> [token.text for token in tokens_of("x = !y; // why not")]
        ['x', '=', '!', 'y', ';', '']
    """
    found, at, line, begin = list[ProgramToken](), 0, 1, 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None:
            problem = Problem("", f"{text[at]!r} means nothing here", "remove it", line=line)
            raise DocumentError([problem], file)
        kind, piece = str(match.lastgroup), match.group()
        if kind != "blank":
            found.append(ProgramToken(kind, piece, line, at - begin + 1))
        if "\n" in piece:
            line += piece.count("\n")
            begin = at + piece.rindex("\n") + 1
        at = match.end()
    return [*found, ProgramToken("end", "", line, at - begin + 1)]


FAILED, RESULT = "failed_", "result_"

N = TypeVar("N", bound=ast.AST)
X = TypeVar("X")


@dataclass
class Procedure:
    """A procedure: its name, its parameters, its body in Python, and where it stands."""

    name: ProgramToken
    parameters: list[str] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)


@dataclass
class Parsed:
    """A boolean program: its globals, and its procedures in order."""

    globals: list[str] = field(default_factory=list)
    procedures: dict[str, Procedure] = field(default_factory=dict)
    calls: list[tuple[ProgramToken, int]] = field(default_factory=list)


def parse(text: str, file: str = "<text>") -> Parsed:
    """Parse a boolean program.

    Raises:
        DocumentError: It is not one; the message names the line and what was expected.

    Example:
        >>> parsed = parse("var x; void main() { x = flip(0.5); assert(x); }")
        >>> parsed.globals, list(parsed.procedures)
        (['x'], ['main'])
    """
    return _Parser(tokens_of(text, file), file).program()


class _Parser:
    def __init__(self, tokens: list[ProgramToken], file: str) -> None:
        self.tokens, self.file, self.at = tokens, file, 0
        self.parsed = Parsed()
        self.scope: dict[str, None] = {}
        self.depth = 0

    # Tokens

    def nested(self, part: Callable[[], X]) -> X:
        """A part of a text, one level deeper; too deep ones are refused."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(self.now, f"this is nested more than {DEEPEST} levels deep", "flatten it")
        found = part()
        self.depth -= 1
        return found

    @property
    def now(self) -> ProgramToken:
        return self.tokens[self.at]

    def fail(self, token: ProgramToken, message: str, fix: str) -> NoReturn:
        problem = Problem(f"column {token.column}", message, fix, line=token.line)
        raise DocumentError([problem], self.file)

    def accept(self, *texts: str) -> ProgramToken | None:
        token = self.now
        if token.text in texts and token.kind in ("name", "sign"):
            self.at += 1
            return token
        return None

    def expect(self, text: str, after: str) -> ProgramToken:
        token = self.accept(text)
        if token is None:
            self.fail(self.now, f"found {self.now.shown}", f"write '{text}' {after}")
        return token

    def name(self, what: str) -> ProgramToken:
        token = self.now
        if token.kind != "name" or token.text in WORDS:
            self.fail(token, f"found {token.shown}", f"give the name of {what}")
        self.at += 1
        return token

    def listed(self, item: Callable[[], X]) -> list[X]:
        found = [item()]
        while self.accept(","):
            found.append(item())
        return found

    # Declarations

    def program(self) -> Parsed:
        for token in self.declared():
            self.parsed.globals.append(self.declare(token))
        while self.now.kind != "end":
            self.procedure()
        if "main" not in self.parsed.procedures:
            self.fail(self.now, "procedure main is missing", "write void main() { ... }")
        if self.parsed.procedures["main"].parameters:
            self.fail(self.parsed.procedures["main"].name, "main has parameters", "use globals")
        self.check_calls()
        return self.parsed

    def declared(self) -> Iterable[ProgramToken]:
        while self.accept("var"):
            names = self.listed(lambda: self.name("a variable"))
            self.expect(";", "after the declaration")
            yield from names

    def declare(self, token: ProgramToken) -> str:
        name = python_name(token.text)
        if name in self.scope:
            self.fail(token, f"{token.text} is declared already", "choose another name")
        self.scope[name] = None
        return name

    def procedure(self) -> None:
        if not self.accept("void", "bool"):
            fix = "write void or bool before the name of a procedure, var before globals"
            self.fail(self.now, f"found {self.now.shown}", fix)
        made = Procedure(self.name("the procedure"))
        if made.name.text in self.parsed.procedures:
            self.fail(made.name, f"{made.name.text} is there already", "choose another name")
        self.parsed.procedures[made.name.text] = made
        self.scope = dict.fromkeys(self.parsed.globals)
        self.expect("(", "after the name of the procedure")
        if not self.accept(")"):
            names = self.listed(lambda: self.name("a parameter"))
            made.parameters = [self.declare(token) for token in names]
            self.expect(")", "after the parameters")
        self.expect("{", "before the body")
        for token in self.declared():
            made.body.append(self.assign(self.declare(token), ast.Constant(False), token))
        made.body += [*self.statements(), self.leave(ast.Constant(False), self.now)]

    def check_calls(self) -> None:
        known = self.parsed.procedures
        for token, count in self.parsed.calls:
            if token.text not in known:
                self.unknown(token, "procedure", known)
            wanted = len(known[token.text].parameters)
            if count != wanted:
                fix = f"it takes {wanted}: {', '.join(known[token.text].parameters) or 'none'}"
                self.fail(token, f"{token.text} is called with {count} arguments", fix)

    def unknown(self, token: ProgramToken, what: str, known: Iterable[str]) -> NoReturn:
        names = list(known)
        close = difflib.get_close_matches(token.text[:100], names[:1000], n=1)
        some = ", ".join([*names[:20], *["..."] * (len(names) > 20)])
        fix = f"did you mean {close[0]}?" if close else f"known: {some or 'none'}"
        self.fail(token, f"unknown {what} {token.short}", fix)

    # Statements

    def statements(self) -> list[ast.stmt]:
        """The statements up to a closing brace."""
        found: list[ast.stmt] = []
        while not self.accept("}"):
            if self.now.kind == "end":
                self.fail(self.now, "the file ends inside a block", "write '}'")
            found += self.statement()
        return found

    def statement(self) -> list[ast.stmt]:
        return self.nested(self.plain_statement)

    def plain_statement(self) -> list[ast.stmt]:
        token = self.now
        if self.accept("{"):
            return self.statements() or [_at(ast.Pass(), token)]
        if self.accept("skip"):
            self.expect(";", "after skip")
            return [_at(ast.Pass(), token)]
        if self.accept("if"):
            test, body = self.condition("if"), self.statement()
            orelse = self.statement() if self.accept("else") else []
            return [_at(ast.If(test, body, orelse), token)]
        if self.accept("while"):
            return [_at(ast.While(self.condition("while"), self.statement(), []), token)]
        if self.accept("assert"):
            return self.assertion(token)
        if token.text == "reward" and self.at_amount():
            return [self.payment(token)]
        if self.accept("return"):
            value = ast.Constant(False) if self.now.text == ";" else self.expression()
            self.expect(";", "after return")
            return [self.leave(value, token)]
        return self.assignment_or_call()

    def condition(self, word: str) -> ast.expr:
        self.expect("(", f"after {word}")
        test = self.expression()
        self.expect(")", "after the condition")
        return test

    def assertion(self, token: ProgramToken) -> list[ast.stmt]:
        test = self.condition("assert")
        self.expect(";", "after the assertion")
        wrong = _at(ast.UnaryOp(ast.Not(), test), token)
        return [_at(ast.If(wrong, [self.violated(token)], []), token)]

    def at_amount(self) -> bool:
        """Whether a number in a bracket follows; else reward is a name of the program's own."""
        after = [one for one in self.tokens[self.at + 1 : self.at + 4] if one.text != "-"]
        return len(after) > 1 and after[0].text == "(" and after[1].kind == "number"

    def payment(self, token: ProgramToken) -> ast.stmt:
        """``reward(NUMBER);``, where a cost is a negative number."""
        self.at += 1
        self.expect("(", "after reward")
        sign = "-" if self.accept("-") else ""
        amount = ast.Constant(sign + self.now.text)
        self.at += 1
        self.expect(")", "after the amount")
        self.expect(";", "after the reward")
        return _at(ast.Expr(ast.Call(_name("reward"), [amount], [])), token)

    def assignment_or_call(self) -> list[ast.stmt]:
        first = self.name("a variable or a procedure")
        if self.now.text == "(":
            made = self.call(first, RESULT)
            self.expect(";", "after the call")
            return made
        self.at -= 1
        names = self.listed(lambda: self.name("a variable"))
        targets = [self.variable(token) for token in names]
        self.expect("=", "after the variables")
        if len(names) == 1 and self.at_call():
            made = self.call(self.name("a procedure"), targets[0])
            self.expect(";", "after the call, which stands alone")
            return made
        values = self.listed(self.expression)
        if len(values) != len(targets):
            fix = "give one value for each variable"
            self.fail(first, f"{len(targets)} variables, {len(values)} values", fix)
        self.expect(";", "after the assignment")
        left: list[ast.expr] = [_name(name, ast.Store()) for name in targets]
        pair = ast.Assign([ast.Tuple(left, ast.Store())], ast.Tuple(values, ast.Load()))
        return [_at(pair, first)] if len(left) > 1 else [self.assign(targets[0], values[0], first)]

    def at_call(self) -> bool:
        token, after = self.now, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        return token.kind == "name" and token.text not in WORDS and after.text == "("

    def call(self, callee: ProgramToken, target: str) -> list[ast.stmt]:
        self.expect("(", "after the name of the procedure")
        arguments: list[ast.expr] = []
        if not self.accept(")"):
            arguments = self.listed(self.expression)
            self.expect(")", "after the arguments")
        self.parsed.calls.append((callee, len(arguments)))
        given = [_name(name) for name in self.parsed.globals]
        made = ast.Call(_name(python_name(callee.text)), [*given, *arguments], [])
        names = [FAILED, *self.parsed.globals, target]
        left = ast.Tuple([_name(name, ast.Store()) for name in names], ast.Store())
        check = ast.If(_name(FAILED), [self.violated(callee)], [])
        return [_at(ast.Assign([left], made), callee), _at(check, callee)]

    def assign(self, name: str, value: ast.expr, token: ProgramToken) -> ast.stmt:
        return _at(ast.Assign([_name(name, ast.Store())], value), token)

    def leave(self, value: ast.expr, token: ProgramToken) -> ast.stmt:
        parts = [ast.Constant(False), *map(_name, self.parsed.globals), value]
        return _at(ast.Return(ast.Tuple(parts, ast.Load())), token)

    def violated(self, token: ProgramToken) -> ast.stmt:
        """Return that an assertion failed; what variables are then does not matter."""
        parts: list[ast.expr] = [ast.Constant(True)]
        parts += [ast.Constant(False) for _ in [*self.parsed.globals, RESULT]]
        return _at(ast.Return(ast.Tuple(parts, ast.Load())), token)

    # Expressions, loosest first

    def expression(self) -> ast.expr:
        return self.joined("||", ast.Or(), lambda: self.joined("&&", ast.And(), self.comparison))

    def joined(self, sign: str, op: ast.boolop, part: Callable[[], ast.expr]) -> ast.expr:
        token, values = self.now, [part()]
        while self.accept(sign):
            values.append(part())
        return values[0] if len(values) == 1 else _at(ast.BoolOp(op, values), token)

    def comparison(self) -> ast.expr:
        token, left = self.now, self.negation()
        while sign := self.accept("==", "!=", "^"):
            op: ast.cmpop = ast.Eq() if sign.text == "==" else ast.NotEq()
            left = _at(ast.Compare(left, [op], [self.negation()]), token)
        return left

    def negation(self) -> ast.expr:
        token = self.now
        if self.accept("!"):
            return _at(ast.UnaryOp(ast.Not(), self.nested(self.negation)), token)
        return self.atom()

    def atom(self) -> ast.expr:
        token = self.now
        if self.accept("("):
            inside = self.nested(self.expression)
            self.expect(")", "to close the bracket")
            return inside
        if self.accept("true", "false"):
            return _at(ast.Constant(token.text == "true"), token)
        if self.accept("*"):
            return self.choice(token)
        if self.accept("choose"):
            self.expect("(", "after choose")
            self.expect(")", "after choose(")
            return self.choice(token)
        if self.accept("flip"):
            return self.flip(token)
        name = _name(self.variable(self.name("a variable")))
        if self.now.text == "(":
            self.fail(token, "a call inside an expression", f"write x = {token.text}(...); first")
        return _at(name, token)

    def choice(self, token: ProgramToken) -> ast.expr:
        options: list[ast.expr] = [ast.Constant(True), ast.Constant(False)]
        return _at(ast.Call(_name("choose"), options, []), token)

    def flip(self, token: ProgramToken) -> ast.expr:
        self.expect("(", "after flip")
        odds = self.now
        if odds.kind != "number":
            self.fail(odds, f"found {odds.shown}", "give a probability, such as 0.5 or 1/3")
        self.at += 1
        self.expect(")", "after the probability")
        return _at(ast.Call(_name("flip"), [ast.Constant(odds.text)], []), token)

    def variable(self, token: ProgramToken) -> str:
        name = python_name(token.text)
        if name not in self.scope and self.now.text != "(":
            self.unknown(token, "variable", self.scope)
        return name


def python_name(name: str) -> str:
    """A name that Python does not take for something else."""
    taken = keyword.iskeyword(name) or name in ("reward", "start") or name.endswith("_")
    return f"{name}_" if taken else name


def _name(name: str, context: ast.expr_context | None = None) -> ast.expr:
    return ast.Name(name, context or ast.Load())


def _at(node: N, token: ProgramToken) -> N:
    """A node, and what is new in it, at the place of a token."""
    place = {"lineno": token.line, "end_lineno": token.line}
    columns = {"col_offset": token.column - 1, "end_col_offset": token.column - 1 + len(token.text)}
    for key, value in {**place, **columns}.items():
        setattr(node, key, value)
    return ast.fix_missing_locations(node)
