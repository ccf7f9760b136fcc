"""The semantics of machines once more: explicit stacks, no components, plain backward induction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from recurl.automaton import LabelledMDP, Machine

Configuration = tuple[int, str, tuple[str, ...]]
Edge = tuple[float, float, Configuration | None]
"""Probability, reward, and what follows; None at the end."""


def explicit_bounds(
    mdp: LabelledMDP, machine: Machine, steps: int, rest: float
) -> tuple[float, float]:
    """Optimal value over (state, machine state, stack) of so many steps, and what may follow.

    What a run is worth after that many steps of the world lies between ``-rest`` and ``rest``, so
    the optimum of endless runs lies between the two ends. No stack is cut.
    """

    @cache
    def worth(here: Configuration, left: int) -> tuple[float, float]:
        if not left:
            return -rest, rest
        ways = [
            [sum(p * (r + end) for (p, r, _), end in zip(edges, ends, strict=True))
             for ends in zip(*(_after_edge(edge, left, reads) for edge in edges), strict=True)]
            for reads, edges in _actions(mdp, machine, here)
        ]  # fmt: skip
        return max(low for low, _ in ways), max(high for _, high in ways)

    def _after_edge(edge: Edge, left: int, reads: bool) -> tuple[float, float]:
        return worth(edge[2], left - reads) if edge[2] else (0.0, 0.0)

    starts = [((s, machine.start, machine.stack), float(p)) for s, p in enumerate(mdp.start) if p]
    ends = [(p * low, p * high) for here, p in starts for low, high in [worth(here, steps)]]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


def _actions(
    mdp: LabelledMDP, machine: Machine, here: Configuration
) -> Iterator[tuple[bool, list[Edge]]]:
    """The actions of a configuration: whether the world takes a step, and what may happen."""
    state, control, stack = here
    rules = [r for r in machine.rules if r.source == control and r.top in ("_", stack[0])]
    reading = [r for r in rules if r.guard is not None]
    names = sorted({r.choice for r in reading if r.choice}) or [""]
    if not rules or reading:
        for choice in names:
            mine = [r for r in reading if r.choice in ("", choice)]
            for a in range(mdp.action_start[state], mdp.action_start[state + 1]):
                yield True, [_edge(mdp, machine, here, mine, t) for t in _transitions(mdp, a)]
    for r in rules:
        if r.guard is None:
            yield False, [(1.0, float(r.reward), _after(machine, r, state, stack))]


def _transitions(mdp: LabelledMDP, action: int) -> range:
    return range(mdp.transition_start[action], mdp.transition_start[action + 1])


def _edge(mdp, machine, here, rules, t):  # type: ignore[no-untyped-def]
    labels = mdp.label_sets[mdp.label[t]]
    p = float(mdp.prob_values[mdp.prob[t]])
    reward, target = float(mdp.reward_values[mdp.reward[t]]), int(mdp.target[t])
    fitting = [r for r in rules if not r.otherwise and r.guard.holds(labels)]
    fitting = fitting or [r for r in rules if r.otherwise]
    if not fitting:
        over = mdp.ends[t] or machine.otherwise == "stop"
        return p, reward, None if over else (target, here[1], here[2])
    (rule,) = fitting
    after = None if mdp.ends[t] else _after(machine, rule, target, here[2])
    return p, reward + float(rule.reward), after


def _after(machine, rule, state, stack):  # type: ignore[no-untyped-def]
    if rule.target in machine.final:
        return None
    pushed = tuple(stack[0] if s == "_" else s for s in rule.push)
    return state, rule.target, (*pushed, *stack[1:])
