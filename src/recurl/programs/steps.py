"""Counting steps: code without events must come to an event, or to its end, after some of them."""

from __future__ import annotations

import ast
import copy
from itertools import islice
from typing import Any, TypeVar

N = TypeVar("N", bound=ast.AST)

STATES = 250_000
"""States of a program, and steps from an event to the next, after which to give up."""

TICK = "tick_"
"""Name, inside blocks, of the function that counts a turn of a loop."""


class EndlessError(BaseException):
    """A loop took too many turns; not an `Exception`, so that no function catches it.

    Args:
        line: Where the loop stands.
        most: Steps that were allowed.
    """

    def __init__(self, line: int, most: int) -> None:
        super().__init__(line, most)
        self.line, self.most = line, most


class StepCounter:
    """Counts the steps of one function from an event to the next."""

    def __init__(self) -> None:
        self.most = self.left = 0

    def begin(self, most: int) -> None:
        """Allow some steps."""
        self.most = self.left = most

    def tick(self, line: int) -> bool:
        """Count a step on a line; true, so that it can stand in the condition of a comprehension.

        Raises:
            EndlessError: There were too many.
        """
        self.left -= 1
        if self.left < 0:
            raise EndlessError(line, self.most)
        return True

    def sequence(self, values: Any, line: int, has_events: bool) -> Any:
        """The items of a for loop, as something that can be cut and compared.

        Raises:
            EndlessError: There are more than the steps that are left.
            TypeError: The items of a loop with events have no order.
        """
        if isinstance(values, range | tuple | str):
            return values
        if has_events and isinstance(values, set | frozenset):
            raise TypeError("the order of a set differs from run to run: write sorted(...)")
        items = tuple(islice(values, self.left + 1))
        if len(items) > self.left:
            raise EndlessError(line, self.most)
        return items


def counting_turns(node: N) -> N:
    """A copy of a function whose loops and comprehensions count their turns."""
    made: N = _Counter().visit(copy.deepcopy(node))
    return made


class _Counter(ast.NodeTransformer):
    def _loop(self, node: ast.For | ast.While) -> ast.stmt:
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_tick(node)), node))
        return ast.fix_missing_locations(node)

    visit_For = visit_While = _loop  # noqa: N815 (names that ast calls)

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.ifs.insert(0, _tick(node.iter))
        return node


def _tick(node: ast.stmt | ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(TICK, ast.Load()), [ast.Constant(node.lineno)], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))
