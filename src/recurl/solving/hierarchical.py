"""Hierarchical models with several exits: flattened to a finite decision process, and solved."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import LimitError, NotProperError
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, EXIT, Layout
from recurl.model.transforms.unravelling import Unravelling
from recurl.policy import Policy
from recurl.solving.general_certificate import general_certificate
from recurl.solving.one_exit import solve_one_exit
from recurl.solving.properness import Analysis, analyse
from recurl.solving.question import Question
from recurl.solving.rows import greatest_last

if TYPE_CHECKING:
    from recurl.model.tables import Floats
    from recurl.solving.solution import Solution

LIMIT = 200_000
"""States up to which a model is flattened; beyond it, the certified search is the better way."""


def solve_hierarchical(
    model: RMDP, question: Question, epsilon: float, **options: Any
) -> Solution | None:
    """The optimum of a model in which no component can reach a call of itself.

    There are finitely many stacks, so that the model is a finite Markov decision process over
    (stack, vertex), up to exponentially larger than the model.

    Returns:
        The solution, or None if there are more than `LIMIT` states, or if some policy does not end
        and nothing is known of the optimum.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.random_model(kind="hierarchical", components=3, nodes=4)
        >>> solution = solve_hierarchical(model, recurl.Question(), 1e-6)
        >>> solution.method
        'flattening and policy-iteration'
    """
    try:
        states = Unravelling(model, model.tables.n_components, 0, LIMIT)
    except LimitError:
        return None
    whole = states.model_of_states()
    try:
        flat, asked = _single_exit(whole, question), Question(question.objective)
        found = solve_one_exit(flat, asked, epsilon, **options)
    except NotProperError:
        if question.rewards != "none" or sorted(question.exit_values)[-2:] != [0.0, 1.0]:
            return None
        flat = _reaching(whole, question.exit_values.index(1.0))
        asked = Question(question.objective, "none", (1.0,))
        found = solve_one_exit(flat, asked, epsilon, **options)
    return replace(
        found,
        model=model,
        question=question,
        method=f"flattening and {found.method}",
        reason="hierarchical: finitely many stacks",
        policy=_policy(model, states, found.policy) if found.policy else None,
        values_lower=_on_empty_stack(model, states, found.values_lower),
        values_upper=_on_empty_stack(model, states, found.values_upper),
        _certify=partial(general_certificate, model, question, epsilon, options),
    )


def analyse_stacks(model: RMDP) -> Analysis | None:
    """Whether every policy of a hierarchical model ends, decided on its states with their stacks.

    Returns:
        The verdict, without bounds by vertex; None if there are more than `LIMIT` states.
    """
    try:
        states = Unravelling(model, model.tables.n_components, 0, LIMIT)
    except LimitError:
        return None
    found = analyse(_single_exit(states.model_of_states(), Question()))
    witness = None if found.witness is None else _policy(model, states, found.witness)
    return replace(found, model=model, steps=None, witness=witness, radius=0.0)


def _single_exit(flat: RMDP, question: Question) -> RMDP:
    """The same process with one exit, what its exits are worth being paid on the way there."""
    t = flat.tables
    entries, exits = int(t.n_entries[0]), int(t.n_exits[0])
    sign = question.sign
    rewards = sign * question.transition_rewards(t) + _worth(flat, sign * question.root_values(t))
    target = np.where(t.target < entries, t.target, np.maximum(t.target - exits + 1, entries))
    actions = np.diff(t.action_start)
    rows = np.concatenate([actions[:entries], [0], actions[entries + exits :]])
    order = greatest_last(t)
    return RMDP.from_arrays(
        Layout.of([entries], [1], [t.n_vertices - entries - exits]),
        action_start=np.concatenate([[0], np.cumsum(rows)]),
        transition_start=t.transition_start,
        target=target[order],
        prob=t.prob[order],
        reward=rewards[order],
        start_prob=t.start_prob,
    )


def _reaching(flat: RMDP, exit_index: int) -> RMDP:
    """The same process with one of its exits; runs that leave by another one never end."""
    t = flat.tables
    entries, exits = int(t.n_entries[0]), int(t.n_exits[0])
    trap = t.n_vertices - exits + 1
    other = (t.vertex_kind[t.target] == EXIT) & (t.target != entries + exit_index)
    target = np.where(t.target < entries, t.target, np.maximum(t.target - exits + 1, entries))
    actions = np.diff(t.action_start)
    rows = np.concatenate([actions[:entries], [0], actions[entries + exits :], [1]])
    return RMDP.from_arrays(
        Layout.of([entries], [1], [t.n_vertices - entries - exits + 1]),
        action_start=np.concatenate([[0], np.cumsum(rows)]),
        transition_start=np.append(t.transition_start, t.n_transitions + 1),
        target=np.append(np.where(other, trap, target), trap),
        prob=np.append(t.prob, 1.0),
        reward=np.zeros(t.n_transitions + 1),
        start_prob=t.start_prob,
    )


def _worth(flat: RMDP, root: Floats) -> Floats:
    """The value of the exit that a transition leads to, or 0."""
    t = flat.tables
    leaves = t.vertex_kind[t.target] == EXIT
    worth: Floats = np.where(leaves, root[np.where(leaves, t.vertex_port[t.target], 0)], 0.0)
    return worth


def _place(states: Unravelling, number: int) -> int:
    """Vertex of a state in the process with one exit, which comes after the entries."""
    return number if number < states.n_starts else number + 1


def _on_empty_stack(model: RMDP, states: Unravelling, values: Floats | None) -> Floats | None:
    """Values of the vertices that a run comes to while no call is pending; nan for others."""
    if values is None:
        return None
    found = np.full(model.tables.n_vertices, np.nan)
    for number, (stack, vertex) in enumerate(states.states):
        if stack == 0:
            found[vertex] = values[_place(states, number)]
    return found


def _policy(model: RMDP, states: Unravelling, flat: Policy) -> Policy:
    """The policy of the states, as one context per stack; calls that no run makes enter any."""
    t = model.tables
    component = [t.start_component, *(int(t.box_component[b]) for b in states.box[1:])]
    component += sorted(set(range(t.n_components)) - set(component))
    size = np.diff(t.component_start)[component]
    first = np.cumsum(size) - size - t.component_start[component]
    actions, callees = np.zeros(int(size.sum()), np.int32), np.zeros(int(size.sum()), np.int32)
    for number, (stack, vertex) in enumerate(states.states):
        actions[first[stack] + vertex] = flat.actions[_place(states, number)]
    calls = np.flatnonzero(t.vertex_kind == CALL)
    for stack, c in enumerate(component):
        for q in calls[t.vertex_component[calls] == c].tolist():
            box = int(t.vertex_box[q])
            some = component.index(int(t.box_component[box]))
            callees[first[stack] + q] = states.pushed.get((stack, box), some)
    start = np.zeros(len(t.start_prob), np.int32)
    return Policy(model, component, actions, callees=callees, start=start)
