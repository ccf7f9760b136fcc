"""The value of a policy that ends: a bound that holds whether other policies end or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.certificate import Certificate
from recurl.solving.certified.contexts import Contexts
from recurl.solving.certified.evidence import lower_end, pieces_of, policy_of
from recurl.solving.certified.lower import Lower, improved, lower_bound, steps_of
from recurl.solving.certified.points import Cloud
from recurl.solving.certified.problem import SearchProblem
from recurl.solving.certified.search import stackless_actions
from recurl.solving.ending_policies import ending_policy
from recurl.solving.infinite import visited
from recurl.solving.rows import part_of

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.policy import Policy
    from recurl.solving.question import Question

_ROUNDS, _SLACK = 8, 1e-13


class PolicyBound(NamedTuple):
    """A policy that ends, and what it earns at least, in the sense of the greatest total."""

    policy: Policy
    earns: float
    certificate: Certificate


def policy_bound(model: RMDP, question: Question) -> PolicyBound | None:
    """A stackless policy that ends, made better a few times; None if none was found.

    Example:
        >>> import recurl
        >>> builder = recurl.Builder("walk").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("stay", reward=1).to("n").action("go").to("out")
        >>> model = builder.at("n").action("go", reward=-3).to("out").build()
        >>> found = policy_bound(model, recurl.Question())
        >>> abs(round(found.earns, 9)), recurl.verify(model, found.certificate).upper
        (0.0, None)
    """
    ends = ending_policy(model)
    lower = None if ends is None else _pieces(model, question, *ends)
    if lower is None:
        return None
    steps = steps_of(lower)
    assert steps is not None
    pieces, start = pieces_of(lower, steps)
    end = lower_end(lower)
    low, high = (end, None) if question.sign > 0 else (None, -end)
    certificate = question.certificate(
        model,
        (low, high),
        pieces=pieces,
        start_pieces=start,
    )
    return PolicyBound(policy_of(model, lower), end, certificate)


def _pieces(model: RMDP, question: Question, actions: Ints, steps: Floats) -> Lower | None:
    """The pieces of a stackless policy, or of better ones that end too."""
    lower = _evaluated(model, question, actions, steps)
    for _ in range(_ROUNDS if lower is not None else 0):
        assert lower is not None
        actions = _local(improved(lower, _SLACK, None))
        # It may go where the last one did not, so that it has to be evaluated there too.
        better = _evaluated(model, question, actions, steps)
        if better is None or better.start() <= lower.start():
            break
        lower = better
    return lower


def _evaluated(model: RMDP, question: Question, actions: Ints, steps: Floats) -> Lower | None:
    """The pieces of a stackless policy; None if it is not known to end."""
    t = model.tables
    chosen = (t.action_start[:-1] + actions)[t.states]
    part = part_of(t, visited(t, chosen)).tables
    local = np.where(np.diff(part.action_start) > 0, actions, 0)
    gain = np.add.reduceat(
        part.prob * question.transition_rewards(part), part.transition_start[:-1]
    )
    known = np.where(part.states & np.isfinite(steps), steps, 1.0)
    problem = SearchProblem(part, gain, question.root_values(part), known)
    contexts = Contexts(problem, [Cloud(np.zeros((1, n))) for n in part.n_exits.tolist()])
    callee = np.zeros(int(contexts.call_base[-1]), np.int64)
    for slack in (_SLACK, 1e-10, 1e-8):
        lower = lower_bound(contexts, stackless_actions(problem, local), callee, slack)
        if lower.sound and steps_of(lower) is not None:
            return lower
    return None


def _local(lower: Lower) -> Ints:
    """Actions by vertex, counted within it, of a policy with one context per component."""
    actions = np.zeros(lower.contexts.problem.tables.n_vertices, np.int32)
    for c, part in enumerate(lower.contexts.parts):
        actions[part.first + part.states] = lower.action[c][:, 0] - part.begin
    return actions
