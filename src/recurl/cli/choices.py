"""The choices of a policy at the vertices that its runs reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recurl.cli.output import counted, table
from recurl.errors import LimitError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy
    from recurl.policy.rules import PolicyRule, Rules

SHOWN = 20
"""Choices that are shown to people; machines get them all."""

LARGEST = 200_000
"""Slots of a policy beyond which choices are not looked for unless asked for."""


def choices(policy: Policy | None) -> dict[str, list[str]] | None:
    """The actions taken at each vertex with a choice that runs under a policy come to.

    More than one action at a vertex means that the choice depends on the stack. None if there are
    too many vertices to look at.

    Example:
        >>> import recurl
        >>> best = {"T.u1": "divide", "S.u3": "reliable"}
        >>> choices(recurl.Policy.stackless(recurl.zoo.cloud(exits=1), best))
        {'T.u1': ['divide'], 'S.u3': ['reliable']}
    """
    rules = _rules(policy)
    if rules is None:
        return None
    return {rule.vertex: _actions(rule, rules.model) for rule in rules.all()}


def _actions(rule: PolicyRule, model: RMDP) -> list[str]:
    """The actions of a rule, in the order of the model."""
    taken = {clause.action for clause in rule.clauses}
    return [name for name in (*model.action_names(model.find(rule.vertex)), "any") if name in taken]


def choice_table(policy: Policy | None) -> list[RenderableType]:
    """The choices of a policy as text; nothing where there are none, or too many."""
    rules = _rules(policy)
    if rules is None or not rules.vertices:
        return []
    found = [rules.at(vertex) for vertex in rules.vertices[:SHOWN]]
    rows = [(rule.place, rule.text) for rule in found]
    parts: list[RenderableType] = ["", table("at", "do", rows=rows)]
    if len(rules.vertices) > SHOWN:
        more = counted(len(rules.vertices) - SHOWN, "more choice")
        parts.append(f"... and {more} (all with --explain or --json)")
    return parts


def _rules(policy: Policy | None) -> Rules | None:
    if policy is None or len(policy.actions) > LARGEST:
        return None
    try:
        return policy.rules
    except LimitError:
        return None


def explanation(policy: Policy, vertices: Sequence[str] = ()) -> list[RenderableType]:
    """The rule at each vertex and its contexts; if no vertex is given, a table of all choices."""
    if not vertices:
        return ["", policy.table().rich(None)]
    parts: list[RenderableType] = []
    for vertex in vertices:
        rule = policy.explain(vertex)
        parts += ["", str(rule)]
        if rule.clauses:
            parts += ["", policy.table(vertex, merged=False).rich(None)]
    return parts


def explanation_data(policy: Policy, vertices: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rules for machines, at some vertices or at all with a choice."""
    rules = [policy.explain(vertex) for vertex in vertices] if vertices else policy.rules.all()
    return [
        {
            "at": rule.vertex,
            "rule": rule.text,
            "clauses": [
                {
                    "do": clause.action,
                    "when": clause.when.text,
                    "contexts": [policy.context_names[x] for x in clause.contexts],
                    **policy.visits.at(clause.places)._asdict(),
                }
                for clause in rule.clauses
            ],
        }
        for rule in rules
    ]
