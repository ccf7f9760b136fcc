"""A completed program as source text: plain Python, every choice filled in."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any

from recurl.programs.contexts import Conducts
from recurl.programs.decisions import Table, expression, parsed, simplest
from recurl.programs.decorator import Program
from recurl.programs.rewrite import SEQUENCE
from recurl.programs.surroundings import needed
from recurl.programs.syntax import Site

if TYPE_CHECKING:
    from recurl.programs.code import Code, Values

WORDS = '''\
total = 0.0


def reward(amount):
    """Count what the run earns."""
    global total
    total += float(amount)
'''
FLIP = '''
def flip(p):
    """True with probability p."""
    return random.random() < Fraction(p)
'''
PICK = '''
def pick(outcomes):
    """A value drawn from {value: probability}."""
    return random.choices(list(outcomes), [float(Fraction(p)) for p in outcomes.values()])[0]
'''


def print_completion(conducts: Conducts) -> str:
    """The source text of a program under a policy."""
    x = conducts.unfolded.exploration
    used = [f for f in range(len(x.functions)) if f in conducts.groups]
    functions = {f: _Printer(conducts, f).text() for f in used}
    text = "\n\n\n".join(functions.values())
    helpers = [h for word, h in (("flip(", FLIP), ("pick(", PICK)) if word in text]
    imports, definitions = needed((part, x.codes[f].source) for f, part in functions.items())
    own = {"from fractions import Fraction"} if helpers else set()
    head = "\n".join(sorted({"import random", *own, *imports}, key=_import_order))
    parts = [f"{head}\n\n{WORDS}".rstrip(), *helpers, *definitions, text]
    return "\n\n\n".join(part.strip() for part in parts) + "\n"


def _import_order(statement: str) -> tuple[bool, str]:
    return statement.startswith("from"), statement


class _Printer:
    """Prints one function."""

    def __init__(self, conducts: Conducts, function: int) -> None:
        self.all, self.function = conducts, function
        self.x = conducts.unfolded.exploration
        self.code: Code = self.x.codes[function]
        self.groups = conducts.groups[function]
        self.context = self._context_name()
        self.fills = {**self._choices(), **self._callees()}

    def _context_name(self) -> str:
        name = "context"
        while any(name in code.source.locals for code in self.x.codes):
            name += "_"
        return name

    # What fills the holes

    def _choices(self) -> dict[Site, Table]:
        rows: dict[int, list[tuple[Values, Any]]] = {}
        for number, group in enumerate(self.groups):
            for state, option in group.choices.items():
                at = self.x.states[state]
                row = ((number, *at.values), at.options[option])
                rows.setdefault(at.position, []).append(row)
        return {self._site(position): self._table(position, r) for position, r in rows.items()}

    def _callees(self) -> dict[Site, Table]:
        """Contexts entered, where the function called has several."""
        rows: dict[int, list[tuple[Values, Any]]] = {}
        for number, group in enumerate(self.groups):
            for state, callee in group.calls.items():
                function, entered = self.all.group_of[callee]
                if len(self.all.groups[function]) > 1:
                    at = self.x.states[state]
                    rows.setdefault(at.position, []).append(((number, *at.values), entered))
        return {self._site(position): self._table(position, r) for position, r in rows.items()}

    def _site(self, position: int) -> Site:
        event = self.code.flow.blocks[position].event
        assert event is not None
        return Site.of(event)

    def _table(self, position: int, rows: list[tuple[Values, Any]]) -> Table:
        """Own locals are preferred to the context, and that to temporaries."""
        names = (self.context, *self.code.events[position].names)
        order = sorted(range(len(names)), key=lambda i: self._rank(names[i]))
        sorted_rows = ((tuple(values[i] for i in order), result) for values, result in rows)
        return simplest([names[i] for i in order], sorted_rows)

    def _rank(self, name: str) -> int:
        if name == self.context:
            return 1
        return 2 if name in self.code.flow.meanings else 0

    # The text

    def text(self) -> str:
        """The function, and what its contexts mean."""
        tree = self.code.source.tree
        temporaries = set(self.code.flow.meanings)
        plain = not any(temporaries.intersection(table.names) for table in self.fills.values())
        made = copy.copy(tree)
        made.decorator_list = []
        made.returns = None
        made.body = copy.deepcopy(tree.body if plain else self.code.flow.body)
        made.args = copy.deepcopy(tree.args)
        for argument in ast.walk(made.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        if len(self.groups) > 1:
            made.args.args.insert(0, ast.arg(self.context))
        filled = _Filler(self).visit(made)
        return "\n".join([*self._comments(), ast.unparse(ast.fix_missing_locations(filled))])

    def _comments(self) -> list[str]:
        if len(self.groups) == 1:
            return []
        numbers = range(len(self.groups))
        return [f"# {self.context} {i}: {'; '.join(self._meaning(i))}" for i in numbers]

    def _meaning(self, number: int) -> list[str]:
        """Where a context is entered, and what its exits are worth, as far as that is known."""
        places: dict[tuple[int, int], list[int]] = {}
        for function, context, position in self.all.callers(self.function, number):
            places.setdefault((function, position), []).append(context)
        found = [self._caller(*place, contexts) for place, contexts in places.items()]
        labels = self.all.policy.labels
        mine = [c for c, group in self.all.group_of.items() if group == (self.function, number)]
        if labels and mine:
            more = f", and {len(mine) - 1} more" if len(mine) > 1 else ""
            found.append(f"{labels[mine[0]]}{more}")
        return found or ["where it starts"]

    def _caller(self, function: int, position: int, contexts: list[int]) -> str:
        code = self.x.codes[function]
        event = code.flow.blocks[position].event
        assert event is not None
        place = f"line {event.lineno}, column {event.col_offset + 1}"
        if len(self.all.groups[function]) == 1:
            return f"called by {code.source.name} on {place}"
        listed = ", ".join(map(str, sorted(set(contexts))))
        return f"called by {code.source.name} on {place}, in {self.context} {listed}"


class _Filler(ast.NodeTransformer):
    """Puts choices in the place of `choose`, and hands contexts to calls."""

    def __init__(self, printer: _Printer) -> None:
        self.printer, self.source = printer, printer.code.source

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace an event by what it has become."""
        site, word = Site.of(node), self.source.word(node)
        if isinstance(node.func, ast.Name) and node.func.id == SEQUENCE:
            node.func.id = "tuple"
        if word == "choose":
            return self._chosen(site, node)
        self.generic_visit(node)
        if word is None:
            return node
        node.func = ast.Name(word.name if isinstance(word, Program) else word, ast.Load())
        if isinstance(word, Program):
            self._hand_over(word, site, node)
        return node

    def _chosen(self, site: Site, node: ast.Call) -> ast.expr:
        table = self.printer.fills.get(site)
        if table is not None:
            return parsed(expression(table))
        # Never reached under this policy: any option will do.
        first = node.args[0]
        return parsed(f"[{ast.unparse(first)}][0]") if isinstance(first, ast.Starred) else first

    def _hand_over(self, program: Program, site: Site, node: ast.Call) -> None:
        conducts, x = self.printer.all, self.printer.x
        functions = [f for f, known in enumerate(x.functions) if known is program]
        if functions and len(conducts.groups.get(functions[0], [])) > 1:
            table = self.printer.fills.get(site)
            entered = expression(table) if table is not None else "0"
            node.args.insert(0, parsed(entered))
