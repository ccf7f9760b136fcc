"""A search's problem: the components as matrices, the rewards asked for, and step bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recurl.errors import NotProperError
from recurl.linear.systems import chosen_lines
from recurl.model.tables import CALL, Floats, Ints, Mask, Tables
from recurl.solving.certified.lost import PRICES, leaving, paying, with_way_out
from recurl.solving.ending_policies import ending_policy
from recurl.solving.potential import Potential, potential
from recurl.solving.properness import analyse, step_evidence

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question

_LEAST_SLACK = 1e-13
_SMALL = 5000
"""Numbers of a matrix of which zeros need not be left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """The boxes of a component that call the same other one.

    Attributes:
        callee: The component called.
        calls: Number of each call port among the calls of the component. ``[boxes, entries]``
        returns: Return ports, counted within the component. ``[boxes, exits]``
    """

    callee: int
    calls: np.ndarray
    returns: Ints


class Boxes(NamedTuple):
    """The boxes of a component, one row each; -1 in unused places.

    Attributes:
        callee: Component that each calls.
        calls: Call ports, counted within the component. ``[boxes, E]``
        returns: Return ports, counted within the component. ``[boxes, K]``
    """

    callee: Ints
    calls: Ints
    returns: Ints


@dataclass(frozen=True, eq=False)
class Component:
    """One component as matrices; vertices and actions are counted within it.

    Attributes:
        number: Its number.
        first: Its first vertex in the model.
        size: Number of vertices.
        entries: Number of entries; they come first.
        exits: The vertices that are exits.
        states: Vertices with actions.
        begin: First action of each state.
        matrix: Probabilities from actions to vertices.
        gain: Expected reward of each action.
        calls: Call ports.
        callee: Component called at each call port.
        port: Entry called, counted within the callee.
        returns: Return ports of each call, 0 in unused places. ``[calls, K]``
        inside: Which places of ``returns`` are used. ``[calls, K]``
        sites: The same calls by component called.
    """

    number: int
    first: int
    size: int
    entries: int
    exits: slice
    states: np.ndarray
    begin: Ints
    matrix: Any
    gain: Floats
    calls: np.ndarray
    callee: Ints
    port: Ints
    returns: Ints
    inside: np.ndarray
    sites: list[Site]

    @property
    def entry_rows(self) -> slice:
        """The vertices that are entries."""
        return slice(0, self.entries)

    @cached_property
    def entry_states(self) -> np.ndarray:
        """The entries, counted among the states."""
        return np.searchsorted(self.states, np.arange(self.entries))

    @cached_property
    def return_states(self) -> np.ndarray:
        """Return ports of each call, counted among the states; any in unused places."""
        return np.searchsorted(self.states, self.returns)

    @cached_property
    def others(self) -> np.ndarray:
        """The vertices without actions."""
        return np.setdiff1d(np.arange(self.size), self.states)

    @cached_property
    def order(self) -> np.ndarray:
        """The vertices, states before all others."""
        return np.append(self.states, self.others)

    @cached_property
    def calls_after_states(self) -> np.ndarray:
        """Where calls are in that order."""
        return len(self.states) + np.searchsorted(self.others, self.calls)

    @cached_property
    def states_first(self) -> Floats:
        """The matrix with all its zeros, from actions to vertices in that order."""
        return self.dense[:, self.order]

    @cached_property
    def choices(self) -> np.ndarray:
        """Number of actions of each state."""
        return np.diff(np.append(self.begin, len(self.gain)))

    @cached_property
    def depth(self) -> float:
        """Most moves in a row without a call; infinite if there is no limit."""
        return self._depth(through_calls=False)

    @cached_property
    def whole_depth(self) -> float:
        """Most moves in a row if a call is one of them; infinite if there is no limit."""
        return self._depth(through_calls=True)

    def _depth(self, *, through_calls: bool) -> float:
        known = np.ones(self.size, bool)
        known[self.states], known[self.calls] = False, not through_calls
        action = np.repeat(np.arange(len(self.gain)), np.diff(self.matrix.indptr))
        state = np.repeat(np.arange(len(self.states)), self.choices)[action]
        for depth in range(self.size + 1):
            if known.all():
                return depth
            before = known.copy()
            open_moves = np.bincount(state, ~before[self.matrix.indices], len(self.states))
            known[self.states] = open_moves == 0
            if through_calls:
                known[self.calls] = (before[self.returns] | ~self.inside).all(axis=1)
            if (known == before).all():
                break
        return math.inf

    @cached_property
    def small(self) -> bool:
        """Whether products with the matrix are quicker with all its zeros."""
        return len(self.gain) * self.size <= _SMALL

    @cached_property
    def dense(self) -> Floats:
        """The matrix with all its zeros."""
        full: Floats = self.matrix.toarray()
        return full

    @cached_property
    def longest(self) -> int:
        """Most terms of a sum over transitions or exits."""
        rows = np.diff(self.matrix.indptr).max(initial=1)
        return int(max(rows, self.returns.shape[1]))

    def expected(self, values: Floats) -> Floats:
        """Expectation of values after each action, whatever further axes they have."""
        matrix = self.dense if self.small else self.matrix
        flat = matrix @ values.reshape(self.size, math.prod(values.shape[1:]))
        found: Floats = flat.reshape(len(self.gain), *values.shape[1:])
        return found

    def expected_after(self, action: np.ndarray, values: Floats) -> Floats:
        """Expectation of values after one action of each state in each context.

        Args:
            action: The actions. ``[states, n]``
            values: The values. ``[vertices, n, columns]``
        """
        count, n = action.shape
        lines = chosen_lines(self.matrix, action.T.ravel())
        place = lines.indices + np.repeat(np.arange(n) * self.size, np.diff(lines.indptr[::count]))
        matrix = type(lines)((lines.data, place, lines.indptr), shape=(n * count, n * self.size))
        flat = matrix @ values.swapaxes(0, 1).reshape(n * self.size, -1)
        found: Floats = flat.reshape(n, count, -1).swapaxes(0, 1)
        return found

    def earned(self, values: Floats) -> tuple[Floats, Floats]:
        """The value of each action, and of the best one of each state, in each context."""
        earned = self.expected(values) + self.gain[:, None]
        return earned, np.maximum.reduceat(earned, self.begin, axis=0)

    def greedy(self, values: Floats) -> np.ndarray:
        """The first of the best actions of each state in each context."""
        return self.first_best(*self.earned(values))

    def first_best(self, earned: Floats, best: Floats) -> np.ndarray:
        """The same, from what actions and the best of them are worth."""
        number = np.arange(len(earned))[:, None]
        among = np.where(earned >= best.repeat(self.choices, axis=0), number, len(earned))
        chosen: np.ndarray = np.minimum.reduceat(among, self.begin, axis=0)
        return chosen

    @classmethod
    def of(cls, t: Tables, gain: Floats, number: int) -> Component:
        """Read a component off the arrays of a model."""
        from scipy.sparse import csr_array

        first, last = (int(q) for q in t.component_start[number : number + 2])
        actions = slice(int(t.action_start[first]), int(t.action_start[last]))
        rows = t.transition_start[actions.start : actions.stop + 1]
        moves = slice(int(rows[0]), int(rows[-1]))
        shape = (actions.stop - actions.start, last - first)
        states = np.flatnonzero(np.diff(t.action_start[first : last + 1]))
        calls = np.flatnonzero(t.vertex_kind[first:last] == CALL)
        box = t.vertex_box[first + calls]
        callee = t.box_component[box]
        places = np.arange(int(t.n_exits.max()))
        inside = places < t.n_exits[callee][:, None]
        returns = np.where(inside, (t.box_return[box] - first)[:, None] + places, 0)
        entries = int(t.n_entries[number])
        return cls(
            number,
            first,
            last - first,
            entries,
            slice(entries, entries + int(t.n_exits[number])),
            states,
            t.action_start[first + states] - actions.start,
            csr_array((t.prob[moves], t.target[moves] - first, rows - rows[0]), shape=shape),
            gain[actions],
            calls,
            callee,
            t.vertex_port[first + calls],
            returns,
            inside,
            [_site(t, int(c), callee, returns) for c in np.unique(callee)],
        )


def _site(t: Tables, callee: int, called: Ints, returns: Ints) -> Site:
    calls = np.flatnonzero(called == callee).reshape(-1, int(t.n_entries[callee]))
    return Site(callee, calls, returns[calls[:, 0], : t.n_exits[callee]])


def _boxes(part: Component, entries: int, exits: int) -> Boxes:
    count = sum(len(site.calls) for site in part.sites)
    callee = np.repeat([s.callee for s in part.sites], [len(s.calls) for s in part.sites])
    calls, returns = np.full((count, entries), -1), np.full((count, exits), -1)
    first = 0
    for site in part.sites:
        own = slice(first, first + len(site.calls))
        calls[own, : site.calls.shape[1]] = part.calls[site.calls]
        returns[own, : site.returns.shape[1]] = site.returns
        first = own.stop
    return Boxes(callee.astype(np.int64), calls, returns)


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """The constants of a search; always a greatest total (see `Question.sign`).

    Attributes:
        tables: The model.
        gain: Expected reward of each action.
        root: Worth of each exit of the start component.
        steps: Step bounds d with slack 1 at states and at calls alike (see `with_call_slack`). With
            a potential, expected steps of some policy: a measure of how long runs are.
        reach: Probabilities that the step bounds rest on (see `StepBounds`), or None.
        potential: In place of step bounds, where some policy does not end (see `Potential`).
        first: A policy that ends, to begin with: actions by vertex, counted within it.
        lost: Places where the last action is not one of the model: it gives up at a price (see
            `recurl.solving.certified.lost`). None if there are none.
    """

    tables: Tables
    gain: Floats
    root: Floats
    steps: Floats
    reach: Floats | None = None
    potential: Potential | None = None
    first: Ints | None = None
    lost: Mask | None = None

    @classmethod
    def of(cls, model: RMDP, question: Question, price: float = PRICES[0]) -> SearchProblem:
        """The problem that a question poses.

        Args:
            model: The model.
            question: The question.
            price: What it costs to give up, in units of what runs cost.

        Raises:
            NotProperError: Some policy may not end, and not ending is not known to cost.
        """
        t = model.tables
        rewards = question.transition_rewards(t)
        gain = np.add.reduceat(t.prob * rewards, t.transition_start[:-1])
        root, proved = question.root_values(t), step_evidence(t)
        if proved is not None:
            return cls(t, gain, root, with_call_slack(t, proved.steps), proved.reach)
        falls = potential(model, question)
        ends = None if falls is None else ending_policy(model)
        if falls is None or ends is None:
            raise NotProperError(str(analyse(model)))
        steps = np.where(t.states & np.isfinite(ends[1]), ends[1], 1.0)
        lost = t.states & model.reach.reachable & ~np.isfinite(ends[1])
        found = cls(t, gain, root, steps, None, with_call_fall(t, falls), ends[0])
        return found._with_way_out(lost, price) if lost.any() else found

    def _with_way_out(self, lost: Mask, price: float) -> SearchProblem:
        """The same problem with a way out of some places."""
        assert self.potential is not None
        assert self.first is not None
        h = self.potential.values
        unit = 1.0 + self.size * float(self.steps.max()) + float(h.max() - h.min())
        return replace(
            self,
            tables=with_way_out(self.tables, lost),
            gain=paying(self.tables, lost, self.gain, price * unit),
            first=leaving(self.tables, lost, self.first),
            lost=lost,
        )

    @cached_property
    def components(self) -> list[Component]:
        """All components as matrices."""
        return [Component.of(self.tables, self.gain, c) for c in range(self.tables.n_components)]

    @cached_property
    def boxes(self) -> list[Boxes]:
        """The boxes of all components."""
        shape = int(self.tables.n_entries.max()), self.tables.max_exits
        return [_boxes(part, *shape) for part in self.components]

    @property
    def start(self) -> int:
        """Number of the start component."""
        return self.tables.start_component

    @cached_property
    def size(self) -> float:
        """The greatest expected reward of an action of the model, either way."""
        own = np.ones(len(self.gain), np.bool_)
        if self.lost is not None:
            own[self.tables.action_start[1:][self.lost] - 1] = False
        return float(np.abs(self.gain[own]).max(initial=0.0))

    def slack(self, width: float) -> float:
        """The slack of every equation if the interval may widen by a bit of ``width``.

        Every step adds it. With a potential, the best runs may be longer than those of the policy
        whose steps are known: it is a smaller share then.
        """
        steps = self.own_steps(self.start)[: len(self.tables.start_prob)]
        bit = (1e-2 if self.potential is None else 1e-4) * width
        return max(_LEAST_SLACK, bit / max(1.0, float(steps.max())))

    def own_steps(self, component: int) -> Floats:
        """Step bounds of the vertices of a component."""
        start = self.tables.component_start
        return self.steps[start[component] : start[component + 1]]

    def own_potential(self, component: int) -> Floats:
        """Potential of the vertices of a component."""
        assert self.potential is not None
        start = self.tables.component_start
        return self.potential.values[start[component] : start[component + 1]]

    def raised(self, component: int, values: Floats, excess: float) -> Floats:
        """Values of a component that fail by an excess, raised so that no inequality fails.

        By excess times d: d(q) >= 1 + sum p d(q') and d(call) >= 1 + d(en) + max (d(ret) - d(ex))
        let every inequality gain the excess. With a potential, which holds with room c, by a mix
        with it: (1 - t) values + t h gains t c and loses (1 - t) excess. ``[vertices, n]``
        """
        if self.potential is None:
            return values + excess * self.own_steps(component)[:, None]
        share = excess / (self.potential.cost + excess)
        mixed: Floats = values + share * (self.own_potential(component)[:, None] - values)
        return mixed

    def crude(self, component: int) -> tuple[Floats, Floats]:
        """A first upper bound: exit values v0 and values of all vertices, from the step bounds.

        With r the greatest expected reward of a step (at least 0), r d >= r + sum p r d and
        r d(call) >= r d(en) + max (r d(ret) - r d(ex)): a point at v0 = r d(exits). A potential is
        a point as it is.
        """
        if self.potential is None:
            values = max(0.0, float(self.gain.max(initial=0.0))) * self.own_steps(component)
        else:
            values = self.own_potential(component)
        return values[self.components[component].exits], values


def with_call_fall(tables: Tables, falls: Potential) -> Potential:
    """A potential that falls at calls as well: half of what it falls by in the step before."""
    half = 0.5 * falls.cost
    return Potential(falls.values + half * (tables.vertex_kind == CALL), 0.99 * half)


def with_call_slack(tables: Tables, steps: Floats) -> Floats:
    """Step bounds in which calls, too, have slack 1: twice the given ones, and 1 more at calls.

    A step pays 2 of which at most 1 goes to the call that it leads to.
    """
    doubled: Floats = 2.0 * steps + (tables.vertex_kind == CALL)
    return doubled
