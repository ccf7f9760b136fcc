"""Finite processes with totals of one sign, in which policies may stay forever.

The total is made nonnegative by its sign. *Greatest total:* states that cannot reach a gain are
worth 0. A maximal end component is a set of states in which one can stay, and come from each to
each; where that pays nothing, all its states are worth the same, and it becomes one state whose
actions are those that may leave. Of what is left every policy ends: policy iteration applies.
*Least total:* states from which some policy gains nothing at all are worth 0; of the others every
policy ends, unless staying costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from recurl.linear.systems import solve_entries
from recurl.model.rmdp import RMDP
from recurl.model.tables import EXITS, Floats, Ints, Mask, runs
from recurl.solving.budget import check_time
from recurl.solving.digraphs import Blocks, can_reach
from recurl.solving.equations import UNIT, Equations, by_actions, closed_probabilities
from recurl.solving.one_exit_bounds import step_bounds
from recurl.solving.one_exit_search import Callback, OneExitSearch
from recurl.solving.one_exit_system import System
from recurl.solving.outward import Indices, float_above, float_below
from recurl.solving.question import Question
from recurl.solving.quick_process import MOST, QuickBounds, solve_quickly
from recurl.solving.rows import greatest_last
from recurl.solving.solution import is_watched

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from recurl.model.tables import Tables


_AMOUNTS = (2.0**10, 2.0**20, 2.0**30)
"""Multiples of the greatest cost for which hopeless states may stop."""
_SWEEPS, _DISCOUNT = 300, 0.99


class Process(NamedTuple):
    """Actions and transitions of a model without calls, totals made nonnegative.

    Attributes:
        flat: The model: one component, no boxes.
        greatest: Whether the greatest of the nonnegative totals is asked for.
        pays: Whether transitions pay, or exits only.
        gain: What each action pays on average, exits included; at least 0. ``[A]``
        paid: The reward or worth that each transition pays. ``[T]``
        owner: State of each action. ``[A]``
        target: State of each transition, -1 for exits and impossible ones. ``[T]``
        edge: Vertex of each transition; impossible ones stay where they are. ``[T]``
        prob: Probability of each transition. ``[T]``
        action: Action of each transition. ``[T]``
        place: State of each transition that it starts from. ``[T]``
        worth: What each exit is worth. ``[K]``
    """

    flat: RMDP
    greatest: bool
    pays: bool
    gain: Floats
    paid: Floats
    owner: Ints
    target: Ints
    edge: Ints
    prob: Floats
    action: Ints
    place: Ints
    worth: Floats

    @classmethod
    def of(cls, flat: RMDP, question: Question) -> Process | None:
        """Write down the process; None if totals are not of one sign."""
        t = flat.tables
        paid, worth = question.transition_rewards(t), question.root_values(t)
        low, high, pays = float(worth.min()), float(worth.max()), question.rewards != "none"
        if pays:
            low, high = min(low, float(paid.min())), max(high, float(paid.max()))
        if low < 0.0 < high:
            return None
        return cls.paying(flat, np.abs(paid), np.abs(worth), greatest=low >= 0.0, pays=pays)

    @classmethod
    def paying(
        cls, flat: RMDP, paid: Floats, worth: Floats, *, greatest: bool = True, pays: bool = True
    ) -> Process:
        """Write down the process of some rewards by transition, and some worth of exits."""
        t, paid = flat.tables, paid.copy()
        leaves = np.flatnonzero(t.move == EXITS)
        paid[leaves] += worth[t.landing[leaves]]
        prob = closed_probabilities(t) if flat.exact.binary else t.prob
        count = np.diff(t.transition_start)
        action = np.repeat(np.arange(t.n_actions, dtype=np.int32), count)
        place = t.action_vertex[action]
        target, edge = t.target.copy(), t.target
        target[leaves] = -1
        never = np.flatnonzero(prob <= 0.0)
        if len(never):
            edge = edge.copy()
            target[never], edge[never] = -1, place[never]
        gain = by_actions(t, prob * paid)
        owner = t.action_vertex
        columns = target, edge, prob, action, place, worth
        return cls(flat, greatest, pays, gain, paid, owner, *columns)

    @property
    def largest(self) -> float:
        """The most that a transition pays."""
        return float(self.paid.max())

    @property
    def size(self) -> Floats:
        """The greatest reward or worth that each action may pay."""
        most: Floats = np.maximum.reduceat(self.paid, self.flat.tables.transition_start[:-1])
        return most

    def edges(self, taken: Mask) -> csr_array:
        """Which states follow each state by some of the actions."""
        from scipy.sparse import csr_array

        n = self.flat.tables.n_vertices
        used = np.flatnonzero(taken[self.action] & (self.target >= 0))
        count = np.bincount(self.owner[self.action[used]], minlength=n)  # in this order already
        start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
        parts = np.ones(len(used), np.int8), self.target[used], start
        return cast("csr_array", csr_array(parts, shape=(n, n)))

    def every(self, holds: Mask) -> Mask:
        """Actions of which all transitions have a property."""
        every: Mask = np.logical_and.reduceat(holds, self.flat.tables.transition_start[:-1])
        return every


class Incoming(NamedTuple):
    """Transitions of a process by the state that they lead to.

    Attributes:
        begin: First transition of each state.
        action: Action of each transition.
    """

    begin: Indices
    action: Indices

    @classmethod
    def of(cls, process: Process) -> Incoming:
        """Sort the transitions that stay in the process."""
        used = np.flatnonzero(process.target >= 0)
        target = process.target[used]
        count = np.bincount(target, minlength=process.flat.tables.n_vertices)
        begin = np.concatenate([[0], np.cumsum(count)])
        return cls(begin, process.action[used[np.argsort(target, kind="stable")]])

    def lasting(self, process: Process, allowed: Mask) -> Mask:
        """Of some actions, those that lead only to states with such an action, all in all.

        Actions are taken out in rounds, each of which looks at what leads to the states that lost
        their last one in the round before.
        """
        lasting = allowed.copy()
        left = np.bincount(process.owner[allowed], minlength=len(self.begin) - 1)
        gone = np.flatnonzero(left == 0)
        while len(gone):
            first = self.begin[gone]
            shut = self.action[runs(first, self.begin[gone + 1] - first)]
            shut = np.unique(shut[lasting[shut]])
            lasting[shut] = False
            owner = process.owner[shut]
            np.subtract.at(left, owner, 1)
            gone = np.unique(owner[left[owner] == 0])
        return lasting


def staying_actions(process: Process, live: Mask, allowed: Mask | None = None) -> tuple[Mask, Ints]:
    """Actions that stay in a maximal end component of some states, and a class of each state.

    All actions are looked at, or those that are allowed.

    States of one end component have the same class, others each their own. Actions that may leave
    their strongly connected component are taken out until none does.

    Example:
        A state with a loop, and an action that leads out of it, sometimes:

        >>> import recurl
        >>> builder = recurl.Builder("m").component("A", entries="in", exits="out")
        >>> builder = builder.at("in").action("go").to("room").at("room").action("stay").to("room")
        >>> model = builder.action("leave").to("out", 0.5).to("room", 0.5).build()
        >>> process = Process.of(model, recurl.Question("max", "none", (1.0,)))
        >>> staying_actions(process, model.tables.states)[0].tolist()
        [False, True, False]
    """
    from scipy.sparse.csgraph import connected_components

    owner, target = process.owner, process.target
    possible, incoming = process.prob > 0, Incoming.of(process)
    inside = (target >= 0) & live[target]
    kept = live[owner] & process.every(inside | ~possible)
    kept = kept if allowed is None else kept & allowed
    while True:
        check_time()
        stays = incoming.lasting(process, kept)
        label = connected_components(process.edges(stays), connection="strong")[1]
        same = label[owner[process.action]] == label[target]
        kept = stays & process.every((inside & same) | ~possible)
        if np.array_equal(kept, stays):
            return stays, label.astype(np.int32)


def surely_ending(process: Process, rest: Mask | None = None) -> tuple[Mask, Mask]:
    """States from which some policy surely ends or comes to rest, and actions that keep it so."""
    incoming, allowed = Incoming.of(process), np.ones(len(process.owner), np.bool_)
    leaves = (process.flat.tables.move == EXITS) & (process.prob > 0.0)
    while True:
        allowed = incoming.lasting(process, allowed)
        live = np.zeros(process.flat.tables.n_vertices, np.bool_)
        live[process.owner[allowed]] = True
        last = np.zeros_like(live) if rest is None else rest & live
        last[process.owner[process.action[leaves & allowed[process.action]]]] = True
        found = can_reach(process.edges(allowed), last)
        if np.array_equal(found, live):
            return live, allowed
        allowed &= found[process.owner]


@dataclass(frozen=True, eq=False)
class Quotient(System):
    """The equations of the classes of a process.

    Attributes:
        process: The process.
        class_row: Row of each vertex, -1 where the value is 0.
    """

    process: Process
    class_row: Ints

    @classmethod
    def of_classes(cls, process: Process, question: Question, group: Ints, used: Mask) -> Quotient:
        """Write down the equations.

        Args:
            process: The process.
            question: What is asked.
            group: Class of each vertex, -1 where the value is 0.
            used: Actions to keep.
        """
        from scipy.sparse import csr_array

        names, found = np.unique(group, return_inverse=True)
        row = (found - int(names[0] < 0)).astype(np.int32)  # without gaps; -1 stays
        n = int(row.max()) + 1
        taken = np.flatnonzero(used[process.action] & (process.target >= 0))
        taken = taken[row[process.target[taken]] >= 0]
        line, column = process.action[taken], row[process.target[taken]]
        edge = csr_array(
            (np.ones(len(taken), np.int8), (row[process.owner[line]], column)), shape=(n, n)
        )
        blocks = Blocks.of(edge.indptr, edge.indices)
        place = np.empty(n, np.int32)
        place[blocks.order] = np.arange(n, dtype=np.int32)
        row = np.where(row >= 0, place[row], np.int32(-1))
        actions = np.flatnonzero(used)
        source = actions[np.argsort(row[process.owner[actions]], kind="stable")].astype(np.int32)
        position = np.full(len(used), -1, np.int32)
        position[source] = np.arange(len(source), dtype=np.int32)
        t = process.flat.tables
        matrix = csr_array(
            (process.prob[taken], (position[line], row[process.target[taken]])),
            shape=(len(source), n),
        )
        count = np.bincount(row[process.owner[source]], minlength=n)
        equations = Equations(
            np.concatenate([[0], np.cumsum(count)]).astype(np.int32),
            matrix,
            source,
            (4 * np.diff(t.transition_start)[source] + 16) * UNIT,
            blocks.start,
            blocks.order,
            row,
        )
        sign = 1.0 if process.greatest else -1.0
        gain, size = sign * process.gain[source], process.size[source]
        return cls(process.flat, question, equations, gain, size, process, row)

    def by_vertex(self, x: Floats, direction: float) -> Floats:
        """Values of all vertices, of the sense of the equations; 0 where nothing is gained."""
        return np.where(self.class_row >= 0, x[self.class_row], 0.0)

    def at_start(self, x: Floats, direction: float) -> float:
        """Value of the start, rounded towards ``direction``."""
        values = self.by_vertex(x, direction)[self.model.tables.starts]
        if not np.isfinite(values).all():
            return direction
        total = _start_mean(self.model, values)
        return float_above(total) if direction > 0 else float_below(total)


def _start_mean(model: RMDP, values: Floats) -> Fraction | float:
    """The exact mean of values of the entries at which a run may start."""
    if len(model.tables.start_prob) == 1:
        return float(values[0])
    share = [model.exact.start(e) for e in range(len(model.tables.start_prob))]
    pairs = zip((p for p in share if p), values.tolist(), strict=True)
    return sum((p * Fraction(x) for p, x in pairs), Fraction())


@dataclass(frozen=True, eq=False)
class ProcessBounds:
    """Bounds by vertex of a process.

    Attributes:
        process: The process.
        question: What was asked.
        reason: What is to be said of how they were found.
        lower: Lower bounds of the nonnegative total, by vertex.
        upper: Upper bounds.
        actions: A policy that attains the lower ones, or for the least total the upper ones.
        steps: Bounds on the steps of every policy until the value is 0, end components being one
            state.
        inner: Actions that stay in an end component, or where nothing is gained.
        work: What it took.
    """

    process: Process
    question: Question
    reason: str
    lower: Floats
    upper: Floats
    actions: Ints
    steps: Floats
    inner: Mask
    work: dict[str, float]

    @property
    def interval(self) -> tuple[float, float]:
        """The ends at the start, in the sense of the question."""
        flat = self.process.flat
        starts = flat.tables.starts
        low, high = (_start_mean(flat, v[starts]) for v in (self.lower, self.upper))
        negative = self.process.greatest != (self.question.sign > 0)
        low, high = (0 - high, 0 - low) if negative else (low, high)
        return float_below(low), float_above(high)

    def progress(self) -> Floats:
        """Some g with g(s) >= 1 + sum p g(s') where the lower bound is positive, by vertex.

        If d are the steps of classes, and e those inside an end component until it may be left,
        then M d + e will do, with M at least max e + 1.
        """
        if not self.inner.any():
            return np.where(self.lower > 0, self.steps, 0.0)
        t, n = self.process.flat.tables, self.process.flat.tables.n_vertices
        moving = np.flatnonzero(t.states & (self.lower > 0))
        moving = moving[self.inner[t.action_start[moving] + self.actions[moving]]]
        inside = np.zeros(n)
        if self.process.greatest and len(moving):
            inside[moving] = self._steps_within(moving)
        steps: Floats = (2.0 + inside.max()) * self.steps + inside
        return np.where(self.lower > 0, steps, 0.0)

    def _steps_within(self, states: Indices) -> Floats:
        """Expected steps of the policy until it is not in one of some states."""
        process, n = self.process, len(states)
        number = np.full(process.flat.tables.n_vertices, -1, np.int32)
        number[states] = np.arange(n)
        taken = np.zeros(len(process.gain), np.bool_)
        taken[process.flat.tables.action_start[states] + self.actions[states]] = True
        used = np.flatnonzero(taken[process.action] & (process.target >= 0))
        used = used[number[process.target[used]] >= 0]
        row, column = number[process.owner[process.action[used]]], number[process.target[used]]
        found = solve_entries(row, column, process.prob[used], np.ones(n))
        return np.full(n, np.inf) if found is None else found


def solve_process(
    flat: RMDP,
    question: Question,
    epsilon: float,
    *,
    quickly: bool = False,
    at_least: float | None = None,
    callback: Callback | None = None,
) -> ProcessBounds | None:
    """The optimum of a model of one component without boxes, if its totals are of one sign.

    Returns:
        Bounds; None if totals are not of one sign, if one can stay and gain forever, or if
        staying costs.
    """
    small = flat.tables.n_transitions <= MOST
    process = Process.of(flat, question) if small or not quickly else None
    if process is None:
        return None
    if small and at_least is None and not is_watched(callback):
        found = solve_quickly(process, epsilon)
        if found is not None:
            return _by_vertex(process, question, found)
    if quickly:
        return None
    hopeless = _hopeless(process)
    if hopeless.any():
        return _beside(process, question, epsilon, hopeless)
    classes = _greatest_classes(process) if process.greatest else _least_classes(process)
    if classes is None:
        return None
    group, used, inner = classes
    if not used.any():
        return _nothing(process, question, inner)
    system = Quotient.of_classes(process, question, group, used)
    steps = step_bounds(system)
    if steps is None:
        return None
    search = OneExitSearch(system, steps, "policy-iteration")
    reason = search.run(epsilon, math.nan if at_least is None else at_least, callback)
    bounds = search.bounds
    assert bounds is not None
    lower, upper = bounds.lower, bounds.upper
    if not process.greatest:
        lower, upper = 0.0 - upper, 0.0 - lower
    values = (np.maximum(system.by_vertex(x, 0.0), 0.0) for x in (lower, upper))
    low, high = (with_exits(process, x) for x in values)
    if question.rewards == "none":
        high = np.minimum(high, process.worth.max())
    actions = lifted(process, system.equations.source[bounds.choice], inner)
    own = system.by_vertex(steps, math.inf)
    return ProcessBounds(
        process, question, reason, low, high, actions, own, inner, search.iterate.work
    )


def _by_vertex(process: Process, question: Question, found: QuickBounds) -> ProcessBounds:
    """Bounds by vertex from those of rows."""
    t = process.flat.tables
    low, high, steps = np.zeros((3, t.n_vertices))
    low[found.vertex], high[found.vertex] = found.lower, found.upper
    steps[found.vertex] = found.progress
    actions = found.action - t.action_start[:-1]
    inner = np.zeros(t.n_actions, np.bool_)
    low, high = with_exits(process, low), with_exits(process, high)
    return ProcessBounds(process, question, "", low, high, actions, steps, inner, found.work)


def _hopeless(process: Process) -> Mask:
    """States from which every policy pays without end, where the least total is asked for."""
    t = process.flat.tables
    if process.greatest or not process.pays or t.n_exits[0] == 0:
        return np.zeros(t.n_vertices, np.bool_)
    rest = np.zeros(t.n_vertices, np.bool_)
    rest[process.owner[Incoming.of(process).lasting(process, process.gain == 0)]] = True
    return t.states & ~surely_ending(process, rest)[0]


def _beside(
    process: Process, question: Question, epsilon: float, hopeless: Mask
) -> ProcessBounds | None:
    """The least total of a process with hopeless states; None if runs start in one.

    They may also stop there and pay an amount. That makes no total greater, and none of a policy
    less that keeps away from them: the amount grows until the best policy does. What costs add up
    to there with a discount is paid too, so that to go on always costs a little more than to stop.
    """
    t, worth = process.flat.tables, tuple(process.worth.tolist())
    asked = Question("min", "model", worth)
    if hopeless[t.starts].any():
        return None
    paid, more = np.abs(question.transition_rewards(t)), np.zeros(t.n_vertices)
    for _ in range(_SWEEPS):
        after = process.prob * np.where(process.target >= 0, more[process.target], 0.0)
        value = process.gain + _DISCOUNT * by_actions(t, after)
        more[t.states] = np.minimum.reduceat(value, t.action_start[:-1][t.states])
        more[~hopeless] = 0.0
    for amount in _AMOUNTS:
        stopping = _with_stops(t, paid, hopeless, amount * process.largest + more[hopeless])
        found = solve_process(stopping, asked, epsilon)
        if found is None:
            return None
        taken = np.zeros(t.n_actions, np.bool_)
        actions = np.where(hopeless, 0, found.actions)
        taken[(t.action_start[:-1] + actions)[t.states]] = True
        start = np.zeros(t.n_vertices, np.bool_)
        start[t.starts] = True
        if not (can_reach(process.edges(taken).T.tocsr(), start) & hopeless).any():
            return replace(found, question=question, actions=actions)
    return None


def _with_stops(t: Tables, paid: Floats, hopeless: Mask, amounts: Floats) -> RMDP:
    """The model in which some states have one more action: to stop and pay."""
    first, order = int(t.n_entries[0]), greatest_last(t)
    stops = t.transition_start[t.action_start[1:][hopeless]]
    place = t.action_start[1:][hopeless]
    size = np.insert(np.diff(t.transition_start), place, 1)
    return RMDP.from_arrays(
        t.layout,
        action_start=np.append(0, np.cumsum(np.diff(t.action_start) + hopeless)),
        transition_start=np.append(0, np.cumsum(size)),
        target=np.insert(t.target[order], stops, first),
        prob=np.insert(t.prob[order], stops, 1.0),
        reward=np.insert(paid[order], stops, amounts),
        start_prob=t.start_prob,
    )


def _nothing(process: Process, question: Question, inner: Mask) -> ProcessBounds:
    """All states are worth 0."""
    zero = np.zeros(process.flat.tables.n_vertices)
    values = with_exits(process, zero.copy())
    actions = lifted(process, np.zeros(0, np.int32), inner)
    return ProcessBounds(process, question, "", values, values, actions, zero, inner, {})


def with_exits(process: Process, values: Floats) -> Floats:
    """Values with those of exits entered."""
    t = process.flat.tables
    first = int(t.n_entries[0])
    values[first : first + len(process.worth)] = process.worth
    return values


def _greatest_classes(process: Process) -> tuple[Ints, Mask, Mask] | None:
    """Classes of states, actions of the classes, and those that stay; None if one gains forever."""
    t = process.flat.tables
    gains = np.zeros(t.n_vertices, np.bool_)
    gains[process.owner[process.gain > 0]] = True
    live = can_reach(process.edges(np.ones(t.n_actions, np.bool_)), gains)
    stays, label = staying_actions(process, live)
    if (process.gain[stays] > 0).any():
        return None
    return np.where(live, label, -1), live[process.owner] & ~stays, stays


def _least_classes(process: Process) -> tuple[Ints, Mask, Mask]:
    """The same for the least total: states in which nothing need be gained have class -1."""
    t = process.flat.tables
    idle = Incoming.of(process).lasting(process, process.gain == 0)
    free = np.zeros(t.n_vertices, np.bool_)
    free[process.owner[idle]] = True
    live = t.states & ~free
    every = np.arange(t.n_vertices, dtype=np.int32)
    return np.where(live, every, -1), live[process.owner], idle


def lifted(process: Process, chosen: Ints, inner: Mask) -> Ints:
    """Action of each vertex, counted within it.

    The action of a class is taken in the state that has it. Other states of an end component come
    nearer to that state by actions that stay; states of class -1 take such an action if they have
    one.
    """
    t = process.flat.tables
    actions = np.zeros(t.n_vertices, np.int32)
    idle = np.flatnonzero(inner)[::-1]
    actions[process.owner[idle]] = idle - t.action_start[process.owner[idle]]
    known = np.zeros(t.n_vertices, np.bool_)
    known[process.owner[chosen]] = True
    if process.greatest:
        _approach(process, inner, known.copy(), actions)
    actions[process.owner[chosen]] = chosen - t.action_start[process.owner[chosen]]
    return actions


def _approach(process: Process, inner: Mask, known: Mask, actions: Ints) -> None:
    """Enter actions that stay in an end component and may come nearer to a known state of it."""
    t = process.flat.tables
    used = np.flatnonzero(inner[process.action] & (process.target >= 0))
    action, target = process.action[used], process.target[used]
    while True:
        check_time()
        near = known[target] & ~known[process.owner[action]]
        if not near.any():
            return
        found = action[near]
        actions[process.owner[found]] = found - t.action_start[process.owner[found]]
        known[process.owner[found]] = True
