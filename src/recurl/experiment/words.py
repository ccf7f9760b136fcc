"""A policy in words: what it does at the places that its runs come to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recurl.model.cells import Cells
from recurl.simulation.rollout import simulate

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy

EPISODES, LONGEST, MOST = 200, 1000, 30


def policy_words(policy: Policy, most: int = MOST) -> dict[str, list[str]]:
    """The choices of a policy, by component, the most frequent ones first.

    Args:
        policy: The policy.
        most: At how many places; of the others only the number is told.

    Example:
        >>> import recurl
        >>> policy_words(recurl.solve(recurl.zoo.cloud(exits=1)).policy)
        {'S': ['at u3: reliable'], 'T': ['at u1: divide']}
    """
    model = policy.model
    cells = Cells.of(model)
    runs = simulate(model, policy, EPISODES, seed=1, step_limit=LONGEST, traces=EPISODES)
    seen: dict[tuple[str, str], Counter[str]] = {}
    for trace in runs.traces:
        for step in trace:
            if len(model.action_names(step.vertex)) > 1:
                place = place_words(model, cells, step.vertex)
                seen.setdefault(place, Counter())[model.action_name(step.action)] += 1
    chosen = sorted(seen, key=lambda place: -seen[place].total())
    words: dict[str, list[str]] = {}
    for place in chosen[:most]:
        component, where = place
        words.setdefault(component, []).append(f"{where}: {_choice(policy, seen[place])}")
    if len(chosen) > most:
        words[f"and at {len(chosen) - most} more places"] = []
    return words


def place_words(model: RMDP, cells: Cells | None, vertex: int) -> tuple[str, str]:
    """The component of a vertex, and where it is in it, on a grid by row and column.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.battery()
        >>> place_words(model, Cells.of(model), model.find("unit.more.r2c0"))
        ('unit', 'in row 2, column 0')
    """
    component = model.names.components[model.tables.vertex_component[vertex]]
    where = f"at {model.local_name(vertex)}" if cells is None else cells.words(vertex)
    return component, where


def _choice(policy: Policy, actions: Counter[str]) -> str:
    if len(actions) == 1:
        return next(iter(actions))
    total = actions.total()
    shares = (f"{name} ({_percent(count, total)})" for name, count in actions.most_common())
    cause = "at random" if policy.kind == "stackless" else "depending on what the exits are worth"
    return f"{' or '.join(shares)}, {cause}"


def _percent(count: int, total: int) -> str:
    """A share in words: nothing that happens is 0 %, nothing that may fail to happen 100 %."""
    percent = round(100 * count / total)
    if percent == 0:
        return "under 1 %"
    return "over 99 %" if percent == 100 else f"{percent} %"
