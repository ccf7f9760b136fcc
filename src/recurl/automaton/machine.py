"""Pushdown reward machines: finite control, a stack, and rewards for what labels say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

from recurl.automaton.guards import Guard, overlap, parse_guard
from recurl.model.names import is_name
from recurl.model.numbers import exact
from recurl.model.report import Report, shown
from recurl.model.spec import Number

if TYPE_CHECKING:
    from recurl.model.report import Report


ANY = "_"
"""In `top`: any symbol. In `push`: the symbol that was on top."""

ELSE = "else"
"""A guard that holds where no other of the same state and top does."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``(source, guard, top) -> (target, push, reward)``; made by `rule`.

    Attributes:
        source: State before.
        guard: Formula that the labels must meet; None for an epsilon move, which reads nothing.
        top: Symbol that must be on top of the stack, or ``_`` for any.
        target: State after.
        push: What takes the place of the top, topmost first; empty for a pop.
        reward: Reward.
        choice: Name by which the agent picks this rule, where several fit.
        otherwise: Whether the guard is ``else``.
    """

    source: str
    guard: Guard | None
    top: str
    target: str
    push: tuple[str, ...]
    reward: Fraction
    choice: str = ""
    otherwise: bool = False

    def fits(self, top: str) -> bool:
        """Whether the rule applies below this top."""
        return self.top in (ANY, top)

    def pushed(self, top: str) -> tuple[str, ...]:
        """The symbols that replace this top."""
        return tuple(top if symbol == ANY else symbol for symbol in self.push)

    def __str__(self) -> str:
        reads = "epsilon" if self.guard is None else ELSE if self.otherwise else str(self.guard)
        return f"({self.source}, {reads}, {self.top}) -> ({self.target}, {self.push_text})"

    @property
    def push_text(self) -> str:
        """The pushed symbols as text."""
        return " ".join(self.push) or "pop"


def rule(
    source: str,
    guard: str | Guard | None,
    target: str,
    *,
    top: str = ANY,
    push: str | Iterable[str] = ANY,
    reward: Number = 0,
    choice: str = "",
) -> Rule:
    """A rule ``(source, guard, top) -> (target, push, reward)`` of a machine.

    Args:
        source: State before.
        guard: A formula over labels, ``"else"``, or None for an epsilon move, which is an action of
            the agent's own: it reads nothing and leaves the world as it is.
        target: State after.
        top: Symbol that must be on top, or ``"_"`` for any.
        push: Symbols that replace the top, topmost first, as a list or separated by spaces;
            ``"_"`` is the top itself. So ``"_"`` keeps the stack, ``"A _"`` pushes A, ``""`` pops.
        reward: Reward of the move.
        choice: Name of an agent's choice. Rules whose guards overlap are distinguished by it.

    Example:
        >>> str(rule("run", "a & !b", "run", push="A _"))
        '(run, a & !b, _) -> (run, A _)'
    """
    symbols = push.split() if isinstance(push, str) else push
    otherwise = guard == ELSE
    if isinstance(guard, str):
        guard = parse_guard("True" if otherwise else guard)
    return Rule(source, guard, top, target, tuple(symbols), exact(reward), choice, otherwise)


class Machine:
    """A pushdown reward machine, checked when it is made.

    In state q with symbol g on top, a step of the world whose labels meet the guard of a rule
    ``(q, guard, g) -> (q', w, r)`` pays r, replaces g by the symbols w and goes on in q'. The run
    ends in a final state. The last symbol of the first stack is the bottom, and stays.

    Where several rules fit, they must carry names (``choice``), and the agent picks one together
    with its action; or the machine takes the first of them (``first_match``). Epsilon moves are
    actions of the agent's own.

    Args:
        name: Name of the machine.
        rules: Its rules, see `rule`.
        start: State in which it starts; that of the first rule if not given.
        stack: First stack, topmost symbol first, as a list or separated by spaces.
        final: States in which the run ends.
        labels: Labels that guards may use; those that they do use if not given.
        exclusive: Groups of labels of which at most one is true at a time.
        otherwise: What labels do that no rule reads: ``"stay"`` ignores them, ``"stop"`` ends the
            run.
        first_match: Whether guards may overlap: of the rules whose guards hold, the first applies.

    Raises:
        ModelError: With everything that is wrong: overlapping guards, rules between which nothing
            decides, a pop from the bottom, unknown labels, states and symbols.

    Example:
        As many b as a, then c:

        >>> machine = Machine("balance", [
        ...     rule("up", "a", "up", push="A _"),
        ...     rule("up", "b", "down", top="A", push=""),
        ...     rule("down", "b", "down", top="A", push=""),
        ...     rule("down", "c", "done", top="bottom", reward=1),
        ... ], final=["done"], exclusive=["abc"])
        >>> machine
        <Machine balance: 3 states, 2 stack symbols, 4 rules>
    """

    def __init__(
        self,
        name: str,
        rules: Iterable[Rule],
        start: str | None = None,
        *,
        stack: str | Iterable[str] = "bottom",
        final: str | Iterable[str] = (),
        labels: Iterable[str] | None = None,
        exclusive: Iterable[Iterable[str]] = (),
        otherwise: str = "stay",
        first_match: bool = False,
    ) -> None:
        self.name, self.rules = name, tuple(rules)
        self.start = start if start is not None else self.rules[0].source if self.rules else ""
        self.stack = tuple(stack.split() if isinstance(stack, str) else stack)
        self.final = (final,) if isinstance(final, str) else tuple(final)
        self.declared = None if labels is None else tuple(labels)
        self.exclusive = tuple(tuple(group) for group in exclusive)
        self.otherwise, self.first_match = otherwise, first_match
        report = Report(f"machine {name}: ")
        check_machine(self, report)
        report.raise_any()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels that the machine knows."""
        read = {label for r in self.rules if r.guard is not None for label in r.guard.labels}
        return tuple(sorted(read)) if self.declared is None else self.declared

    @cached_property
    def states(self) -> tuple[str, ...]:
        """All states, the first one first and final ones last."""
        named = [self.start, *(s for r in self.rules for s in (r.source, r.target))]
        return (*(s for s in dict.fromkeys(named) if s not in self.final), *self.final)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The stack alphabet, the bottom first."""
        named = [*reversed(self.stack), *(s for r in self.rules for s in r.push if s != ANY)]
        return tuple(dict.fromkeys(named))

    @property
    def bottom(self) -> str:
        """The symbol below all others."""
        return self.stack[-1] if self.stack else ""

    def rules_at(self, state: str, top: str) -> list[Rule]:
        """The rules of a state below a top, in order."""
        return [r for r in self.rules if r.source == state and r.fits(top)]

    def choices_at(self, state: str, top: str) -> Sequence[str]:
        """Names between which the agent picks when labels are read; ``[""]`` if there are none."""
        named = [r.choice for r in self.rules_at(state, top) if r.guard is not None and r.choice]
        return list(dict.fromkeys(named)) or [""]

    def __repr__(self) -> str:
        sizes = (len(self.states), len(self.symbols), len(self.rules))
        return "<Machine {}: {} states, {} stack symbols, {} rules>".format(self.name, *sizes)


_WAYS = ("stay", "stop")
_RESERVED = ("_", "over", "never")


def check_machine(machine: Machine, report: Report) -> None:
    """Report everything that is wrong with a machine."""
    if not machine.rules or not machine.stack:
        what = "rules" if not machine.rules else "stack"
        report.add((what,), "is empty", "give at least one")
        return
    if machine.otherwise not in _WAYS:
        message = f"{shown(machine.otherwise)} is not a way to treat labels that no rule reads"
        report.add(("otherwise",), message, f"write {' or '.join(_WAYS)}")
    _check_names(machine, report)
    _check_states(machine, report)
    for index, rule in enumerate(machine.rules):
        _check_labels(machine, rule, index, report)
        _check_stack(machine, rule, index, report)
    _check_determinism(machine, report)


def _check_names(machine: Machine, report: Report) -> None:
    for what, names in (("state", machine.states), ("stack symbol", machine.symbols)):
        for name in names:
            if not is_name(name) or name in _RESERVED or " " in name:
                fix = "use one word without dots, other than " + ", ".join(_RESERVED)
                report.add((what, name), "is not a usable name", fix)


def _check_states(machine: Machine, report: Report) -> None:
    sources = {rule.source for rule in machine.rules}
    for state in machine.states:
        if state in machine.final or state in sources:
            continue
        known = sorted(sources | set(machine.final))
        fix = report.hint(state, known, "give it rules, or list it as final")
        report.add(("state", state), "has no rules and is not final", fix)
    if machine.start in machine.final:
        report.add(("start",), "is a final state", "start where something is left to do")
    for index, rule in enumerate(machine.rules):
        if rule.source in machine.final:
            message = f"{rule} leaves a final state"
            report.add(("rules", index), message, "a run ends there: remove it")


def _check_labels(machine: Machine, rule: Rule, index: int, report: Report) -> None:
    known = machine.declared
    if rule.guard is None or known is None:
        return
    for label in sorted(rule.guard.labels - set(known)):
        fix = report.hint(label, known, f"known labels: {', '.join(known)}")
        report.add(("rules", index), f"{rule}: unknown label {shown(label)}", fix)


def _check_stack(machine: Machine, rule: Rule, index: int, report: Report) -> None:
    known, path = machine.symbols, ("rules", index)
    if rule.top != "_" and rule.top not in known:
        fix = report.hint(rule.top, known, f"known symbols: {', '.join(known)}")
        report.add(path, f"{rule}: {shown(rule.top)} is never on the stack", fix)
    bottom = machine.bottom
    if bottom in machine.stack[:-1] or (rule.top not in ("_", bottom) and bottom in rule.push):
        report.add(path, f"{rule}: the bottom {bottom} lies above something", "push another symbol")
    if not rule.fits(bottom) or rule.target in machine.final:
        return
    pushed = rule.pushed(bottom)
    if not pushed or pushed[-1] != bottom:
        what = "pops from the bottom" if not pushed else "takes the bottom away"
        fix = f"say which top it pops, or push {bottom} again, or end in a final state"
        report.add(path, f"{rule}: {what}", fix)
    elif bottom in pushed[:-1]:
        report.add(path, f"{rule}: pushes the bottom twice", f"give a top other than {bottom}")


def _check_determinism(machine: Machine, report: Report) -> None:
    for i, j in sorted(_meeting(machine.rules)):
        first, second = machine.rules[i], machine.rules[j]
        both_read = first.guard is not None and second.guard is not None
        if both_read and machine.first_match:
            continue
        names = (first.choice, second.choice)
        unnamed = names[0] == names[1] or (both_read and "" in names)
        if unnamed and _alike(first, second):
            _check_pair(machine, first, second, path=("rules", j), report=report)


def _meeting(rules: Sequence[Rule]) -> Iterator[tuple[int, int]]:
    """Pairs of rules of one state whose tops agree: of the same symbol, or one for any symbol."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, rule in enumerate(rules):
        places[rule.source, rule.top].append(number)
    for (source, top), mine in places.items():
        yield from combinations(mine, 2)
        if top != "_":
            yield from ((min(p), max(p)) for p in product(mine, places.get((source, "_"), [])))


def _alike(first: Rule, second: Rule) -> bool:
    """Whether both read labels or neither does, and both or neither where no other rule fits."""
    reads = (first.guard is None) == (second.guard is None)
    return reads and first.otherwise == second.otherwise


def _check_pair(
    machine: Machine, first: Rule, second: Rule, *, path: tuple[str | int, ...], report: Report
) -> None:
    """Report two rules that may both apply."""
    if first.guard is None or second.guard is None or first.guard == second.guard:
        message = f"nothing decides between {first} and {second}"
        report.add(path, message, "give each a `choice`, and the agent picks")
        return
    try:
        case = overlap(first.guard, second.guard, machine.exclusive)
    except ValueError as error:
        report.add(path, str(error), "use simpler guards, `else`, or `first_match`")
        return
    if case is not None:
        labels = ", ".join(sorted(case)) or "no label"
        message = f"the guards of {first} and {second} overlap: both hold with {labels}"
        fix = (
            "make them exclude each other, list `exclusive` labels, give each a `choice`, or let "
            "the first apply with `first_match`"
        )
        report.add(path, message, fix)
