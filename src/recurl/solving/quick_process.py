"""Finite processes with totals of one sign: a policy that ends, improved; bounds along its steps.

End components matter only where a bound cannot be proved without them, so they are not looked for.
The first policy takes a shortest way to a gain (or, for the least total, to where nothing more is
paid), and ends. Policy iteration that only switches where it gains keeps it that way. Equations are
negated for the least total, so that x is the greatest solution sought in any case. With d the
steps of the policy, x - s d is a lower bound as soon as s is the greatest error of a row; x + t d,
an upper one if d falls by every action that is as good as the best; where it does not, the steps
of that action count instead. Both are checked with rounding counted. What cannot be proved so is
left to `recurl.solving.end_components`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.linear.systems import chosen_lines, solve
from recurl.solving.blocks import fills_little
from recurl.solving.budget import check_time
from recurl.solving.digraphs import blocks_of_reversed, grouped, led_by, transposed
from recurl.solving.equations import UNIT, Equations, lines_of

if TYPE_CHECKING:
    from recurl.model.tables import Floats, Ints, Mask
    from recurl.solving.end_components import Process
    from recurl.solving.outward import Indices

_ROUNDS, _BETWEEN, _TRIES, _SEARCHES = 40, 12, 12, 5
_FALL = 0.25
"""How much steps fall along an action at least that counts as one along which they fall."""
_SHARE = 0.05
"""Share of the width asked for that an action may be better by and not be taken."""
MOST = 20_000
"""Transitions up to which searching end components costs more than solving the equations."""


class QuickBounds(NamedTuple):
    """Bounds of the nonnegative total by row, and how they are proved.

    Attributes:
        vertex: Vertex of each row; all other states are worth 0.
        lower: Lower bounds.
        upper: Upper bounds.
        action: Action of each vertex, counted among those of the model; any at exits.
        progress: g with g > sum p g' where the lower bound is positive, or as `Values` says.
        work: What it took.
    """

    vertex: Ints
    lower: Floats
    upper: Floats
    action: Ints
    progress: Floats
    work: dict[str, float]


def solve_quickly(process: Process, epsilon: float) -> QuickBounds | None:
    """Bounds that are as narrow as asked at all states; None if they could not be proved."""
    t = process.flat.tables
    start, source = transposed(t.transition_start[t.action_start], process.edge, t.n_vertices)
    action = t.action_start[:-1].copy()
    if process.greatest:
        goal = np.zeros(t.n_vertices, np.bool_)
        goal[process.owner[process.gain > 0]] = True
        order, after = led_by(start, source, np.flatnonzero(goal))
    else:
        paying, idle = _surely_paying(process)
        action[process.owner[idle]] = idle
        order, after = led_by(start, source, np.flatnonzero(~paying))
        order = order[paying[order]]
        if len(order) < np.count_nonzero(paying):
            return None
    if len(order) == 0:
        return None
    count, label = blocks_of_reversed(start, source)
    first, place = grouped(label[order], count)
    _approach(process, after, action)
    search = _Search(process, order[place], first, action)
    return search.bounds(epsilon) if search.improve(epsilon) else None


def _approach(process: Process, after: Ints, action: Ints) -> None:
    """Enter actions that may lead to the next vertex of each, or gain."""
    hits = np.flatnonzero(process.edge == after[process.place])
    action[process.place[hits]] = process.action[hits]
    if process.greatest:
        gaining = np.flatnonzero(process.gain > 0)
        action[process.owner[gaining]] = gaining


def _surely_paying(process: Process) -> tuple[Mask, Indices]:
    """States in which every policy pays something, sooner or later, with some probability.

    And actions of the others that keep away from them.

    A state with one action is one if a successor is. Of the others, each action leads into the set
    or pays; they are looked at again whenever searches from the new ones among them are through.
    Where that takes many rounds, what is left is looked at state by state.
    """
    t, gains = process.flat.tables, process.gain > 0
    n, acting = t.n_vertices, np.flatnonzero(t.states)
    single = np.diff(t.action_start) == 1
    begins = t.action_start[acting]
    start, action = transposed(t.transition_start, process.edge, n)
    # Actions of states with several are vertices of their own, from which nothing leads on.
    node = np.where(
        single[process.owner], process.owner, n + np.arange(t.n_actions, dtype=np.int32)
    )[action]
    start = np.append(start, np.full(t.n_actions, start[-1], np.int32))
    found = np.zeros(n + t.n_actions, np.bool_)
    found[n:] = gains
    new = acting[np.logical_and.reduceat(gains, begins)]
    for _ in range(_SEARCHES):
        check_time()
        if len(new) == 0:
            break
        found[led_by(start, node, new)[0]] = True
        every = np.logical_and.reduceat(found[n:], begins)
        new = acting[every & ~found[acting] & ~single[acting]]
    if len(new):
        left = np.bincount(process.owner, ~found[n:], n).astype(np.int64)
        left[single] = 1
        _one_by_one(new.tolist(), start, action, process.owner, left, found)
    return found[:n], np.flatnonzero(~found[n:])


def _one_by_one(
    new: list[int], start: Ints, action: Ints, owner: Ints, left: Indices, found: Mask
) -> None:
    """Take in new states, and what leads to them by the last of its actions that did not."""
    first, leading, place = start.tolist(), action.tolist(), owner[action].tolist()
    seen, missing, n = found.tolist(), left.tolist(), len(left)
    for state in new:
        seen[state] = True
    while new:
        state = new.pop()
        for k in range(first[state], first[state + 1]):
            a, before = leading[k], place[k]
            if seen[before] or seen[n + a]:
                continue
            seen[n + a] = True
            missing[before] -= 1
            if missing[before] == 0:
                seen[before] = True
                new.append(before)
    found[:] = seen


class _Search:
    """Policy iteration on the rows of a process.

    Args:
        process: The process.
        vertex: Vertex of each row, block by block.
        first: First row of each block of vertices, which may be empty; and one more.
        action: First action to try of each vertex.
    """

    def __init__(self, process: Process, vertex: Ints, first: Ints, action: Ints) -> None:
        t, n = process.flat.tables, len(vertex)
        self.process, self.vertex, self.action = process, vertex, action
        row = np.full(t.n_vertices, -1, np.int32)
        row[vertex] = np.arange(n, dtype=np.int32)
        begin = t.action_start[vertex]
        self.count = t.action_start[vertex + 1] - begin
        start = np.zeros(n + 1, np.int32)
        np.cumsum(self.count, out=start[1:])
        self.row = np.repeat(np.arange(n, dtype=np.int32), self.count)
        source = (begin - start[:-1])[self.row] + np.arange(start[-1], dtype=np.int32)
        column = row[process.edge]
        column[process.prob <= 0.0] = -1
        matrix = lines_of(t.transition_start, source, column, process.prob, n)
        size = t.transition_start[source + 1] - t.transition_start[source]
        self.error = (4 * size + 16) * UNIT
        self.equations = Equations(start, matrix, source, self.error, first, vertex, row)
        self.gain = process.gain[source] if process.greatest else -process.gain[source]
        self.free, self.scaled = self.equations, np.ones((2, len(source)))
        if (process.target == process.place).any():
            self.free, scale = self.equations.without_loops()
            self.scaled *= scale
        self.scaled[0] *= self.gain
        self.choice = start[:-1] + (action[vertex] - begin)
        self.cap = math.inf if process.pays else float(process.worth.max())
        self.blocks = first if fills_little(first) else None
        self.x = self.steps = np.zeros(0)
        self.work: dict[str, float] = {"policies": 0}

    def evaluate(self, choice: Ints) -> bool:
        """Values and steps of a policy; whether it ends, as far as floats can tell."""
        self.work["policies"] += 1
        lines = chosen_lines(self.free.matrix, choice)
        found = solve(lines, self.scaled[:, choice].T, block_start=self.blocks)
        if found is None:
            return False
        self.x, self.steps = np.ascontiguousarray(found.T)
        return bool(self.steps.min() >= 0.5 and self.steps.max() < 1e12)

    def improve(self, epsilon: float) -> bool:
        """Switch to better actions until there are none; whether that was achieved."""
        begins = self.equations.action_start[:-1]
        for _ in range(_ROUNDS):
            check_time()
            if not self.evaluate(self.choice):
                return False
            if len(self.row) == len(self.count):
                return True
            x, switched = self.x, False
            least = max(
                _SHARE * epsilon / float(self.steps.max()), 16 * UNIT * float(np.abs(x).max())
            )
            for _ in range(_BETWEEN):
                value = self.scaled[0] + self.free.matrix @ x
                best = np.maximum.reduceat(value, begins)
                better = best > value[self.choice] + least
                if not better.any():
                    break
                switched, x = True, best
                hits = np.flatnonzero((value == best[self.row]) & better[self.row])
                self.choice[self.row[hits]] = hits
            if not switched:
                return True
        return False

    def bounds(self, epsilon: float) -> QuickBounds | None:
        """Bounds that are proved and narrow at the start; None if there are none."""
        matrix, x, steps = self.equations.matrix, self.x, self.steps
        size = 2 * float(np.abs(x).max()) + self.process.largest
        value = self.gain + matrix @ x - x[self.row]
        doubt = 4 * size * self.error
        slack = self._slack(steps)
        low = self._own_actions(value - doubt, slack)
        found = None if low is None else self._all_actions(x, value + doubt, slack)
        if low is None or found is None:
            return None
        if self.process.greatest:
            lower, upper, progress = low, found[0], steps
        else:
            lower, upper, progress = 0.0 - found[0], 0.0 - low, found[1]
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, self.cap)
        row = self.equations.row[self.process.flat.tables.starts]
        if not np.where(row >= 0, (upper - lower)[row], 0.0).max() <= epsilon:
            return None
        self.action[self.vertex] = self.equations.source[self.choice]
        return QuickBounds(self.vertex, lower, upper, self.action, progress, self.work)

    def _slack(self, steps: Floats) -> Floats:
        """By how much steps surely fall along each action."""
        slack: Floats = steps[self.row] - self.equations.matrix @ steps
        slack -= 2 * float(steps.max()) * self.error
        return slack

    def _room(self, x: Floats) -> Floats:
        """By how much x surely is above the value of each action."""
        doubt = (2 * float(np.abs(x).max()) + self.process.largest) * self.error
        room: Floats = x[self.row] - (self.gain + (self.equations.matrix @ x)) - doubt
        return room

    def _own_actions(self, value: Floats, slack: Floats) -> Floats | None:
        """A lower bound of what the policy attains, by what its actions lack at most."""
        slack = slack[self.choice]
        if not slack.min() > _FALL:
            return None
        short = -float((value[self.choice] / slack).min())
        low = self.x - 1.01 * max(short, 0.0) * self.steps
        low = low if self.process.greatest else np.minimum(low, 0.0)
        doubt = (2 * float(np.abs(low).max()) + self.process.largest) * self.error
        gain = self.gain - doubt + self.equations.matrix @ low
        return low if (gain[self.choice] >= low).all() else None

    def _all_actions(
        self, x: Floats, excess: Floats, slack: Floats
    ) -> tuple[Floats, Floats] | None:
        """An upper bound for all actions, and the steps that it was made of."""
        choice = self.choice
        for _ in range(_TRIES):
            d = self.steps
            # The least t by the actions along which steps fall; the others must fit.
            t = 1.01 * max(float((excess / np.maximum(slack, _FALL)).max()), 0.0)
            high = x + t * d
            bad = excess > t * slack
            if self.process.greatest:
                bad &= (high < self.cap)[self.row]
            else:
                most = 2.0 * float((np.abs(x) / d).max())
                bad |= (slack <= 0.0) & (most * slack <= 0.5 * excess)
            hits = np.flatnonzero(bad)
            if len(hits) == 0:
                return (high, d) if self._holds(high, slack) else None
            choice = choice.copy() if choice is self.choice else choice
            hits = hits[np.argsort(-slack[hits], kind="stable")]
            choice[self.row[hits]] = hits
            if not self.evaluate(choice):
                return None
            slack = self._slack(self.steps)
        return None

    def _holds(self, high: Floats, slack: Floats) -> bool:
        """Whether a bound holds by all actions with rounding counted, once it is cut off."""
        if self.process.greatest:
            np.clip(high, 0.0, self.cap, out=high)
            return bool(((self._room(high) >= 0.0) | (high == self.cap)[self.row]).all())
        np.minimum(high, 0.0, out=high)
        most = 1.01 * float((np.abs(high) / self.steps).max())
        room = self._room(high)
        falls = (slack > 0.0) | (most * -slack < room)
        return bool((((room >= 0.0) & falls) | (high == 0.0)[self.row]).all())
