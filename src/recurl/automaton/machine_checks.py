"""Checks of a machine; every problem has a reason and a fix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING

from recurl.automaton.guards import overlap
from recurl.model.names import is_name
from recurl.model.report import shown

if TYPE_CHECKING:
    from recurl.automaton.machine import Machine, Rule
    from recurl.model.report import Report

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
        report.add(("rules", index), f"{rule}: there is no label {shown(label)}", fix)


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
