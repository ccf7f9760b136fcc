"""What a policy does wherever a run under it comes to a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recurl.cli.output import counted, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recurl.policy import Policy

SHOWN = 20
"""Choices that are shown to people; machines get them all."""

LARGEST = 200_000
"""Situations after which the search for choices is given up."""


def choices(policy: Policy | None) -> dict[str, list[str]] | None:
    """The actions taken at each vertex with a choice that runs under a policy come to.

    More than one action at a vertex means that the choice depends on the stack. None if there are
    too many situations to look at.

    Example:
        >>> import recurl
        >>> best = {"T.u1": "divide", "S.u3": "reliable"}
        >>> choices(recurl.Policy.stackless(recurl.zoo.cloud(exits=1), best))
        {'T.u1': ['divide'], 'S.u3': ['reliable']}
    """
    from recurl.cli.reached import Reached

    if policy is None:
        return None
    found: dict[int, set[int]] = {}
    for visited, (context, vertex) in enumerate(Reached(policy).situations()):
        if visited == LARGEST:
            return None
        if len(policy.model.names.actions_of(vertex)) > 1:
            found.setdefault(vertex, set()).add(policy.action(vertex, context))
    return {
        policy.model.vertex_name(vertex): [
            "any" if action < 0 else policy.model.action_names(vertex)[action]
            for action in sorted(found[vertex])
        ]
        for vertex in sorted(found)
    }


def choice_table(policy: Policy | None) -> list[RenderableType]:
    """The choices of a policy for people; nothing where there are none, or too many."""
    found = choices(policy)
    if not found:
        return []
    rows = [(vertex, _words(actions)) for vertex, actions in found.items()]
    parts: list[RenderableType] = ["", table("at", "do", rows=rows[:SHOWN])]
    if len(rows) > SHOWN:
        parts.append(f"... and {counted(len(rows) - SHOWN, 'more choice')} (all with --json)")
    return parts


def _words(actions: list[str]) -> str:
    return actions[0] if len(actions) == 1 else f"{' or '.join(actions)}: depends on the stack"
