"""Models with a policy that does not end: what can be said of the optimum, or an explanation."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from recurl.errors import CertificateError, NotProperError
from recurl.model.certificate import Piece, Point
from recurl.model.tables import CALL, CALLS, EXITS, runs
from recurl.policy.policy import RANDOM, Policy
from recurl.solving.ending_policies import discounted_best
from recurl.solving.evaluate import evaluate
from recurl.solving.finite import solve_finite
from recurl.solving.infinite import can_go_on, greedy, must_go_on
from recurl.solving.least_cost import least_cost
from recurl.solving.leaving import may_not_end, solve_leaving
from recurl.solving.potential import potential
from recurl.solving.solution import Solution
from recurl.solving.termination import termination

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints, Tables
    from recurl.solving.properness import Analysis
    from recurl.solving.question import Question


def improper_optimum(
    model: RMDP, question: Question, analysis: Analysis, *, began: float
) -> Solution:
    """The optimum of a model that is not proper, where it is known.

    If every step pays something, a policy that takes infinitely many steps on average collects
    infinitely much; so does one whose gains are infinite and whose losses are not. If every step
    costs something, and every policy takes infinitely many steps on average, then all pay
    infinitely much. Every policy does so if there is only one, if no exit can be reached, or if
    even the greatest probability to end is below 1. If every step of a 1-exit
    model costs something in the end, but some policy ends, the optimum is finite: see `least_cost`.

    Raises:
        NotProperError: The optimum is not known.
    """
    value = _infinite_value(model, question, analysis)
    if value is not None:
        return _infinite(model, question, analysis, value, began=began)
    falls = potential(model, question)
    if falls is not None and model.kind.one_exit:
        found = least_cost(model, question, falls)
        if found is not None:
            return found
    if falls is not None and must_go_on(model, question) is not None:
        return _infinite(model, question, analysis, -math.inf, began=began)
    raise NotProperError(_explanation(model, analysis, costs=falls is not None))


def one_sided(model: RMDP, question: Question, epsilon: float, error: NotProperError) -> Solution:
    """The certain part of an answer where no method applies: an interval that may be wide.

    Totals of one sign have bounds on both sides, exact ones where nothing is called, see
    `solve_finite`, and else those of `solve_leaving`. The optimum may be infinite,
    see `may_not_end`. Else a policy that ends bounds the optimum on one side, and rewards of one
    sign on the other one.

    Raises:
        NotProperError: The given one, if nothing is known on either side.
    """
    flat = solve_finite(model, question, epsilon) if model.tables.n_boxes == 0 else None
    if flat is not None:
        return replace(flat, reason=f"{flat.reason}; {error}")
    leaving = solve_leaving(model, question)
    if leaving is not None and (question.rewards == "none" or leaving.gap < 1e-6):
        return replace(leaving, reason=f"{leaving.reason}; {error}")
    began = time.perf_counter()
    endless = _paid_without_end(model, question, began)
    if endless is not None:
        return replace(endless, reason=f"{endless.reason}; {error}")
    found = ending_interval(model, question, error)
    ends = found.lower, found.upper
    if leaving is not None and (found.policy is None or _is_narrower(leaving, ends)):
        return replace(leaving, reason=f"{leaving.reason}; {error}")
    return found


def ending_interval(model: RMDP, question: Question, error: NotProperError) -> Solution:
    """The total of a policy that ends, and the other end if rewards are of one sign.

    Raises:
        NotProperError: The given one, if nothing is known on either side.
    """
    from recurl.solving.certified.policy_bound import policy_bound

    began, found = time.perf_counter(), policy_bound(model, question)
    rewards, root = _reachable_rewards(model, question), question.root_values(model.tables)
    least = min(0.0, float(root.min())) if rewards.min() >= 0 else -math.inf
    most = max(0.0, float(root.max())) if rewards.max() <= 0 else math.inf
    low = least if found is None else max(least, min(found.earns, most))
    if math.isinf(low) and math.isinf(most):
        raise error
    ends = (low, most) if question.sign > 0 else (0.0 - most, 0.0 - low)
    return Solution(
        model,
        question,
        *ends,
        method="a policy that ends",
        reason=str(error),
        policy=None if found is None else found.policy,
        seconds=time.perf_counter() - began,
        _certify=partial(_trivial, model, question, ends, found and found.certificate),
    )


def _paid_without_end(model: RMDP, question: Question, began: float) -> Solution | None:
    """An infinite optimum of a policy that ends least, or that is paid well, at once or later."""
    total, policies = math.inf * question.sign, discounted_best(model, question)
    others = (each.actions for each in policies if each.kind == "stackless")
    actions = chain([None, _paid_at_once(model, question)], others)
    tried = (may_not_end(model, question, total, own) for own in actions)
    found = next((each for each in tried if each is not None), None)
    if found is None or found.values is None:
        return None
    return Solution(
        model,
        question,
        total,
        total,
        "properness",
        reason="under a policy runs may not end, and what counts adds up without end",
        policy=Policy.stackless(model, np.array(found.values.actions, np.int32)),
        seconds=time.perf_counter() - began,
        _certify=lambda: found,
    )


def _is_narrower(found: Solution, ends: tuple[float, float]) -> bool:
    """Whether an interval is narrower than another; if both are infinite, at its finite end."""
    if math.isfinite(found.gap) or math.isfinite(ends[1] - ends[0]):
        return found.gap < ends[1] - ends[0]
    return found.lower > ends[0] or found.upper < ends[1]


def _trivial(
    model: RMDP, question: Question, ends: tuple[float, float], own: Certificate | None
) -> Certificate:
    """The certificate of a policy, if there is one, and of bounds that need no search.

    If no reward is positive, a constant that is at least 0 and at least what exits are worth is a
    point of every component; if none is negative, and no exit is worth more than 0, a piece that
    earns nothing is below all policies.
    """
    t, (lower, upper) = model.tables, (None if math.isinf(x) else x for x in ends)
    least, most = (lower, upper)[:: int(question.sign)]
    start = [t.start_component] * len(t.start_prob)
    evidence: dict[str, Any] = {}
    if most is not None:
        evidence["points"] = [_constant(t, c, abs(most)) for c in range(t.n_components)]
        evidence["start_points"] = [[(c, 1.0)] for c in start]
    if own is not None:
        return structs.replace(own, lower=lower, upper=upper, **evidence)
    if least is not None and question.root_values(t).max() <= 0:
        evidence["pieces"] = [_nothing(t, c) for c in range(t.n_components)]
        evidence["start_pieces"] = start
    elif least is not None:
        raise CertificateError(f"{model.name}: no certificate was found for the lower end")
    return question.certificate(model, (lower, upper), **evidence)


def _called(t: Tables, c: int) -> list[int]:
    """The components that the call ports of a component call."""
    own = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
    ports = t.vertex_box[own][t.vertex_kind[own] == CALL]
    return list(map(int, t.box_component[ports]))


def _constant(t: Tables, c: int, value: float) -> Point:
    size = int(t.component_start[c + 1] - t.component_start[c])
    return Point(c, [value] * size, [[(b, 1.0)] for b in _called(t, c)])


def _nothing(t: Tables, c: int) -> Piece:
    size, exits = int(t.component_start[c + 1] - t.component_start[c]), int(t.n_exits[c])
    weights = [[0.0] * exits] * size if exits > 1 else None
    return Piece(c, [0] * size, _called(t, c), [0.0] * size, weights)


def _infinite(
    model: RMDP, question: Question, analysis: Analysis, value: float, *, began: float
) -> Solution:
    """An infinite optimum, as totals are made great."""
    best = value * question.sign
    sense = "a policy can" if value > 0 else "every policy must"
    return Solution(
        model,
        question,
        best,
        best,
        "properness",
        reason=f"{sense} go on, and what counts adds up without end: {analysis.reason}",
        policy=analysis.witness,
        seconds=time.perf_counter() - began,
        _certify=partial(_certify_infinite, model, question, analysis, value),
    )


def _certify_infinite(
    model: RMDP, question: Question, analysis: Analysis, value: float
) -> Certificate:
    """The certificate of an infinite optimum, as totals are made great."""
    tried = _of_all(model, question) if value < 0 else _of_some(model, question, analysis)
    found = next((each for each in tried if each is not None), None)
    if found is None:
        raise CertificateError(f"{model.name}: no certificate was found for the infinite optimum")
    return found


def _of_all(model: RMDP, question: Question) -> Iterator[Certificate | None]:
    """Attempts to prove that all policies pay infinitely much."""
    yield must_go_on(model, question)
    yield may_not_end(model, question, -math.inf * question.sign)


def _of_some(model: RMDP, question: Question, analysis: Analysis) -> Iterator[Certificate | None]:
    """Attempts to prove that a policy is paid infinitely much: the witness, or one paid better."""
    total, witness = math.inf * question.sign, analysis.witness
    assert witness is not None
    paid = Policy.stackless(model, _paid_at_once(model, question))
    for policy in chain([witness, paid], discounted_best(model, question)):
        yield can_go_on(model, question, policy)
        if policy.kind == "stackless" and (policy.actions >= 0).all():
            yield may_not_end(model, question, total, policy.actions)
        if policy is witness:
            yield may_not_end(model, question, total)


def _paid_at_once(model: RMDP, question: Question) -> Ints:
    """The actions that are paid most, as totals are made great."""
    t = model.tables
    gain = np.add.reduceat(t.prob * question.transition_rewards(t), t.transition_start[:-1])
    return greedy(t, gain)


def _infinite_value(model: RMDP, question: Question, analysis: Analysis) -> float | None:
    """``inf`` or ``-inf``, as totals are made great; None if neither is proved."""
    if analysis.verdict != "not proper":
        return None
    rewards = _reachable_rewards(model, question)
    if rewards.min() > 0 or _collects(question, analysis):
        return math.inf
    return -math.inf if rewards.max() < 0 and _must_go_on(model, question) else None


def _collects(question: Question, analysis: Analysis) -> bool:
    """Whether the policy that does not end gains infinitely much, and loses a finite amount."""
    if question.rewards != "model" or analysis.witness is None:
        return False
    return evaluate(analysis.witness).value == question.sign * math.inf


def _must_go_on(model: RMDP, question: Question) -> bool:
    """Whether every policy takes infinitely many steps on average, where every step costs."""
    if _no_choice(model) or _stuck(model):
        return True
    if model.kind.one_exit:
        return termination(model).upper < 1.0
    return may_not_end(model, question, -math.inf * question.sign) is not None


def _reachable_rewards(model: RMDP, question: Question) -> Floats:
    """Rewards of the transitions that a run can meet."""
    t = model.tables
    taken = np.repeat(model.reach.reachable[t.action_vertex], np.diff(t.transition_start))
    rewards: Floats = question.transition_rewards(t)[taken & (t.prob > 0)]
    return rewards


def _stuck(model: RMDP) -> bool:
    """Whether a run may start where no exit can be reached."""
    return bool(model.reach.dead[model.tables.starts].any())


def _no_choice(model: RMDP) -> bool:
    count = np.diff(model.tables.action_start)
    return bool((count[model.reach.reachable] <= 1).all())


def _explanation(model: RMDP, analysis: Analysis, *, costs: bool) -> str:
    """Why there is no answer, and what can be done; ``costs`` says whether not ending costs."""
    if analysis.verdict != "not proper":
        return f"whether every policy of {model.name} ends is not known: {analysis.reason}"
    text = f"{model.name} is not proper: {analysis.reason}"
    if analysis.witness is not None:
        text += f", for example {_named(model, analysis)}"
    if costs:
        return (
            f"{text}. Not ending costs without limit, and no policy was found that surely ends: "
            "the total may be infinite. A discount (gamma=0.99, --discount 0.99) would help"
        )
    return (
        f"{text}. Totals need not be finite then; a discount (gamma=0.99, --discount 0.99), a cost "
        "per step, or actions that all end sometimes would help"
    )


_NAMED = 8
"""Places of a cycle that are named."""


def _named(model: RMDP, analysis: Analysis) -> str:
    """The cycle in which the witness keeps a run, with its choices."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    assert analysis.witness is not None
    if analysis.witness.kind != "stackless":
        return "a policy that looks at the stack"
    t, steps, chosen = model.tables, analysis.steps, analysis.witness.actions
    lost = np.ones(t.n_vertices, np.bool_) if steps is None else ~np.isfinite(steps)
    lost &= t.states & model.reach.reachable
    number = np.arange(t.n_actions) - t.action_start[t.action_vertex]
    taken = (chosen[t.action_vertex] == RANDOM) | (chosen[t.action_vertex] == number)
    used = np.repeat(taken & lost[t.action_vertex], np.diff(t.transition_start)) & (t.prob > 0)
    owner = np.repeat(t.action_vertex, np.diff(t.transition_start))
    steps_in, calls = (np.flatnonzero(used & which) for which in (t.move != EXITS, t.move == CALLS))
    count = t.n_exits[t.box_component[t.move_box[calls]]]
    start = np.concatenate([owner[steps_in], owner[calls].repeat(count)])
    end = np.concatenate([t.landing[steps_in], runs(t.box_return[t.move_box[calls]], count)])
    start, end = start[lost[end]], end[lost[end]]
    graph = csr_array((np.ones(len(start)), (start, end)), shape=(t.n_vertices,) * 2)
    label = connected_components(graph, connection="strong")[1]
    inner = label[start] == label[end]
    leaves = np.bincount(label[start[~inner]], minlength=t.n_vertices)
    leaves += np.bincount(label[owner[used & (t.move == EXITS)]], minlength=t.n_vertices)
    on = np.flatnonzero(inner)
    if len(on) == 0:
        return "with its choices at places that lead there"
    first = on[np.argmin(leaves[label[start[on]]])]  # best one that a run cannot leave
    after: dict[int, list[int]] = {}
    for v, q in zip(start[on].tolist(), end[on].tolist(), strict=True):
        after.setdefault(v, []).append(q)
    goal, before = int(start[first]), {int(end[first]): -1}
    queue = list(before)
    while goal not in before:
        queue += (new := [q for q in after[queue[0]] if q not in before])
        before |= dict.fromkeys(new, queue.pop(0))
    cycle = [goal]
    while before[cycle[-1]] >= 0:
        cycle.append(before[cycle[-1]])
    places = list(map(model.vertex_name, reversed(cycle)))
    names = [f"{analysis.witness.action_name(place)!r} at {place}" for place in places]
    if len(names) > _NAMED:
        names[_NAMED - 1 : -1] = ["..."]
    return f"with {', '.join(names)}" + (", in turn" if len(names) > 1 else "")
