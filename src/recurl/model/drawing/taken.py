"""Which actions a policy takes, in all contexts that it may be in or only in some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from recurl.model.tables import CALLS, STEP

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints


class Choices(Protocol):
    """A policy, as `recurl.Policy` is one."""

    model: RMDP
    actions: Ints
    callees: Ints
    start: Ints

    def slot(self, context: int, vertex: int) -> int:
        """Slot of a vertex in a context."""


def actions_taken(model: RMDP, policy: Choices) -> dict[int, str]:
    """Actions that a policy takes: ``"always"`` in a vertex, or ``"sometimes"``.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud(exits=1)
        >>> taken = actions_taken(model, recurl.solve(model).policy)
        >>> [model.action_name(action) for action in taken][:2]
        ['divide', 'reliable']
    """
    if not hasattr(policy, "slot"):
        raise TypeError(f"draw wants a recurl.Policy, not {type(policy).__name__}: give .policy")
    if policy.model != model:
        raise ValueError(f"the policy is for another model than {model.name}")
    first = int(model.tables.component_start[model.tables.start_component])
    todo = [(int(policy.start[v - first]), v) for v in model.tables.starts.tolist()]
    seen = set(todo)
    chosen: dict[int, set[int]] = {}
    while todo:
        context, vertex = todo.pop()
        actions = _actions(model, policy, context, vertex)
        chosen.setdefault(vertex, set()).update(actions)
        new = {there for a in actions for there in _next(model, policy, context, a)} - seen
        seen |= new
        todo += sorted(new)
    return {
        action: "always" if len(actions) == 1 else "sometimes"
        for vertex, actions in sorted(chosen.items())
        for action in sorted(actions)
    }


def _actions(model: RMDP, policy: Choices, context: int, vertex: int) -> list[int]:
    """The action of a vertex in a context; all of them if any is taken."""
    begin, end = model.tables.action_start[vertex : vertex + 2].tolist()
    action = int(policy.actions[policy.slot(context, vertex)])
    return list(range(begin, end)) if action < 0 else [begin + action]


def _next(model: RMDP, policy: Choices, context: int, action: int) -> list[tuple[int, int]]:
    """Contexts and vertices after an action; a call may return through every exit."""
    t, found = model.tables, []
    for i in range(int(t.transition_start[action]), int(t.transition_start[action + 1])):
        if t.move[i] == STEP:
            found.append((context, int(t.landing[i])))
        elif t.move[i] == CALLS:
            callee = int(policy.callees[policy.slot(context, int(t.target[i]))])
            found.append((callee, int(t.landing[i])))
            found += [(context, port) for port in model.return_ports(int(t.move_box[i]))]
    return found
