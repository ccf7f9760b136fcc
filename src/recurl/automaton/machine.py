"""Pushdown reward machines: finite control, a stack, and rewards for what labels say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from recurl.automaton.guards import Guard, parse_guard
from recurl.automaton.machine_checks import check_machine
from recurl.model.numbers import exact
from recurl.model.report import Report
from recurl.model.spec import Number

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
        choice: Name of an agent's choice. Rules whose guards overlap are told apart by it.

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
