"""The optimum of small 1-exit models in exact arithmetic, by another road than the solver's."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st

import recurl
from recurl.model.tables import CALL

small_models = st.builds(
    recurl.zoo.random_model,
    seed=st.integers(0, 10_000),
    components=st.integers(1, 3),
    nodes=st.integers(1, 4),
    kind=st.just("one_exit"),
    entries=st.integers(1, 2),
    actions=st.integers(1, 3),
    successors=st.integers(1, 3),
    exit_probability=st.sampled_from([0.1, 0.4, 0.7]),
    call_fraction=st.sampled_from([0.0, 0.3, 0.8]),
    load=st.sampled_from([0.5, 0.95]),
    reward_low=st.sampled_from([-1.0, 0.0]),
    reward_high=st.sampled_from([0.0, 2.0]),
)
"""Proper 1-exit models of every shape, with positive, negative and mixed rewards."""


def exact_values(
    model: recurl.RMDP, objective: str = "max", rewards: str = "model"
) -> list[Fraction]:
    """Optimal value of every vertex: policy iteration with Gaussian elimination in fractions."""
    t = model.tables
    sign = 1 if objective == "max" else -1
    choice = {int(v): int(t.action_start[v]) for v in range(t.n_vertices) if t.states[v]}
    while True:
        x = _evaluate(model, choice, rewards)
        better = dict(choice)
        for v in choice:
            actions = range(int(t.action_start[v]), int(t.action_start[v + 1]))
            values = {a: sign * _action_value(model, a, x, rewards) for a in actions}
            best = max(actions, key=values.__getitem__)
            if values[best] > sign * x[v]:
                better[v] = best
        if better == choice:
            return x
        choice = better


def exact_policy_values(policy: recurl.Policy) -> list[Fraction]:
    """Expected total reward of a stackless policy from every vertex."""
    t = policy.model.tables
    states = (int(v) for v in range(t.n_vertices) if t.states[v])
    choice = {v: int(t.action_start[v]) + policy.action(v) for v in states}
    return _evaluate(policy.model, choice, "model")


def start_value(model: recurl.RMDP, x: list[Fraction]) -> Fraction:
    """Expectation of values under the start distribution."""
    return sum((p * x[v] for v, p in model.start_exact().items()), Fraction(0))


def _action_value(model: recurl.RMDP, action: int, x: list[Fraction], rewards: str) -> Fraction:
    t, exact = model.tables, model.exact
    total = Fraction(0)
    for i in range(int(t.transition_start[action]), int(t.transition_start[action + 1])):
        reward = exact.reward(i) if rewards == "model" else Fraction(1)
        total += exact.prob(i) * (reward + x[int(t.target[i])])
    return total


def _evaluate(model: recurl.RMDP, choice: dict[int, int], rewards: str) -> list[Fraction]:
    t, n = model.tables, model.tables.n_vertices
    zero = [Fraction(0)] * n
    rows = []
    for v in range(n):
        row = [Fraction(int(v == j)) for j in range(n + 1)]
        row[n] = Fraction(0)
        if t.vertex_kind[v] == CALL:
            row[int(t.entry_of_call(v))] -= 1
            row[int(t.box_return[t.vertex_box[v]])] -= 1
        elif v in choice:
            a = choice[v]
            row[n] = _action_value(model, a, zero, rewards)
            for i in range(int(t.transition_start[a]), int(t.transition_start[a + 1])):
                row[int(t.target[i])] -= model.exact.prob(i)
        rows.append(row)
    return _gauss(rows)


def _gauss(rows: list[list[Fraction]]) -> list[Fraction]:
    n = len(rows)
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[n] for row in rows]
