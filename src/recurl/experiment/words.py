"""A policy in words: what it does at the places that its runs come to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recurl.simulation.rollout import simulate

if TYPE_CHECKING:
    from recurl.policy import Policy

EPISODES, LONGEST, MOST = 200, 1000, 30


def policy_words(policy: Policy, most: int = MOST) -> dict[str, list[str]]:
    """What a policy does where it has a choice: by component, what comes up most often first.

    Args:
        policy: The policy.
        most: At how many places; of the others only the number is told.

    Example:
        >>> import recurl
        >>> policy_words(recurl.solve(recurl.zoo.cloud(exits=1)).policy)
        {'S': ['at u3: always reliable'], 'T': ['at u1: always divide']}
    """
    model = policy.model
    runs = simulate(model, policy, EPISODES, seed=1, step_limit=LONGEST, traces=EPISODES)
    seen: dict[int, Counter[str]] = {}
    for trace in runs.traces:
        for step in trace:
            seen.setdefault(step.vertex, Counter())[model.action_name(step.action)] += 1
    chosen = [v for v in seen if len(model.action_names(v)) > 1]
    chosen.sort(key=lambda v: (-seen[v].total(), v))
    words: dict[str, list[str]] = {}
    for vertex in chosen[:most]:
        component = model.names.components[model.tables.vertex_component[vertex]]
        place = f"at {model.local_name(vertex)}"
        words.setdefault(component, []).append(f"{place}: {_choice(policy, seen[vertex])}")
    if len(chosen) > most:
        words[f"and at {len(chosen) - most} more places"] = []
    return words


def _choice(policy: Policy, actions: Counter[str]) -> str:
    if len(actions) == 1:
        return f"always {next(iter(actions))}"
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
