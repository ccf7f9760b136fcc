"""A rewritten function as a control-flow graph: blocks of pure statements, and events.

Ordinary statements stay whole inside blocks; only what contains an event, or leads out of a
loop or the function, is taken apart.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recurl.errors import ModelError, Problem
from recurl.programs.liveness import NOTHING, Locals, before, reads
from recurl.programs.rewrite import EventWhile, Rewriter, located, rest_meaning
from recurl.programs.syntax import Source

SEQUENCE = "sequence_"
"""Name, inside blocks, of the function that makes what a for loop goes through a sequence."""


@dataclass(eq=False)
class Block:
    """Statements without events, and what comes after them.

    Attributes:
        line: Where it stands in the source.
        statements: What is done first.
        test: Which of two ways to go, if there are two.
        to: The blocks that may come next: none after a return.
        value: What is returned.
        event: The event that the block consists of; it then has no statements.
        target: The local that the result of the event goes to.
        live: Locals that matter before the block, in order.
    """

    line: int
    statements: list[ast.stmt] = field(default_factory=list)
    test: ast.expr | None = None
    to: tuple[int, ...] = ()
    value: ast.expr | None = None
    event: ast.Call | None = None
    target: str | None = None
    live: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Flow:
    """The control-flow graph of a function; block 0 is its beginning."""

    source: Source
    blocks: list[Block]
    rewriter: Rewriter

    @property
    def meanings(self) -> Mapping[str, str]:
        """Temporaries in words."""
        return self.rewriter.meanings

    def origin(self, position: int) -> ast.Call:
        """The call in the original source that an event stands for."""
        return self.rewriter.origins[id(self.blocks[position].event)]


@dataclass(frozen=True)
class _Loop:
    again: int
    out: int


def flow_of(source: Source) -> Flow:
    """The control-flow graph of a function, with the locals that matter at each block.

    Raises:
        ModelError: A local may be read before it has a value.
    """
    rewriter = Rewriter(source)
    body = rewriter.body()
    lowering = _Lowering(rewriter)
    first = lowering.new(source.tree.lineno)
    last = lowering.run(body, first, None)
    if last is not None:
        lowering.blocks[last].value = ast.Constant(None)
    for meaning in lowering.meanings.items():
        rewriter.meanings.setdefault(*meaning)
    known = source.locals | frozenset(rewriter.meanings)
    _find_live(lowering.blocks, known)
    _check_assigned(source, lowering.blocks[0])
    return Flow(source, lowering.blocks, rewriter)


class _Lowering:
    """Takes statements apart into blocks, from the first to the last."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.events, self.rests = rewriter.origins, rewriter.rests
        self.blocks: list[Block] = []
        self.meanings: dict[str, str] = {}

    def new(self, line: int) -> int:
        self.blocks.append(Block(line))
        return len(self.blocks) - 1

    def run(self, statements: Sequence[ast.stmt], at: int, loop: _Loop | None) -> int | None:
        """Add statements to a block; returns the block where they end, None if they do not."""
        current: int | None = at
        for statement in statements:
            if current is None:
                break  # what follows a return, break or continue is never reached
            current = self._statement(statement, current, loop)
        return current

    def _statement(self, node: ast.stmt, at: int, loop: _Loop | None) -> int | None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
                id(call) in self.events
            ):
                return self._event(call, name, at)
            case ast.Expr(value=ast.Call() as call) if id(call) in self.events:
                return self._event(call, None, at)
            case ast.Return():
                self.blocks[at].value = node.value or ast.Constant(None)
                self.blocks[at].line = node.lineno
                return None
            case ast.Break() | ast.Continue() if loop is not None:
                self.blocks[at].to = (loop.out if isinstance(node, ast.Break) else loop.again,)
                return None
        if not self._must_lower(node):
            self.blocks[at].statements.append(node)
            return at
        return self._compound(node, at, loop)

    def _compound(self, node: ast.stmt, at: int, loop: _Loop | None) -> int | None:
        match node:
            case ast.If():
                return self._if(node, at, loop)
            case ast.While():
                return self._while(node, at, loop)
            case ast.For():
                return self._for(node, at, loop)
            case ast.Match():
                return self._match(node, at, loop)
        raise AssertionError(f"{type(node).__name__} should have been refused")

    def _must_lower(self, node: ast.AST, in_loop: bool = False) -> bool:
        if isinstance(node, ast.Return) or id(node) in self.events:
            return True
        if isinstance(node, ast.Break | ast.Continue):
            return not in_loop
        inner = in_loop or isinstance(node, ast.For | ast.While)
        return any(self._must_lower(below, inner) for below in ast.iter_child_nodes(node))

    def _event(self, call: ast.Call, target: str | None, at: int) -> int:
        event, after = self.new(call.lineno), self.new(call.lineno)
        self.blocks[at].to = (event,)
        self.blocks[event].event, self.blocks[event].target = call, target
        self.blocks[event].to = (after,)
        return after

    def _branch(self, at: int, test: ast.expr, yes: int, no: int) -> None:
        self.blocks[at].test, self.blocks[at].to = test, (yes, no)

    def _join(self, line: int, ends: Sequence[int | None]) -> int | None:
        """A block after those that end."""
        if all(end is None for end in ends):
            return None
        after = self.new(line)
        for end in ends:
            if end is not None:
                self.blocks[end].to = (after,)
        return after

    def _if(self, node: ast.If, at: int, loop: _Loop | None) -> int | None:
        yes, no = self.new(node.lineno), self.new(node.lineno)
        self._branch(at, node.test, yes, no)
        return self._join(
            node.lineno, [self.run(node.body, yes, loop), self.run(node.orelse, no, loop)]
        )

    def _while(self, node: ast.While, at: int, outer: _Loop | None) -> int:
        head, turn = self.new(node.lineno), self.new(node.lineno)
        leave, out = self.new(node.lineno), self.new(node.lineno)
        self.blocks[at].to = (head,)
        before_test = node.head if isinstance(node, EventWhile) else []
        tested = self.run(before_test, head, None)
        assert tested is not None
        if isinstance(node.test, ast.Constant) and node.test.value:
            self.blocks[tested].to = (turn,)
        else:
            self._branch(tested, node.test, turn, leave)
        self._link(self.run(node.body, turn, _Loop(head, out)), head)
        self._link(self.run(node.orelse, leave, outer), out)
        return out

    def _link(self, end: int | None, to: int) -> None:
        if end is not None:
            self.blocks[end].to = (to,)

    def _for(self, node: ast.For, at: int, outer: _Loop | None) -> int:
        """``rest = sequence(it); while rest: x = rest[0]; ...; rest = rest[1:]``."""
        rest = self.rests.get(id(node)) or f"rest_{len(self.blocks)}_"
        self.meanings[rest] = rest_meaning(node)
        head, turn, shorten = (self.new(node.lineno) for _ in range(3))
        leave, out = self.new(node.lineno), self.new(node.lineno)
        about = [ast.Constant(node.lineno), ast.Constant(id(node) in self.rests)]
        it = ast.Call(ast.Name(SEQUENCE, ast.Load()), [node.iter, *about], [])
        first, others = (ast.parse(f"{rest}[{at}]", mode="eval").body for at in ("0", "1:"))
        self._add(at, _assign(rest, it), node)
        self.blocks[at].to = (head,)
        self._branch(head, ast.Name(rest, ast.Load()), turn, leave)
        self._add(turn, ast.Assign([node.target], first), node)
        self._link(self.run(node.body, turn, _Loop(shorten, out)), shorten)
        self._add(shorten, _assign(rest, others), node)
        self.blocks[shorten].to = (head,)
        self._link(self.run(node.orelse, leave, outer), out)
        return out

    def _add(self, at: int, made: ast.stmt, origin: ast.AST) -> None:
        self.blocks[at].statements.append(located(made, origin))

    def _match(self, node: ast.Match, at: int, loop: _Loop | None) -> int | None:
        """Case by case: a match of this case alone says whether it is the one."""
        number = len(self.blocks)
        subject, hit = f"subject_{number}_", f"hit_{number}_"
        self.meanings[subject] = self.meanings[hit] = f"the match on line {node.lineno}"
        self._add(at, _assign(subject, node.subject), node)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            alone = [ast.match_case(case.pattern, case.guard, [_assign(hit, ast.Constant(True))])]
            match = ast.Match(ast.Name(subject, ast.Load()), alone)
            branch = ast.If(ast.Name(hit, ast.Load()), case.body, chain)
            parts = (_assign(hit, ast.Constant(False)), match, branch)
            chain = [located(part, node) for part in parts]
        return self.run(chain, at, loop)


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _find_live(blocks: list[Block], known: Locals) -> None:
    live: list[Locals] = [NOTHING] * len(blocks)
    changed = True
    while changed:
        changed = False
        for index in reversed(range(len(blocks))):
            found = _live_before(blocks[index], live, known)
            if found != live[index]:
                live[index], changed = found, True
    for block, names in zip(blocks, live, strict=True):
        block.live = tuple(sorted(names))


def _live_before(block: Block, live: list[Locals], known: Locals) -> Locals:
    after = NOTHING.union(*(live[to] for to in block.to)) if block.to else NOTHING
    if block.event is not None:
        return (after - {block.target or ""}) | reads(block.event, known)
    after = after | reads(block.test, known) | reads(block.value, known)
    return before(block.statements, after, known)


def _check_assigned(source: Source, first: Block) -> None:
    unset = sorted(set(first.live) - set(source.signature.parameters))
    if unset:
        line = _first_read(source.tree, unset[0])
        message = f"{', '.join(unset)} may be read before it has a value"
        problem = Problem(source.name, message, f"write {unset[0]} = ... first", line=line)
        raise ModelError([problem], headline=f"program {source.name} ({source.file}): ")


def _first_read(tree: ast.AST, name: str) -> int:
    found = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    return min(found, default=getattr(tree, "lineno", 1))
