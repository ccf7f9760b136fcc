"""Compiled blocks: a function at a position with its locals, run to its next event."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any, TypeVar

from recurl.errors import LimitError, ModelError, Problem
from recurl.programs.flow import SEQUENCE, Block, Flow, flow_of
from recurl.programs.purity import FIX, generator_states, may_be_impure
from recurl.programs.refusals import check
from recurl.programs.steps import STATES, TICK, EndlessError, StepCounter, counting_turns
from recurl.programs.syntax import MISSING, Source

RETURNED = -1
"""In place of a position: the function has returned."""

Values = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Event:
    """An event at which a function waits, with what is needed to go on."""

    word: Any
    position: int
    names: tuple[str, ...]
    operands: Callable[..., tuple[Values, dict[str, Any]]]
    after: int
    sources: tuple[int, ...]

    def resume(self, value: Any, values: Values) -> tuple[int, Values]:
        """Position and locals after the event, given its result."""
        return self.after, tuple([value if i < 0 else values[i] for i in self.sources])


class Code:
    """A program's function, compiled block by block.

    Attributes:
        helpers: Something, in each block that calls any, that may run impure code.

    Raises:
        ModelError: The function does something that a model cannot express.
    """

    def __init__(self, source: Source) -> None:
        check(source)
        self.source, self.flow = source, flow_of(source)
        self._steps = StepCounter()
        self._blocks = _compiled(self.flow, self._steps)
        self.events = {
            i: _event(self.flow, i, self._blocks[i])
            for i, block in enumerate(self.flow.blocks)
            if block.event is not None
        }
        self._parameters = tuple(source.signature.parameters)
        self._entry = tuple(self._parameters.index(name) for name in self.flow.blocks[0].live)
        self._accepted: set[type] = set()
        self.helpers = _helper_calls(self.flow)
        self._known: set[int] = set()
        self._called: dict[int, ast.expr] = {}
        self._before: tuple[Any, ...] | None = None

    def enter(self, arguments: Values, named: dict[str, Any]) -> Values:
        """The arguments of a call, one per parameter."""
        bound = self.source.signature.bind(*arguments, **named)
        bound.apply_defaults()
        values = tuple([bound.arguments[name] for name in self._parameters])
        for name, value in zip(self._parameters, values, strict=True):
            if type(value) not in self._accepted:
                self._accept(0, f"the argument {name}", value)
        return values

    def entered(self, arguments: Values) -> tuple[int, Values]:
        """The first block and its locals, given the arguments of a call."""
        return 0, tuple([arguments[i] for i in self._entry])

    def run(self, position: int, values: Values, most: int = STATES) -> tuple[int, Values]:
        """Run to the next event; or to the return: then `RETURNED`, and the value alone.

        Args:
            position: Where to begin.
            values: The locals that matter there.
            most: Steps without an event after which to give up: turns of loops, and blocks.

        Raises:
            ModelError: The function raised an exception, which a model cannot, or calls a helper
                that does not give the same again.
            LimitError: A loop does not come to an event.
        """
        return self._pure(lambda: self._run(position, values, most))

    def _run(self, position: int, values: Values, most: int) -> tuple[int, Values]:
        blocks, events = self._blocks, self.events
        self._steps.begin(most)
        try:
            while position not in events and position != RETURNED:
                at = position
                self._note(at)
                position, values = blocks[position](*values)
                self._steps.tick(self.flow.blocks[at].line)
        except EndlessError as endless:
            raise self.endless(endless) from None
        except Exception as error:
            raise self.failure(error, position, values) from error
        self._check_values(position, values)
        return position, values

    def operands(self, event: Event, values: Values, most: int) -> tuple[Values, dict[str, Any]]:
        """The arguments of an event, in a limited number of steps."""

        def computed() -> tuple[Values, dict[str, Any]]:
            self._note(event.position)
            self._steps.begin(most)
            return event.operands(*values)

        try:
            return self._pure(computed)
        except EndlessError as endless:
            raise self.endless(endless) from None

    def _note(self, position: int) -> None:
        """Note that a block is about to run, if it calls helpers."""
        if position in self.helpers:
            self._called[position] = self.helpers[position]
            if position not in self._known and self._before is None:
                self._before = generator_states()

    def _pure(self, computed: Callable[[], T]) -> T:
        """Compute something; helpers called on the way must be seen to be pure.

        They must leave the random generators that all share alone and give the same again: when
        they are first called, several times, as a coin shows the same side half of the time.
        """
        self._called, self._before = {}, None
        result = computed()
        called = dict(self._called)
        if not called:
            return result
        times = 1 if called.keys() <= self._known else _FIRST
        self._known.update(called)
        if self._before is not None and generator_states() != self._before:
            raise self.impure(called, "draws from a random generator")
        for _ in range(times):
            again = computed()
            if not (again == result or _words(again) == _words(result)):
                raise self.impure(called, "does not give the same when it is called again")
        return result

    def impure(self, called: Mapping[int, ast.expr], why: str) -> ModelError:
        """An error for helpers, by the position at which they are called."""
        lines = {call.lineno: self.source.text(call) for call in called.values()}
        what = " or ".join(dict.fromkeys(lines.values()))
        return self.problem(min(lines), f"{what} {why}, so that no model could hold it", FIX)

    def endless(self, error: EndlessError) -> LimitError:
        """An error for a loop that may never come to an event."""
        return LimitError(
            f"program {self.source.name} ({self.source.file}): line {error.line}: the loop takes "
            f"more than {error.most} steps without a choice, a draw, a reward or a call. Let it "
            "end, or raise state_limit"
        )

    def _check_values(self, position: int, values: Values) -> None:
        for index, value in enumerate(values):
            if type(value) not in self._accepted:
                self._accept(position, self._name(position, index), value)

    def _accept(self, position: int, name: str, value: object) -> None:
        kind = type(value)
        if not _is_value(value):
            message = f"{name} is a {kind.__name__}, which has no value that could be compared"
            fix = "use numbers, texts, tuples, frozensets, enums or frozen dataclasses"
            raise self.problem(None if position == RETURNED else self.line(position), message, fix)
        if kind is not tuple and kind is not frozenset:
            self._accepted.add(kind)

    def _name(self, position: int, index: int) -> str:
        if position == RETURNED:
            return "the value returned"
        return self.meaning(self.events[position].names[index])

    def meaning(self, name: str) -> str:
        """A local in words: its name, or what a temporary stands for."""
        return self.flow.meanings.get(name, name)

    def locals_text(self, position: int, values: Values) -> str:
        """The locals at a position: those of the source, how far loops are, and values drawn."""
        rewriter, found = self.flow.rewriter, dict[str, str]()
        known = dict(zip(self.flow.blocks[position].live, values, strict=True))
        for name, value in known.items():
            node = rewriter.values.get(name)
            found[name] = f"{name if node is None else self.source.text(node)}={value_text(value)}"
        for name in [name for name in known if name in rewriter.loops]:
            target, rest = rewriter.loops[name].target, known[name]
            found[name] = _turn(target, rest)
            for covered in found.items() & _assigned(target, rest).items():
                del found[covered[0]]
        return ", ".join(found.values())

    def line(self, position: int) -> int:
        """Line of a position."""
        return self.flow.blocks[position].line

    @cached_property
    def texts(self) -> dict[int, str]:
        """Each event in words: function, line and source."""
        found = {}
        for position in self.events:
            block = self.flow.blocks[position]
            assert block.event is not None
            text = self.source.text(block.event)
            found[position] = f"{self.source.name}, line {block.line}: {text}"
        return found

    def problem(self, line: int | None, message: str, fix: str = "") -> ModelError:
        """An error on a line."""
        found = Problem(self.source.name, message, fix, line=line)
        return ModelError([found], headline=f"program {self.source.name} ({self.source.file}): ")

    def failure(self, error: Exception, position: int, values: Values) -> ModelError:
        """An error for an exception that the function raised."""
        line, trace = self.line(position), error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.source.file:
                line = trace.tb_lineno
            trace = trace.tb_next
        there = self.locals_text(position, values)
        message = f"{type(error).__name__}: {error}" + (f", with {there}" if there else "")
        return self.problem(line, message, "a model has no exceptions")


_FIRST = 8
"""How often what helpers give is computed again where they are first called."""


def _words(value: object) -> str:
    """A value as text, without the addresses of objects."""
    return re.sub(r" at 0x\w+", "", repr(value))


def _helper_calls(flow: Flow) -> dict[int, ast.expr]:
    """By position, something in its block whose call may run code that is not known to be pure."""
    found, source = {}, flow.source
    for i, block in enumerate(flow.blocks):
        operands = [] if block.event is None else [*block.event.args, *block.event.keywords]
        parts = [*block.statements, *operands, block.test, block.value]
        for node in (below for part in parts if part is not None for below in ast.walk(part)):
            local = isinstance(node, ast.Name) and node.id in source.locals
            if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
                found[i] = node.func
            elif isinstance(node, ast.Name | ast.Attribute) and not local:
                thing = source.resolve(node)
                if thing is not MISSING and may_be_impure(thing):
                    found[i] = node
    return found


def described(names: Sequence[str], values: Values) -> str:
    """Locals in words.

    Example:
        >>> described(("done", "n"), (False, 3))
        'done=False, n=3'
    """
    return ", ".join(f"{name}={value_text(v)}" for name, v in zip(names, values, strict=True))


_SHOWN = 3
"""Turns of a loop that are still to come, up to which all are listed."""


def _turn(target: ast.expr, rest: Sequence[Any]) -> str:
    """How far a loop is: ``n=1 (then 2, 3)``."""
    later = [value_text(item) for item in rest[1 : _SHOWN + 1]]
    if len(rest) > _SHOWN + 1:
        later = [*later[:-1], f"... {value_text(rest[-1])}"]
    note = f"then {', '.join(later)}" if later else "last"
    return f"{ast.unparse(target)}={value_text(rest[0])} ({note})"


def _assigned(target: ast.expr, rest: Sequence[Any]) -> dict[str, str]:
    """The texts of the locals that a loop assigns, which its own text makes superfluous."""
    if isinstance(target, ast.Name):
        return {target.id: f"{target.id}={value_text(rest[0])}"}
    names = [getattr(part, "id", "") for part in getattr(target, "elts", ())]
    return {name: f"{name}={value_text(part)}" for name, part in zip(names, rest[0], strict=False)}


def value_text(value: object) -> str:
    """A value in words: enums by name."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple) and type(value) is tuple:
        inside = ", ".join(map(value_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return getattr(value, "__qualname__", None) or repr(value)


def _is_value(value: object) -> bool:
    """Whether something is compared by value and immutable, so that it can be part of a state."""
    if isinstance(value, NoneType | enum.Enum | type | FunctionType | ModuleType):
        return True
    if isinstance(value, BuiltinFunctionType):
        return True
    try:
        hash(value)
    except TypeError:
        return False
    if isinstance(value, tuple | frozenset):
        return all(map(_is_value, value))
    return type(value).__eq__ is not object.__eq__


def collect(*arguments: Any, **named: Any) -> tuple[Values, dict[str, Any]]:
    """The arguments of an event."""
    return arguments, named


def _event(flow: Flow, index: int, operands: Callable[..., Any]) -> Event:
    block, (after,) = flow.blocks[index], flow.blocks[index].to
    assert block.event is not None
    names = block.live
    sources = tuple(
        -1 if name == block.target else names.index(name) for name in flow.blocks[after].live
    )
    return Event(flow.source.word(block.event), index, names, operands, after, sources)


# Compiling

_MAKER = "recurl_blocks"
_COLLECT = "collect_"


def _compiled(flow: Flow, steps: StepCounter) -> list[Callable[..., Any]]:
    """One function per block: locals -> next position and its locals; events: -> operands.

    They are made inside a function whose parameters are what the program has from functions
    around it, and look up everything else in the program's own module.
    """
    inner = [_function(flow.blocks, i) for i in range(len(flow.blocks))]
    names = [function.name for function in inner]
    made = ast.List([ast.Name(name, ast.Load()) for name in names], ast.Load())
    own = {SEQUENCE: steps.sequence, TICK: steps.tick, _COLLECT: collect}
    given = {**flow.source.closure, **own}
    maker = _definition(_MAKER, list(given), [*inner, ast.Return(made)])
    tree = ast.fix_missing_locations(ast.Module([maker], []))
    whole = compile(tree, flow.source.file, "exec", dont_inherit=True)
    (code,) = (c for c in whole.co_consts if getattr(c, "co_name", None) == _MAKER)
    blocks: list[Callable[..., Any]] = FunctionType(code, flow.source.globals)(**given)
    return blocks


def _function(blocks: list[Block], index: int) -> ast.FunctionDef:
    block = blocks[index]
    if block.event is not None:
        result: ast.expr = ast.Call(
            ast.Name(_COLLECT, ast.Load()), block.event.args, block.event.keywords
        )
    elif block.value is not None:
        value = ast.Tuple([block.value], ast.Load())
        result = ast.Tuple([ast.Constant(RETURNED), value], ast.Load())
    elif block.test is not None:
        yes, no = (_continuation(blocks, to) for to in block.to)
        result = ast.IfExp(block.test, yes, no)
    else:
        result = _continuation(blocks, block.to[0])
    last = ast.Return(result, lineno=block.line, end_lineno=block.line, col_offset=0)
    return counting_turns(
        _definition(f"block_{index}_", list(block.live), [*block.statements, last])
    )


def _continuation(blocks: list[Block], to: int) -> ast.expr:
    live: list[ast.expr] = [ast.Name(name, ast.Load()) for name in blocks[to].live]
    return ast.Tuple([ast.Constant(to), ast.Tuple(live, ast.Load())], ast.Load())


def _definition(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    return ast.FunctionDef(name, arguments, body, [], None)
