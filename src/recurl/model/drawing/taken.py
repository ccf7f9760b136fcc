"""Which actions a policy takes, in all contexts that it may be in or only in some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Ints


class Slots(Protocol):
    """Where runs can get to."""

    @property
    def slots(self) -> Sequence[int]:
        """Slots at which runs take actions."""


class PolicyLike(Protocol):
    """A policy, as `recurl.Policy` is one."""

    model: RMDP
    actions: Ints

    @property
    def slot_vertex(self) -> Ints:
        """Vertex of each slot."""

    @property
    def reached(self) -> Slots:
        """Where runs can get to."""


def actions_taken(model: RMDP, policy: PolicyLike) -> dict[int, str]:
    """Actions that a policy takes: ``"always"`` in a vertex, or ``"sometimes"``.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud(exits=1)
        >>> taken = actions_taken(model, recurl.solve(model).policy)
        >>> [model.action_name(action) for action in taken][:2]
        ['divide', 'next']
    """
    if not hasattr(policy, "reached"):
        raise TypeError(f"draw wants a recurl.Policy, not {type(policy).__name__}: give .policy")
    if policy.model != model:
        raise ValueError(f"the policy is for another model than {model.name}")
    chosen: dict[int, set[int]] = {}
    for slot in policy.reached.slots:
        vertex, action = int(policy.slot_vertex[slot]), int(policy.actions[slot])
        own = model.tables.actions_of(vertex)
        chosen.setdefault(vertex, set()).update(own if action < 0 else [own[action]])
    return {
        action: "always" if len(actions) == 1 else "sometimes"
        for _, actions in sorted(chosen.items())
        for action in sorted(actions)
    }
