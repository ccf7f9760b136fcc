"""Texts as tokens with lines, and expressions in the language of PRISM, with exact numbers."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from recurl.model.formats.format import refuse_line
from recurl.model.limits import DEEPEST
from recurl.model.numbers import exact
from recurl.model.report import shown

_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<text>\"[^\"\n]*\")|(?P<sign><=>|=>|->|!=|<=|>=|\.\.|.)",
    re.DOTALL,
)
_MOST_TOKENS = 20_000_000
_LARGEST_POWER = 1000

Value = Fraction | bool
Definitions = Mapping[str, "Value | Expression"]
Expression = Callable[[Definitions], Value]


class Token(NamedTuple):
    """A token: its kind (word, number, text, sign or end), its text, its line."""

    kind: str
    text: str
    line: int


class Tokens:
    """A text as tokens, taken one by one.

    Args:
        text: The text.
        file: What errors call it.
    """

    def __init__(self, text: str, file: str | os.PathLike[str]) -> None:
        self.file, self._tokens, self._place, self.depth = file, list[Token](), 0, 0
        line = 1
        for match in _TOKEN.finditer(text):
            found = match[0]
            if match.lastgroup != "skip":
                self._tokens.append(Token(match.lastgroup or "sign", found, line))
                if len(self._tokens) > _MOST_TOKENS:
                    refuse_line(file, line, f"has more than {_MOST_TOKENS} words")
            line += found.count("\n")
        self._tokens.append(Token("end", "the end", line))

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._place]

    def ahead(self, count: int) -> Token:
        """A later token."""
        return self._tokens[min(self._place + count, len(self._tokens) - 1)]

    def take(self, text: str) -> bool:
        """Whether a text comes next; if so it is taken."""
        if self.next.text != text or self.next.kind == "text":
            return False
        self._place += 1
        return True

    def need(self, text: str) -> None:
        """Take a text that must come next."""
        if not self.take(text):
            self.fail(f"{text!r} is expected, not {shown(self.next.text)}")

    def need_kind(self, kind: str, what: str) -> str:
        """Take a token of a kind that must come next."""
        token = self.next
        if token.kind != kind:
            self.fail(f"{what} is expected, not {shown(token.text)}")
        self._place += 1
        return token.text

    def name(self) -> str:
        """Take a name."""
        return self.need_kind("word", "a name")

    def whole(self) -> int:
        """Take a whole number that is not negative."""
        text = self.need_kind("number", "a whole number")
        if not text.isdecimal() or len(text) > 9:
            self.fail(f"a whole number is expected, not {shown(text)}")
        return int(text)

    def fail(self, message: str, fix: str = "") -> NoReturn:
        """Raise an error about the line that is read."""
        refuse_line(self.file, self.next.line, message, fix)

    def number(self) -> Fraction:
        """Take a decimal number, exactly."""
        text = self.need_kind("number", "a number")
        try:
            return exact(text)
        except ValueError as error:
            self.fail(str(error))

    def deeper(self) -> None:
        """Count one level of nesting more; the caller takes it back from `depth`."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"is nested more than {DEEPEST} levels deep", "flatten it")


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FUNCTIONS = ("min", "max", "floor", "ceil", "mod", "pow")


def expression(tokens: Tokens) -> Expression:
    """Take an expression; it is evaluated later, with the values of names.

    Example:
        >>> expression(Tokens("2 * x + 1/3 >= 1", "text"))({"x": Fraction(1, 3)})
        True
    """
    return _Expressions(tokens).choice()


class _Expressions:
    """Reads expressions from the weakest operator to the strongest."""

    def __init__(self, tokens: Tokens) -> None:
        self.t = tokens

    def choice(self) -> Expression:
        self.t.deeper()
        test = self.implied()
        if self.t.take("?"):
            yes = self.choice()
            self.t.need(":")
            no = self.choice()
            self.t.depth -= 1
            truth = self.truth(test)
            return lambda names: yes(names) if truth(names) else no(names)
        self.t.depth -= 1
        return test

    def implied(self) -> Expression:
        return self.chain(self.either, {"=>": lambda a, b: not a or b, "<=>": operator.eq}, True)

    def either(self) -> Expression:
        return self.chain(self.both, {"|": lambda a, b: a or b}, True)

    def both(self) -> Expression:
        return self.chain(self.negated, {"&": lambda a, b: a and b}, True)

    def negated(self) -> Expression:
        flips = 0
        while self.t.take("!"):
            flips += 1
        inner = self.compared()
        if not flips:
            return inner
        truth = self.truth(inner)
        return lambda names: truth(names) != bool(flips % 2)

    def compared(self) -> Expression:
        left = self.sum()
        sign = self.t.next.text
        if self.t.next.kind != "sign" or sign not in _COMPARE:
            return left
        self.t.need(sign)
        right, compare = self.sum(), _COMPARE[sign]
        if sign in ("=", "!="):
            return lambda names: compare(left(names), right(names))
        low, high = self.amount(left), self.amount(right)
        return lambda names: compare(low(names), high(names))

    def sum(self) -> Expression:
        return self.chain(self.product, {"+": operator.add, "-": operator.sub}, False)

    def product(self) -> Expression:
        return self.chain(self.signed, {"*": operator.mul, "/": self.divided}, False)

    def signed(self) -> Expression:
        flips = 0
        while self.t.take("-"):
            flips += 1
        inner = self.single()
        if not flips:
            return inner
        amount, sign = self.amount(inner), -1 if flips % 2 else 1
        return lambda names: sign * amount(names)

    def chain(
        self, part: Callable[[], Expression], signs: dict[str, Callable[..., Any]], truth: bool
    ) -> Expression:
        """Parts that operators of one strength join, from the left."""
        first = part()
        rest: list[tuple[Callable[..., Any], Expression]] = []
        typed = self.truth if truth else self.amount
        while self.t.next.kind == "sign" and self.t.next.text in signs:
            sign = self.t.next.text
            self.t.need(sign)
            rest.append((signs[sign], typed(part())))
        if not rest:
            return first
        start = typed(first)

        def value(names: Definitions) -> Value:
            total: Any = start(names)
            for combine, operand in rest:
                total = combine(total, operand(names))
            return total  # type: ignore[no-any-return]

        return value

    def single(self) -> Expression:
        t, token = self.t, self.t.next
        if t.take("("):
            inner = self.choice()
            t.need(")")
            return inner
        if token.kind == "number":
            number = t.number()
            return lambda names: number
        if t.take("true") or t.take("false"):
            return lambda names: token.text == "true"
        if token.kind == "word" and token.text in _FUNCTIONS:
            return self.function()
        name = t.name()
        return lambda names: self.named(name, names, token)

    def named(self, name: str, names: Definitions, token: Token) -> Value:
        found = names.get(name)
        if found is None:
            refuse_line(self.t.file, token.line, f"{shown(name)} is not defined", "define it")
        if not callable(found):
            return found
        self.t.deeper()
        value = found(names)
        self.t.depth -= 1
        return value

    def function(self) -> Expression:
        name, arguments = self.t.name(), []
        self.t.need("(")
        while True:
            arguments.append(self.amount(self.choice()))
            if not self.t.take(","):
                break
        self.t.need(")")
        wanted = {"floor": 1, "ceil": 1, "mod": 2, "pow": 2}.get(name, len(arguments))
        if len(arguments) != wanted:
            self.t.fail(f"{name} takes {wanted} arguments, not {len(arguments)}")
        return lambda names: self.called(name, [a(names) for a in arguments])

    def called(self, name: str, values: list[Fraction]) -> Fraction:
        if name in ("min", "max"):
            return min(values) if name == "min" else max(values)
        if name in ("floor", "ceil"):
            return Fraction(values[0].__floor__() if name == "floor" else values[0].__ceil__())
        if name == "mod":
            if not values[1]:
                self.t.fail("mod by zero")
            return values[0] % values[1]
        if values[1].denominator != 1 or abs(values[1]) > _LARGEST_POWER:
            self.t.fail(f"a power is whole and at most {_LARGEST_POWER} here")
        if not values[0] and values[1] < 0:
            self.t.fail("a power divides by zero")
        return Fraction(values[0] ** int(values[1]))

    def divided(self, left: Fraction, right: Fraction) -> Fraction:
        if not right:
            self.t.fail("divides by zero")
        return left / right

    def truth(self, inner: Expression) -> Callable[[Definitions], bool]:
        line = self.t.next.line

        def value(names: Definitions) -> bool:
            found = inner(names)
            if not isinstance(found, bool):
                refuse_line(self.t.file, line, "a truth value is expected, not a number")
            return found

        return value

    def amount(self, inner: Expression) -> Callable[[Definitions], Fraction]:
        line = self.t.next.line

        def value(names: Definitions) -> Fraction:
            found = inner(names)
            if isinstance(found, bool):
                refuse_line(self.t.file, line, "a number is expected, not a truth value")
            return found

        return value
