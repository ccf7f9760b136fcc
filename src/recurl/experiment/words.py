"""A policy in words: what it does at the places that its runs come to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recurl.simulation.rollout import simulate

if TYPE_CHECKING:
    from recurl.policy import Policy

EPISODES, MOST = 200, 25


def policy_words(policy: Policy, most: int = MOST) -> list[str]:
    """Sentences on the choices that a policy makes most often, where there is a choice.

    Example:
        >>> import recurl
        >>> policy_words(recurl.solve(recurl.zoo.cloud(exits=1)).policy)[0]
        'In S at u3: always reliable.'
    """
    model = policy.model
    runs = simulate(model, policy, EPISODES, seed=1, step_limit=1000, traces=EPISODES)
    seen: dict[int, Counter[str]] = {}
    for trace in runs.traces:
        for step in trace:
            seen.setdefault(step.vertex, Counter())[model.action_name(step.action)] += 1
    chosen = [v for v in seen if len(model.action_names(v)) > 1]
    chosen.sort(key=lambda v: (-seen[v].total(), v))
    lines = [_sentence(policy, v, seen[v]) for v in chosen[:most]]
    more = len(chosen) - len(lines)
    return [*lines, f"... and at {more} more places."] if more else lines


def _sentence(policy: Policy, vertex: int, actions: Counter[str]) -> str:
    component, _, place = policy.model.vertex_name(vertex).partition(".")
    ((first, count), *others) = actions.most_common()
    if not others:
        return f"In {component} at {place}: always {first}."
    rest = ", ".join(name for name, _ in others)
    share = 100 * count / actions.total()
    return f"In {component} at {place}: {first} ({share:.0f} % of the time), else {rest}."
