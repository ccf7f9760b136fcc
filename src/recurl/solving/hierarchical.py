"""Hierarchical models with several exits: flattened to a finite decision process, and solved."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import CertificateError, NotProperError
from recurl.model.certificate import Values
from recurl.model.rmdp import RMDP
from recurl.model.tables import EXIT, Layout
from recurl.model.transforms.unravelling import Unravelling
from recurl.policy import Policy
from recurl.solving.certified import solve_certified
from recurl.solving.finite import StackContexts, solve_finite, stacks_of
from recurl.solving.one_exit import solve_one_exit
from recurl.solving.properness import Analysis, analyse
from recurl.solving.question import Question
from recurl.solving.rows import greatest_last

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.tables import Floats
    from recurl.solving.solution import Solution

FEW = 10_000
MUCH_LARGER = 10
"""States with their stacks, in all and per vertex, from which on the model itself is searched."""


def solve_hierarchical(
    model: RMDP, question: Question, epsilon: float, **options: Any
) -> Solution | None:
    """The optimum of a model in which no component can reach a call of itself.

    There are finitely many stacks, so that the model is a finite Markov decision process over
    (stack, vertex), up to exponentially larger than the model. Where it is much larger, the
    certified search is tried before.

    Returns:
        The solution, or None if there are too many states, or if some policy does not end
        and nothing is known of the optimum.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.random_model(kind="hierarchical", components=3, nodes=4)
        >>> solution = solve_hierarchical(model, recurl.Question(), 1e-6)
        >>> solution.method
        'flattening and policy-iteration'
    """
    states = stacks_of(model)
    if states is None:
        return None
    if len(states.states) > max(FEW, MUCH_LARGER * model.tables.n_vertices):
        with suppress(NotProperError):
            searched = solve_certified(model, question, epsilon, **options)
            if searched.gap <= epsilon:
                return searched
    if answer := solve_finite(model, question, epsilon, states=states, **options):
        return answer
    try:
        flat = _single_exit(states.model_of_states(), question)
        found = solve_one_exit(flat, Question(question.objective), epsilon, **options)
    except NotProperError:
        return None
    answer = replace(
        found,
        model=model,
        question=question,
        method=f"flattening and {found.method}",
        reason="hierarchical: finitely many stacks",
        policy=_policy(model, states, found.policy) if found.policy else None,
        values_lower=_on_empty_stack(model, states, found.values_lower),
        values_upper=_on_empty_stack(model, states, found.values_upper),
        _certify=partial(_stack_certificate, model, question, (epsilon, options), states, found),
    )
    proper = found.values_lower is not None
    return answer if proper else answer.as_proved(epsilon)


def _stack_certificate(
    model: RMDP,
    question: Question,
    options: tuple[float, dict[str, Any]],
    states: Unravelling,
    found: Solution,
) -> Certificate:
    """The certificate of the process with one exit, context by context."""
    own, contexts = found.certificate, StackContexts.of_stacks(model, states)
    assert found.policy is not None
    if own.infinite is not None or not own.steps:  # not all policies end
        return general_certificate(model, question, *options)
    above, below = np.array(own.points[0].values), np.array(own.pieces[0].rewards)
    lower, upper = (below, above) if question.sign > 0 else (0.0 - above, 0.0 - below)
    worth = question.sign * question.root_values(model.tables)

    none = np.zeros(len(worth), np.int32)
    actions = _with_exits(states, found.policy.actions, none)
    low, high = (contexts.spread(_with_exits(states, x, worth)) for x in (lower, upper))
    steps = contexts.spread(_with_exits(states, np.array(own.steps), none))
    chosen = np.where(contexts.state >= 0, actions[contexts.state], 0)
    numbers = (low.tolist(), high.tolist(), chosen.tolist(), steps.tolist())
    values = Values(contexts.names, *numbers)
    return question.certificate(model, (found.lower, found.upper), values=values)


def general_certificate(
    model: RMDP, question: Question, epsilon: float, options: dict[str, Any]
) -> Certificate:
    """The certificate of a general method, for answers that were found in another way.

    Raises:
        CertificateError: Not every policy is known to end; certificates prove that too.
    """
    from recurl.solving.structure import solve_any

    general = solve_one_exit if model.kind.one_exit else solve_any
    try:
        return general(model, question, epsilon, **options).certificate
    except NotProperError as error:
        raise CertificateError(f"this answer has no certificate: {error}") from error


def analyse_stacks(model: RMDP) -> Analysis | None:
    """Whether every policy of a hierarchical model ends, decided on its states with their stacks.

    Returns:
        The verdict, without bounds by vertex; None if there are too many states.
    """
    states = stacks_of(model)
    if states is None:
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
    """The policy of the process with one exit, as one context per stack."""
    exits = np.zeros(int(model.tables.n_exits[model.tables.start_component]), np.int32)
    actions = _with_exits(states, flat.actions, exits)
    return StackContexts.of_stacks(model, states).policy(actions)


def _with_exits(states: Unravelling, values: Any, exits: Any) -> Any:
    """Numbers by vertex of the process with one exit, with some for several exits instead."""
    return np.concatenate([values[: states.n_starts], exits, values[states.n_starts + 1 :]])
