"""Greedy runs of a table, compiled: episodes for tests, and all that such a run can meet."""

# What arrays hold is not known to the type checker.
# mypy: disable-error-code="arg-type, assignment, no-any-return"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recurl.learn.contexts_kernel import CONTEXTS, Contexts
from recurl.learn.kernel import Rule, World, draw, enter_greedily, start_vertex
from recurl.learn.rule_kernel import greedy
from recurl.model.tables import CALLS, STEP
from recurl.simulation.jit import compiled


@compiled
def test_episodes(
    w: World,
    x: Contexts,
    rule: Rule,
    random: np.ndarray,
    stack: np.ndarray,
    vector: np.ndarray,
    limit: int,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> None:
    """Run greedy episodes without learning; in contexts never met the first action is taken."""
    for episode in range(len(returns)):
        vertex = start_vertex(w.start, w.start_below, random)
        context = height = length = np.int64(0)
        total, running = 0.0, True
        while running and length < limit:
            begin = w.action_start[vertex]
            count = w.action_start[vertex + 1] - begin
            row = w.row[vertex]
            action = greedy(x.q, x.block[context] + row, count) if context >= 0 else 0
            outcome = w.outcomes[draw(w.outcomes, np.int64(w.row_start[begin + action]), random)]
            length += 1
            total += outcome.reward
            landing = np.int64(outcome.landing)
            if outcome.move == STEP:
                vertex = landing
            elif outcome.move == CALLS:
                stack[0, height], stack[1, height] = outcome.box, context
                height += 1
                vertex = landing
                if not rule.flat:
                    context = enter_greedily(w, x, rule, context, np.int64(outcome.box), vector)
            elif height == 0:
                running = False
            else:
                height -= 1
                vertex = w.box_return[stack[0, height]] + landing
                context = np.int64(stack[1, height])
        returns[episode], lengths[episode], cut[episode] = total, length, running


class Walked(NamedTuple):
    """What a greedy run can meet, by slot: a vertex in a context.

    The contexts are those of the table, then one per component for contexts never met.

    Attributes:
        slot_start: First slot of each context. ``[X + C + 1]``
        component: Component of each context. ``[X + C]``
        component_start: First vertex of each component. ``[C + 1]``
        box_call: First call port of each box. ``[B]``
        seen: Whether a slot was met.
        actions: Greedy action of each slot.
        callees: Context entered at the slot of a call port, or -1.
        todo: Scratch: slots whose outcomes are to be followed.
    """

    slot_start: np.ndarray
    component: np.ndarray
    component_start: np.ndarray
    box_call: np.ndarray
    seen: np.ndarray
    actions: np.ndarray
    callees: np.ndarray
    todo: np.ndarray


@compiled
def _meet(g: Walked, context: int, vertex: int, waiting: int) -> int:
    slot = g.slot_start[context] + vertex - g.component_start[g.component[context]]
    if g.seen[slot]:
        return waiting
    g.seen[slot] = 1
    g.todo[waiting, 0], g.todo[waiting, 1] = context, vertex
    return waiting + 1


@compiled
def follow_greedy(w: World, x: Contexts, rule: Rule, g: Walked, vector: np.ndarray) -> None:
    """Mark every slot that a greedy run can meet, with its action and the contexts it calls."""
    known = x.used[CONTEXTS]
    waiting = np.int64(0)
    for i in range(len(w.start)):
        waiting = _meet(g, np.int64(0), np.int64(w.start[i]), waiting)
    while waiting > 0:
        waiting -= 1
        context, vertex = np.int64(g.todo[waiting, 0]), np.int64(g.todo[waiting, 1])
        shift = g.slot_start[context] - g.component_start[g.component[context]]
        begin = w.action_start[vertex]
        count = w.action_start[vertex + 1] - begin
        row = w.row[vertex]
        action = greedy(x.q, x.block[context] + row, count) if context < known else 0
        g.actions[shift + vertex] = action
        for i in range(w.row_start[begin + action], w.row_start[begin + action + 1]):
            outcome = w.outcomes[i]
            landing, box = np.int64(outcome.landing), np.int64(outcome.box)
            if outcome.move == STEP:
                waiting = _meet(g, context, landing, waiting)
            elif outcome.move == CALLS:
                component = np.int64(w.box_component[box])
                home = context if context < known else np.int64(-1)
                callee = enter_greedily(w, x, rule, home, box, vector)
                if callee < 0:
                    callee = known + component
                port = landing - g.component_start[component]
                g.callees[shift + g.box_call[box] + port] = callee
                waiting = _meet(g, callee, landing, waiting)
                for k in range(x.n_exits[component]):
                    waiting = _meet(g, context, w.box_return[box] + k, waiting)
