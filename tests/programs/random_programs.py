"""Programs made at random from a grammar of all that is allowed, and exact values of completions.

`f(n)` calls itself and `g`, always with a smaller argument, and loops are bounded. So there are
finitely many runs, and the value of completed source is a sum over what flips and picks can give.
Some programs repeat until a flip says stop, and call each other with the same arguments again:
their runs have no bound, and are sampled.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.programs.written import TooLargeError, program_of

from recurl import Program
from recurl.programs.completion import Completion

HEAD = """
import enum
from dataclasses import dataclass
from fractions import Fraction

class Way(enum.Enum):
    A = 1
    B = 2

@dataclass(frozen=True)
class Point:
    x: int
    way: Way = Way.A

PRICES = {Way.A: 1, Way.B: 2}
HALF = Fraction(1, 2)
LONG = ("a", "b", "a")

def helper(x, y=1):
    return (x + 2 * y) % 3
"""


class Maker:
    """Makes the text of a program.

    Args:
        seed: Which one.
        endless: Whether loops may go on until a flip says stop.
    """

    def __init__(self, seed: int, endless: bool = False) -> None:
        self.random, self.endless = random.Random(seed), endless
        self.names = iter(range(10_000))
        self.loops = 0

    def any(self, *options: str) -> str:
        return self.random.choice(options)

    def text(self) -> str:
        """The whole program."""
        functions = [self.function("f", "g"), self.function("g", self.any("f", "g"))]
        return HEAD + "\n\n".join(functions)

    def function(self, name: str, other: str) -> str:
        self.other, self.own = other, name
        parameters = self.any("n", "n, m=1", "n, *, m=1", "n, /, m=1", "n, *rest")
        self.numbers = ["x", "y", "n", *(["m"] if "m=" in parameters else [])]
        begin = [self.any('"""A text."""', "# A comment.", "pass"), "if n <= 0:"]
        begin.insert(1, "x, y = 1, 0")
        begin.append(f"    return {self.number(0) if self.leaf() else 1}")
        body = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(2)]
        last = f"return ({self.number()}) % 3"
        lines = "\n".join(f"    {line}" for line in [*begin, *body, last])
        return f"@program\ndef {name}({parameters}):\n{lines}"

    def leaf(self) -> bool:
        return self.random.random() < 0.5

    # Expressions

    def number(self, depth: int = 2) -> str:
        """An expression whose value is a small integer."""
        plain = [
            *self.numbers, "1", "helper(x)", "helper(y=x, x=n)", "PRICES[Way.A]", "len(LONG)",
            "choose(0, 1)", "choose(1, 2)", "choose(range(3))", "choose(*(0, 2))", "choose(x, y)",
            "choose([1, 0])", "flip(0.25) + 0", "flip(HALF)", "pick({0: 0.5, 2: HALF})",
            "choose(Point(1), Point(2, Way.B)).x", "PRICES[choose(Way.A, Way.B)]",
            "(2 if choose('a', 'b') == 'a' else x)", "sum([i * y for i in range(2)])",
        ]  # fmt: skip
        if depth == 0:
            return self.random.choice(plain)
        a, b = (self.number(depth - 1) for _ in "ab")
        deep = [
            f"({a} + {b}) % 3", f"({a} - {b}) % 2", f"choose({a}, {b})", f"(({a}) * ({b})) % 3",
            f"({a} if {self.test(depth - 1)} else {b})", f"max({a}, {b})", f"({a} and {b})",
            f"({a}, {b})[choose(0, 1)]", f"pick({{0: 0.5, ({a}) % 3 + 1: 0.5}})",
            f"({a} or {b})", self.call(depth - 1), self.call(depth - 1), f"-{a} % 3",
        ]  # fmt: skip
        return self.random.choice([*plain, *deep, *deep])

    def call(self, depth: int) -> str:
        name = self.any(self.own, self.other, self.other)
        if self.endless and self.random.random() < 0.7:
            # A cycle of calls, through one or two different arguments.
            return f"({name}({self.any('n', '3 - n')}) if flip(0.05) else 1)"
        return f"{name}(n - {self.any('1', '1', '2')})"

    def test(self, depth: int = 1) -> str:
        plain = [
            "x > y", "flip(0.3)", "choose(True, False)", "n == 1", "choose('a', 'b') == 'a'",
            "choose(Way.A, Way.B) is Way.A", "not choose(0, 1)", "x in (0, 2)",
        ]  # fmt: skip
        if depth == 0:
            return self.random.choice(plain)
        a, b = self.number(depth - 1), self.number(depth - 1)
        s, t = self.test(depth - 1), self.test(depth - 1)
        deep = [
            f"{a} > {b}", f"0 < {a} < 2", f"0 < {a} < {b} < 2", f"({s}) and {t}", f"({s}) or {t}",
            f"not ({s})", f"not {self.call(0)}", f"{a} == choose(0, 1)", f"({s}) == ({t})",
        ]  # fmt: skip
        return self.random.choice([*plain, *deep, *deep])

    # Statements

    def statement(self, depth: int) -> list[str]:
        kinds = [self.simple] * 3
        if depth:
            kinds += [self.branch, self.count, self.go_through, self.match, self.branch]
            kinds += [self.ways, self.go_through]
        return self.random.choice(kinds)(depth - 1)

    def simple(self, _: int) -> list[str]:
        name, comment = self.any("x", "y"), self.any("", "", "  # why not")
        number = self.number()
        return self.random.choice(
            [
                [f"{name} = {number}{comment}"],
                [f"{name} += {number}", f"{name} %= 3"],
                [f"reward({number} - 1){comment}"],
                [f"reward('1/2'); {name} = {number} % 3"],
                [f"x, y = y, {number}"],
                ["# What follows is a loss.", f"reward(-({number}))"],
                [f"z = {number}", "x = (x + z) % 3"],
                [f"pair = (x, {number})", "x, y = pair"],
                [f"if {self.test()}: return {number}"],
            ]
        )

    def ways(self, depth: int) -> list[str]:
        """A choice with a name, and what depends on it."""
        name = f"way{next(self.names)}"
        body = self.inner(depth)
        return [
            f"{name} = choose('net', 'disk', 'none')",
            f"reward(-1 if {name} == 'net' else 0)",
            f"if {name} != 'none' and flip(0.5):",
            *body,
        ]

    def inner(self, depth: int) -> list[str]:
        lines = [line for _ in range(self.random.randint(1, 2)) for line in self.statement(depth)]
        if self.loops and self.random.random() < 0.25:
            lines += [f"if {self.test(0)}:", f"    {self.any('break', 'continue')}"]
        return [f"    {line}" for line in lines]

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.test()}:", *self.inner(depth)]
        if self.leaf():
            lines += ["# Otherwise.", f"elif {self.test()}:", *self.inner(depth)]
        if self.leaf():
            lines += ["else:  # the rest", *self.inner(depth)]
        return lines

    def looped(self, depth: int) -> list[str]:
        self.loops += 1
        lines = self.inner(depth)
        self.loops -= 1
        return lines

    def otherwise(self, depth: int) -> list[str]:
        return ["else:", *self.inner(depth)] if self.random.random() < 0.3 else []

    def count(self, depth: int) -> list[str]:
        if self.endless and self.leaf():
            return ["while flip(0.4):", *self.looped(depth)]
        k = f"k{next(self.names)}"
        test = f"while {k} < 2 and ({self.test()}):"
        return [f"{k} = 0", test, f"    {k} += 1", *self.looped(depth), *self.otherwise(depth)]

    def go_through(self, depth: int) -> list[str]:
        i, j = f"i{next(self.names)}", f"j{next(self.names)}"
        items = self.any(
            "range(2)", "range(n)", "LONG", "(1, 1)", "'ab'", "[1, 0]", "range(3, 1, -1)", "(x, y)",
            "{1: 2, 2: 0}", "range(choose(1, 2))", "tuple(range(n)) + (5,)",
        )  # fmt: skip
        head = self.random.choice(
            [
                [f"for {i} in {items}:"],
                [f"for _ in {items}:"],
                [f"for {i}, {j} in enumerate({items}):"],
                [f"for {i}, {j} in zip({items}, (0, 1, 1)):"],
                [f"for {i} in {items}:", f"    x = (x + len(str({i}))) % 3"],
                [f"for {i} in {items}:", f"    {i} = x", f"    x = {i}"],
                [f"for {i} in reversed((2, {self.number(0)})):", f"    y = {i} % 3"],
            ]
        )
        return [*head, *self.looped(depth), *self.otherwise(depth)]

    def match(self, depth: int) -> list[str]:
        subject = self.random.choice(
            ["(x, y)", "choose('a', 'b')", "x", "choose(Way.A, Way.B)", f"({self.number()}, 1)"]
        )
        cases = {
            "(": ["(0, _)", "(a, 1)"],
            "c": ["'a'", "Way.B"],
            "x": ["0 | 2", "1 if y > 0"],
        }[subject[0]]
        lines = [f"match {subject}:"]
        for case in cases:
            lines += [f"    case {case}:", *(f"    {line}" for line in self.inner(depth))]
        if self.leaf():
            lines += ["    case _:", *(f"    {line}" for line in self.inner(depth))]
        return lines


class _AskError(Exception):
    def __init__(self, outcomes: Mapping[Any, Fraction]) -> None:
        self.outcomes = outcomes


def exact_value(completion: Completion, most: int = 20_000) -> Fraction:
    """The expectation over all runs of the completed source, by trying each of them."""
    namespace: dict[str, Any] = {}
    exec(compile(completion.source(), "<completed>", "exec"), namespace)  # noqa: S102
    script: Sequence[Any] = ()
    left = iter(script)

    def draw(outcomes: Mapping[Any, Fraction]) -> Any:
        for value in left:
            return value
        raise _AskError({value: p for value, p in outcomes.items() if p})

    def flip(p: Any) -> bool:
        heads = Fraction(str(p)) if isinstance(p, float) else Fraction(p)
        return bool(draw({True: heads, False: 1 - heads}))

    def pick(outcomes: Mapping[Any, Any]) -> Any:
        return draw({value: Fraction(str(p)) for value, p in outcomes.items()})

    namespace |= {"flip": flip, "pick": pick}
    context = (0,) if completion._printed.takes_context else ()
    total, todo, runs = Fraction(0), [((), Fraction(1))], 0
    while todo:
        script, probability = todo.pop()
        left, namespace["total"] = iter(script), 0.0
        runs += 1
        if runs > most:
            raise TooLargeError
        try:
            namespace[completion._printed.entry](*context, *completion.arguments)
            total += probability * Fraction(namespace["total"])
        except _AskError as ask:
            todo += [((*script, value), probability * p) for value, p in ask.outcomes.items()]
    return total


def printed(text: str, *arguments: object, name: str = "f") -> str:
    """The functions of a completed program, which is run before: it earns what is claimed."""
    completion = program_of(text, name).solve(*arguments)
    assert abs(float(exact_value(completion)) - completion.value) < 1e-9
    source = completion.source()
    return source[source.index("@" if "\n@" in source else f"def {name}(") :]


def random_program(seed: int, endless: bool = False) -> Program:
    """A program that a seed stands for."""
    return program_of(Maker(seed, endless).text())
