"""The semantics of machines once more: explicit stacks, no components, plain value iteration."""

from __future__ import annotations

from collections.abc import Iterator

from recurl.automaton import LabelledMDP, Machine

Configuration = tuple[int, str, tuple[str, ...]]


def explicit_value(
    mdp: LabelledMDP, machine: Machine, *, most: int, tolerance: float = 1e-12
) -> float:
    """Optimal value over (state, machine state, stack); a stack higher than `most` is worth 0."""
    starts = [((s, machine.start, machine.stack), float(p)) for s, p in enumerate(mdp.start) if p]
    known: dict[Configuration, list[list[tuple[float, float, Configuration | None]]]] = {}
    todo = [start for start, _ in starts]
    while todo:
        here = todo.pop()
        if here not in known and len(here[2]) <= most:
            known[here] = list(_actions(mdp, machine, here))
            todo += [there for edges in known[here] for _, _, there in edges if there]
    x = dict.fromkeys(known, 0.0)
    while True:
        change = 0.0
        for here, actions in known.items():
            best = max(
                sum(p * (r + x.get(t, 0.0)) if t else p * r for p, r, t in edges)
                for edges in actions
            )
            change, x[here] = max(change, abs(best - x[here])), best
        if change < tolerance:
            return sum(p * x[start] for start, p in starts)


def _actions(
    mdp: LabelledMDP, machine: Machine, here: Configuration
) -> Iterator[list[tuple[float, float, Configuration | None]]]:
    state, control, stack = here
    rules = [r for r in machine.rules if r.source == control and r.top in ("_", stack[0])]
    reading = [r for r in rules if r.guard is not None]
    names = sorted({r.choice for r in reading if r.choice}) or [""]
    if not rules or reading:
        for choice in names:
            mine = [r for r in reading if r.choice in ("", choice)]
            for a in range(mdp.action_start[state], mdp.action_start[state + 1]):
                yield [_edge(mdp, machine, here, mine, t) for t in _transitions(mdp, a)]
    for r in rules:
        if r.guard is None:
            yield [(1.0, float(r.reward), _after(machine, r, state, stack))]


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
