"""A completed program as source text: plain Python, every choice filled in."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from recurl.model.names import unused_name
from recurl.programs.decorator import Program
from recurl.programs.definitions import needed
from recurl.programs.explore import REWARD
from recurl.programs.fill_expressions import UNREACHED, Filling
from recurl.programs.fold_statements import fold
from recurl.programs.holes import CONTEXT, Holes, holes_of
from recurl.programs.layout import layout
from recurl.programs.literals import Writer

if TYPE_CHECKING:
    from recurl.programs.program_policy import ProgramPolicy

REWARD_TEXT = '''\
{total} = 0.0


def {reward}(amount):
    """Count what the run earns."""
    global {total}
    {total} += float({amount})
'''
FLIP_TEXT = '''
def {flip}(p):
    """True with probability p."""
    return random.random() < Fraction(p)
'''
PICK_TEXT = '''
def {pick}(outcomes):
    """A value drawn from {{value: probability}}."""
    return random.choices(list(outcomes), [float(Fraction(p)) for p in outcomes.values()])[0]
'''
UNREACHED_TEXT = '''
def {unreached}(*options):
    """Stands for a choice to which no run comes that begins as said above."""
    raise AssertionError(f"a choice that was not solved for: {{options}}")
'''
WORDS = {"reward": REWARD_TEXT, "flip": FLIP_TEXT, "pick": PICK_TEXT, UNREACHED: UNREACHED_TEXT}


class Printed(NamedTuple):
    """A completed program.

    Attributes:
        text: Its source.
        entry: Name of the function to call.
        total: Name of the variable with what a run has earned.
        takes_context: Whether that function takes a context first, 0 from outside.
    """

    text: str
    entry: str
    total: str
    takes_context: bool


def print_completion(chosen: ProgramPolicy) -> Printed:
    """The source of a program under a policy."""
    return _Printer(chosen).run()


class _Printer:
    def __init__(self, chosen: ProgramPolicy) -> None:
        self.all, self.x = chosen, chosen.unfolded.exploration
        self.programs = [p for f, p in enumerate(self.x.functions) if f in chosen.groups]
        self.imports: dict[str, None] = {}
        self.taken = set[str]()
        for program in self.x.functions:
            self._take(program)
        self.context = self._unused(CONTEXT)
        self.names: dict[Any, str] = {word: self._unused(word) for word in ("total", *WORDS)}

    def _take(self, program: Program) -> None:
        """Note names that mean something in a function, words of the language apart."""
        source = program.source
        self.taken |= source.locals
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and source.word(ast.Call(node, [], [])) is None:
                self.taken.add(node.id)

    def _unused(self, name: str) -> str:
        while name in self.taken or name in (p.name for p in self.x.functions):
            name += "_"
        return name

    def _name(self, program: Program) -> str:
        """How a function is called: its own name, unless another one has that."""
        if program not in self.names:
            self.names[program] = unused_name(program.name, set(self.names.values()), "_")
        return self.names[program]

    def run(self) -> Printed:
        """The whole source."""
        entry = self._name(self.programs[0])
        texts = {p: self._function(p) for p in self._with_mentioned()}
        text = "\n\n\n".join(texts.values())
        words = [word for word in WORDS if word == "reward" or f"{self.names[word]}(" in text]
        helpers = [self._word(word) for word in words]
        imports, definitions = needed((part, p.source) for p, part in texts.items())
        lines = {*imports, *self.imports}
        if any("random." in helper for helper in helpers):
            lines.add("import random")
        if any("Fraction(" in helper for helper in helpers):
            lines.add("from fractions import Fraction")
        head = "\n".join(sorted(lines, key=lambda line: (line.startswith("from"), line)))
        parts = [head, *helpers, *definitions, text]
        whole = "\n\n\n".join(part.strip() for part in parts if part) + "\n"
        whole = whole.replace(f"\n\n\n{self.names['total']} =", f"\n\n{self.names['total']} =", 1)
        return Printed(whole, entry, self.names["total"], self._takes_context(self.programs[0]))

    def _with_mentioned(self) -> list[Program]:
        """Functions that are called, and those that they mention where they are never called."""
        found = list(self.programs)
        for program in found:
            source = program.source
            for event in source.events(source.tree):
                word = source.word(event)
                if isinstance(word, Program) and word not in found:
                    found.append(word)
        return found

    def _word(self, word: str) -> str:
        amounts = (s for s in self.x.states if s.kind == REWARD)
        whole = all(isinstance(self._amount(state), int | float) for state in amounts)
        amount = "amount" if whole else "Fraction(amount)"
        return WORDS[word].format(**{w: self.names[w] for w in ("total", *WORDS)}, amount=amount)

    def _amount(self, state: Any) -> Any:
        code = self.x.codes[state.function]
        event = code.events[state.position]
        arguments, named = code.operands(event, state.values, self.x.limit)
        return next(iter((*arguments, *named.values())))

    def _takes_context(self, program: Program) -> bool:
        return len(self.all.groups_of(program)) > 1

    # One function

    def _function(self, program: Program) -> str:
        source, writer = program.source, Writer(program.source, self.taken)
        holes = Holes()
        if program in self.x.functions:
            number = self.x.functions.index(program)
            holes = holes_of(self.all, number, self.context, writer)
        for event in source.events(source.tree):
            word = source.word(event)
            if isinstance(word, Program):
                self._name(word)
        folded = fold(Filling(source, holes, writer, self.names, self._takes_context))
        text = layout(source, folded, self._header(program))
        constants = [f"{n} = {table}" for n, table in writer.constants.items() if n in text]
        imports, _ = needed([], writer.imported)
        self.imports.update(dict.fromkeys(imports))
        above = [source.comment] if source.comment else []
        return "\n".join([*constants, *([""] * (2 if constants else 0)), *above,
                          *self._contexts(program), text])  # fmt: skip

    def _header(self, program: Program) -> str:
        arguments = copy.deepcopy(program.source.tree.args)
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        if self._takes_context(program):
            first = arguments.posonlyargs or arguments.args
            first.insert(0, ast.arg(self.context))
        return f"def {self._name(program)}({ast.unparse(arguments)}):"

    def _contexts(self, program: Program) -> list[str]:
        """Comments that say who enters which context."""
        if not self._takes_context(program):
            return []
        number = self.x.functions.index(program)
        callers = [self._callers(number, i) for i in range(len(self.all.groups_of(program)))]
        found = []
        for who, group in groupby(enumerate(callers), key=lambda pair: pair[1]):
            contexts = [i for i, _ in group]
            some = f"{self.context} {contexts[0]}"
            if len(contexts) > 1:
                some += f" to {contexts[-1]}"
            found.append(f"# {some}: {who}")
        return found

    def _callers(self, function: int, context: int) -> str:
        numbers = (caller for caller, _, _ in self.all.callers(function, context))
        names = dict.fromkeys(self._name(self.x.functions[n]) for n in numbers)
        calls = f"called by {_listed(names)}" if names else ""
        start = "where it starts" if function == 0 and context == 0 else ""
        return ", or ".join(part for part in (start, calls) if part)


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
