"""Policies with goals: one action per vertex and goal, where totals of one sign are asked for.

What is best in a component depends on what its exits are worth to the caller. A *goal* is a column
of `recurl.solving.relaxed`: to leave by an exit, to leave at all, the total. For every goal that a
run may have there is a copy of the component, and every box of a copy calls a copy of its callee.
A policy with goals is one with an action per vertex of the model of copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, Layout, runs
from recurl.policy import Policy
from recurl.solving.budget import check_time
from recurl.solving.leaving_search import LeavingSearch
from recurl.solving.relaxed import relaxed_equations
from recurl.solving.rows import greatest_last

if TYPE_CHECKING:
    from recurl.model.tables import Floats, Ints, Tables
    from recurl.solving.leaving_certificate import LeavingProof
    from recurl.solving.question import Question

LARGEST = 20_000
"""Vertices up to which a model of copies is looked at."""
_ROUNDS = 6


class GoalCopies(NamedTuple):
    """Copies of the components of a model; runs start in the first one.

    Attributes:
        component: Component of each copy.
        callee: Copies that the boxes of each copy call, in order.
    """

    component: list[int]
    callee: list[list[int]]

    def model(self, t: Tables, start: int = 0) -> RMDP:
        """The model of copies, in which a run starts in one of them."""
        own = np.array(self.component, np.int64)
        size, boxes = np.diff(t.component_start)[own], np.bincount(t.box_owner, minlength=1)
        boxes = np.append(boxes, np.zeros(t.n_components, np.int64))[own]
        first, first_box = (np.concatenate([[0], np.cumsum(x)]) for x in (size, boxes))
        copy, box_copy = (np.repeat(np.arange(len(own)), x) for x in (size, boxes))
        vertex = runs(t.component_start[own], size)
        box = runs(np.searchsorted(t.box_owner, own), boxes)
        shift = first[:-1] - t.component_start[own]
        box_shift = first_box[:-1] - np.searchsorted(t.box_owner, own)
        layout = Layout(
            first.astype(np.int32),
            t.n_entries[own],
            t.n_exits[own],
            copy.astype(np.int32),
            t.vertex_kind[vertex],
            np.where(t.vertex_box[vertex] >= 0, t.vertex_box[vertex] + box_shift[copy], -1),
            t.vertex_port[vertex],
            box_copy.astype(np.int32),
            np.array([x for called in self.callee for x in called], np.int32),
            (t.box_call[box] + shift[box_copy]).astype(np.int32),
            (t.box_return[box] + shift[box_copy]).astype(np.int32),
        )
        count = np.diff(t.action_start)[vertex]
        action = runs(t.action_start[vertex], count)
        moves = np.diff(t.transition_start)[action]
        i = greatest_last(t)[runs(t.transition_start[action], moves)]
        return RMDP.from_arrays(
            layout,
            action_start=np.concatenate([[0], np.cumsum(count)]),
            transition_start=np.concatenate([[0], np.cumsum(moves)]),
            target=t.target[i] + shift[np.repeat(copy.repeat(count), moves)],
            prob=t.prob[i],
            reward=t.reward[i],
            start_component=start,
            start_prob=t.start_prob,
        )

    def policy(self, model: RMDP, copied: RMDP, actions: Ints) -> Policy:
        """The policy that takes actions of the model of copies."""
        t = copied.tables
        calls = t.vertex_kind == CALL
        callees = np.where(calls, t.box_component[np.where(calls, t.vertex_box, 0)], 0)
        start = np.zeros(len(t.start_prob), np.int32)
        component = np.array(self.component, np.int32)
        return Policy(model, component, actions, callees=callees.astype(np.int32), start=start)


class GoalProof(NamedTuple):
    """Bounds with a policy that has goals.

    Attributes:
        copies: The copies of components.
        model: The model of copies.
        proof: Bounds of it.
    """

    copies: GoalCopies
    model: RMDP
    proof: LeavingProof


def with_goals(model: RMDP, question: Question, worth: Floats, *, greatest: bool) -> GoalProof:
    """Bounds of totals of one sign by a policy with goals.

    Args:
        model: The model.
        question: What is asked.
        worth: What the exits of the start are worth, not negative.
        greatest: Whether the greatest of totals that are not negative is asked for.
    """
    goals = _Goals(model, question, worth, greatest=greatest)
    copies, actions = goals.search()
    copied = copies.model(model.tables)
    search = LeavingSearch.of(copied, worth, goals.gain(copied))
    return GoalProof(copies, copied, search.proof(greatest=greatest, actions=actions))


class _Goals:
    """The search for callees of copies, all goals of all components being looked at.

    Copy ``g C + c`` is that of component c, of C, with goal g.
    """

    def __init__(self, model: RMDP, question: Question, worth: Floats, *, greatest: bool) -> None:
        self.model, self.tables, self.question, self.worth = model, model.tables, question, worth
        self.greatest, self.side = greatest, 1 if greatest else -1
        self.goals = self.tables.max_exits + 1 + (question.rewards != "none")
        start, some = self.goals - 1, np.flatnonzero(worth)
        if question.rewards == "none" and len(some) == 1:
            start = int(some[0])
        self.start = start * self.tables.n_components + self.tables.start_component

    def gain(self, model: RMDP) -> Floats | None:
        """Rewards of a model, made positive; None if there are none."""
        if self.question.rewards == "none":
            return None
        return np.abs(self.question.transition_rewards(model.tables))

    def search(self) -> tuple[GoalCopies, Ints]:
        """The best copies that were found, and the actions of their vertices."""
        search = LeavingSearch.of(self.model, self.worth, self.gain(self.model), everywhere=True)
        f = relaxed_equations(search.rows, search.columns, search.gain, self.side)
        chosen, x = search.relaxed(f, greatest=self.greatest)
        actions = np.concatenate(search.by_column(chosen))
        to_exits = self._first_callees(search.columns.spread(x, 0.0))
        at_all = np.full_like(to_exits, self.tables.max_exits)
        found = [self._improved(called, actions) for called in (to_exits, at_all)]
        _, called, actions = max(found, key=lambda each: each[0])
        return self._reached(called, actions)

    def _improved(self, called: Ints, actions: Ints) -> tuple[float, Ints, Ints]:
        """A local optimum: what it attains, goals of callees by goal and box, and actions."""
        t, best = self.tables, (-np.inf, called, actions)
        for _ in range(_ROUNDS):
            check_time()
            copied = self._copies(called).model(t, self.start)
            search = LeavingSearch.of(copied, self.worth, self.gain(copied), everywhere=True)
            plain = relaxed_equations(search.rows, search.columns, search.gain, 0)
            value, actions = search.local_optimum(plain, actions, self.side)
            if not value > best[0] + 1e-12:
                break
            best = value, called, actions
            x = search.solved(plain.of(search.sums_of(actions)), np.zeros(plain.size))
            called = self._best_callees(search.columns.spread(x, 0.0), called)
        return best

    def _copies(self, called: Ints) -> GoalCopies:
        """All copies, given the goals of callees by goal and box."""
        t, count = self.tables, self.tables.n_components
        callee = called * count + t.box_component
        own = [np.flatnonzero(t.box_owner == c) for c in range(count)]
        return GoalCopies(
            list(range(count)) * self.goals,
            [callee[g, own[c]].tolist() for g in range(self.goals) for c in range(count)],
        )

    def _first_callees(self, table: Floats) -> Ints:
        """Goals of callees by goal and box: the exit that is worth most, or to leave at all."""
        t, any_exit = self.tables, self.tables.max_exits
        called = np.full((self.goals, t.n_boxes), any_exit, np.int32)
        if self.question.rewards != "none":
            called[-1] = self.goals - 1
        for b in range(t.n_boxes):
            entry = int(t.component_start[t.box_component[b]])
            exits = int(t.n_exits[t.box_component[b]])
            back = table[int(t.box_return[b]) : int(t.box_return[b]) + exits]
            for g in range(any_exit + 1):
                worth = table[entry, :exits] * back[:, g]
                best = back[:, g].argmax() if self.side < 0 else worth.argmax()
                if worth[best] > table[entry, any_exit] * back[:, g].min():
                    called[g, b] = best
        return called

    def _best_callees(self, x: Floats, called: Ints) -> Ints:
        """Goals of callees by goal and box that are best for what is known of all copies."""
        t, found = self.tables, called.copy()
        table = x.reshape(self.goals, t.n_vertices, self.goals)
        for b in range(t.n_boxes):
            entry = int(t.component_start[t.box_component[b]])
            exits, back = int(t.n_exits[t.box_component[b]]), int(t.box_return[b])
            for g in range(self.goals):
                worth = table[:, entry, :exits] @ table[g, back : back + exits, g]
                if g > t.max_exits:
                    worth = worth + table[:, entry, g]
                best = int((self.side * worth).argmax())
                if self.side * (worth[best] - worth[called[g, b]]) > 1e-12:
                    found[g, b] = best
        return found

    def _reached(self, called: Ints, actions: Ints) -> tuple[GoalCopies, Ints]:
        """The copies that a run from the start comes to, the first one being its own."""
        t, every = self.tables, self._copies(called)
        order = [self.start]
        for copy in order:
            order += [x for x in dict.fromkeys(every.callee[copy]) if x not in order]
        number = {copy: i for i, copy in enumerate(order)}
        component = [every.component[copy] for copy in order]
        callee = [[number[x] for x in every.callee[copy]] for copy in order]
        goal = np.array(order) // t.n_components
        first = t.component_start[component] + goal * t.n_vertices
        vertices = runs(first, np.diff(t.component_start)[component])
        return GoalCopies(component, callee), actions[vertices]
