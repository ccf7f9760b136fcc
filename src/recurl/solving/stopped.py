"""Models with free loops, solved as models in which a run may stop there.

Where a run may go round for nothing, and rewards have both signs, upper bounds of single steps say
nothing, and policies that end need not be the best. The model of
`recurl.model.transforms.stopping` has the same optimum, and no free loop. Certificates are those of
that model; the checker makes it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from recurl.errors import NotProperError
from recurl.model.transforms.stopping import STOP, Stopping, stop_in_free_loops
from recurl.policy import Policy
from recurl.policy.policy import RANDOM

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.solution import Solution


def solve_stopped(
    kernel: Callable[..., Solution],
    model: RMDP,
    question: Question,
    epsilon: float,
    **options: Any,
) -> Solution | None:
    """The optimum of a model with free loops; None if there are none, or this knows nothing.

    Args:
        kernel: Solves the model in which runs may stop.
        model: The model.
        question: What is asked, of the total of rewards.
        epsilon: Width of the interval to reach.
        options: Passed to the kernel.
    """
    stopping = stop_in_free_loops(model)
    if stopping is None:
        return None
    try:
        found = kernel(stopping.model, question.with_lane(), epsilon, **options)
    except NotProperError:
        return None

    def certify() -> Certificate:
        return msgspec.structs.replace(
            found.certificate,
            model=model.fingerprint,
            exit_values=list(question.exit_values),
            loops=[own[0] for own in stopping.loops],
        )

    def by_vertex(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[stopping.place]

    names = ", ".join(model.vertex_name(own[0]) for own in stopping.loops[:3])
    return replace(
        found,
        model=model,
        question=question,
        policy=None if found.policy is None else _policy(model, stopping, found.policy),
        values_lower=by_vertex(found.values_lower),
        values_upper=by_vertex(found.values_upper),
        points=(),
        reason=f"with stops in place of free loops (at {names}): {found.reason}",
        _certify=certify,
    )


def _policy(model: RMDP, stopping: Stopping, found: Policy) -> Policy:
    """The policy of the given model: to stop is to stay in the loop."""
    t, new = model.tables, stopping.model.tables
    begin, first = new.action_start.tolist(), t.action_start.tolist()
    actions, callees = [], []
    sizes = np.diff(new.component_start)[found.context_component]
    slot = np.cumsum(sizes) - sizes
    owner = t.action_vertex
    for c, start in zip(found.context_component.tolist(), slot.tolist(), strict=True):
        own = range(int(t.component_start[c]), int(t.component_start[c + 1]))
        places = start + stopping.place[own.start : own.stop] - int(new.component_start[c])
        chosen, called = found.actions[places].tolist(), found.callees[places].tolist()
        for loop in stopping.loops:
            if loop[0] not in own:
                continue
            taken = chosen[loop[0] - own.start]
            at = RANDOM
            if taken != RANDOM:
                at = int(stopping.source[begin[stopping.place[loop[0]]] + taken])
            leaves = {} if at in (STOP, RANDOM) else {int(owner[at]): at}
            for v, a in (leaves | _ways(model, stopping, loop, list(leaves))).items():
                chosen[v - own.start] = a - first[v]
        actions += chosen
        callees += called
    return Policy(
        model,
        found.context_component,
        np.array(actions, np.int32),
        callees=np.array(callees, np.int32),
        start=found.start,
    )


def _ways(model: RMDP, stopping: Stopping, loop: list[int], goal: list[int]) -> dict[int, int]:
    """Actions that stay in a loop, and may come nearer to a goal if there is one."""
    t = model.tables
    stays = [
        a
        for v in loop
        for a in range(int(t.action_start[v]), int(t.action_start[v + 1]))
        if stopping.stays[a]
    ]
    if not goal:
        return {int(t.action_vertex[a]): a for a in reversed(stays)}
    found, near = {}, set(goal)
    while len(near) < len(loop):
        for a in stays:
            v = int(t.action_vertex[a])
            moves = slice(int(t.transition_start[a]), int(t.transition_start[a + 1]))
            if v not in near and near.intersection(t.target[moves].tolist()):
                found[v] = a
                near.add(v)
    return found
