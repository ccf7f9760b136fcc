"""Plans: value iteration in the contexts that runs come to, from one plan to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recurl.learn.model_based.contexts import Context
from recurl.learn.model_based.world import World
from recurl.model.tables import Floats

if TYPE_CHECKING:
    from recurl.learn.model_based.contexts import Beliefs
    from recurl.learn.model_based.counts import OutcomeCounts
    from recurl.learn.model_based.world import Index, Part


@dataclass(eq=False, slots=True)
class Sheet:
    """The contexts of a component: a column each.

    Attributes:
        part: The component.
        contexts: Its contexts.
        worth: Worth of exits, of the best, and of the unknown. ``[contexts, exits + 2]``
        values: Values of the states. ``[states, contexts]``
        called: Context of the callee that each box enters. ``[boxes, contexts]``
    """

    part: Part
    contexts: list[Context]
    worth: Floats
    values: Floats
    called: Index


class Sweeps:
    """Steps of value iteration in all contexts of all components at once.

    Args:
        world: The components.
        sheets: Their contexts, with the values to begin with.
        beliefs: What is believed beyond the counts.
    """

    def __init__(self, world: World, sheets: list[Sheet], beliefs: Beliefs) -> None:
        self.world, self.sheets, self.beliefs = world, sheets, beliefs
        most = max(1, *(len(sheet.contexts) for sheet in sheets))
        self.values = np.zeros((world.width, most))
        called = np.zeros((len(world.call_entry), most), np.int64)
        known = np.zeros((len(sheets), most, world.exit_index.shape[1]))
        for c, sheet in enumerate(sheets):
            part, n = sheet.part, len(sheet.contexts)
            self.values[part.own_states, :n] = sheet.values
            self.values[part.own_exits, :n] = sheet.worth.T
            called[part.own_calls, :n] = sheet.called[part.call_box]
            known[c, :n] = sheet.worth[:, world.exit_index[c]]
        self._into = world.call_entry[:, None], called
        self._known = known[world.call_callee[:, None], called]
        self._call()

    def _call(self) -> None:
        """Values of calls: those of the contexts that they enter, shifted with the exits."""
        values, first = self.values, len(self.world.begin)
        worth = self.beliefs.extended(values[self.world.call_returns].transpose(0, 2, 1))
        shift = self.beliefs.shift(worth, self._known)
        values[first : first + len(worth)] = values[self._into] + shift

    def _earned(self) -> tuple[Floats, Floats]:
        """Worth of each pair, and of the best of each state, in each context."""
        earned = self.world.matrix @ self.values + self.world.gain[:, None]
        return earned, np.maximum.reduceat(earned, self.world.begin)

    def run(self, sweeps: int) -> None:
        """Take some steps; the sheets get the values."""
        for _ in range(sweeps):
            self.values[: len(self.world.begin)] = self._earned()[1]
            self._call()
        for sheet in self.sheets:
            sheet.values = self.values[sheet.part.own_states, : len(sheet.contexts)]

    def greedy_boxes(self) -> list[np.ndarray]:
        """Which boxes the best actions may call, by component. ``[boxes, contexts]`` each."""
        earned, best = self._earned()
        sizes = np.diff(np.append(self.world.begin, len(earned)))
        greedy = earned >= best.repeat(sizes, axis=0) - 1e-9
        found = (self.world.calling.T @ greedy.astype(float)) > 0
        return [found[sheet.part.own_boxes] for sheet in self.sheets]


class Planner:
    """A plan in what the counts show, over contexts that are kept from plan to plan.

    A call through a box enters a context of its own, at the exit values that the caller has for
    it, if runs come there, or if no more than a few unusual calls lead there. Other calls take the
    nearest context, and a lower bound. All contexts go through steps of value iteration at once.

    Args:
        beliefs: What is believed beyond the counts.
        most: Most contexts of a component.
        aside: Unusual calls in a row that still have contexts of their own.

    Attributes:
        contexts: The contexts, that of the start first.
    """

    def __init__(self, beliefs: Beliefs, *, most: int, aside: int) -> None:
        self.beliefs, self.most, self.aside = beliefs, most, aside
        self.contexts: list[Context] = []

    @property
    def root(self) -> Context:
        """The context of a run with no call pending."""
        return self.contexts[0]

    def begin(self, state: int) -> None:
        """Begin with a start, of which nothing is known."""
        self.contexts = [Context(state, self.beliefs.extended(np.zeros(1)).tolist())]

    def enter(self, context: Context, box: int, after: tuple[int, ...], entry: int) -> Context:
        """The context that a call enters, new if the last plan had none."""
        child = context.children.get(box)
        if child is None:
            child = context.children[box] = self.beliefs.enter(context, after, entry)
            self.contexts.append(child)
        return child

    def plan(self, counts: OutcomeCounts, rounds: int, sweeps: int, tolerance: float = 0.0) -> None:
        """Plan in rounds: contexts are found, then values go through some steps.

        Args:
            counts: What was observed.
            rounds: Most rounds.
            sweeps: Steps of value iteration in each.
            tolerance: Change of values within a round that ends the plan.
        """
        beliefs = self.beliefs
        rates = (beliefs.prior, beliefs.gamma)
        world = World(counts, *rates, beliefs.estimate, beliefs.box_gamma)
        sheets = self._load(world)
        for _ in range(rounds):
            before = [sheet.values for sheet in sheets]
            sheets = _Search(self, world, sheets).sheets()
            steps = Sweeps(world, sheets, beliefs)
            steps.run(sweeps)
            pairs = zip(before, sheets, strict=True)
            if all(_alike(old, sheet.values, tolerance) for old, sheet in pairs):
                break
        self._store(sheets)

    def _load(self, world: World) -> list[Sheet]:
        """The contexts as they stand after the last plan and the steps since."""
        members: list[list[Context]] = [[] for _ in world.parts]
        column: dict[int, int] = {}
        for context in self.contexts:
            own = members[world.component[context.state]]
            column[id(context)] = len(own)
            own.append(context)
        pairs = zip(world.parts, members, strict=True)
        return [_sheet(world, part, contexts, column) for part, contexts in pairs]

    def _store(self, sheets: list[Sheet]) -> None:
        root = self.root
        self.contexts = [root]
        for sheet in sheets:
            states = sheet.part.states.tolist()
            columns = zip(
                sheet.contexts, sheet.worth.tolist(), sheet.values.T.tolist(), strict=True
            )
            for context, worth, values in columns:
                context.state, context.worth, context.visited = states[0], worth, False
                context.values = dict(zip(states, values, strict=True))
                if context is not root:
                    self.contexts.append(context)


def _sheet(world: World, part: Part, contexts: list[Context], column: dict[int, int]) -> Sheet:
    """Contexts as columns; states that are new to them are unknown."""
    n, width = len(contexts), part.exits + 2
    values, worth = np.zeros((len(part.states), n)), np.zeros((n, width))
    called = np.zeros((len(part.boxes), n), np.int64)
    for j, context in enumerate(contexts):
        worth[j] = _fitted(np.array(context.worth), width)
        values[:, j] = context.worth[-1]
        known = np.fromiter(context.values.keys(), np.int64, len(context.values))
        values[world.place[known], j] = list(context.values.values())
        children = map(context.children.get, part.boxes.tolist())
        called[:, j] = [column.get(id(child), 0) for child in children]
    return Sheet(part, contexts, worth, values, called)


def _fitted(worth: Floats, width: int) -> Floats:
    """Exit values for more exits than there were; new ones are like the best."""
    more = np.repeat(worth[-2], max(width - len(worth), 0))
    return np.concatenate([worth[: width - 2][: len(worth) - 2], more, worth[-2:]])


def _alike(one: Floats, other: Floats, tolerance: float) -> bool:
    return one.shape == other.shape and float(np.abs(one - other).max(initial=0.0)) <= tolerance


class _Search:
    """The search for contexts: from the root, through all calls of those that runs come to."""

    def __init__(self, planner: Planner, world: World, old: list[Sheet]) -> None:
        self.planner, self.beliefs = planner, planner.beliefs
        self.world, self.old = world, old
        self.column = {id(x): j for sheet in old for j, x in enumerate(sheet.contexts)}
        self.greedy = Sweeps(world, old, self.beliefs).greedy_boxes()
        self.kept: list[list[Context]] = [[] for _ in old]
        self.used: set[int] = set()
        self.taken: list[list[Floats]] = [[] for _ in old]
        self.worth = [np.empty((planner.most, sheet.part.exits + 2)) for sheet in old]
        self.entered: dict[tuple[int, int], list[int]] = {}
        self._run()

    def _run(self) -> None:
        root = self.planner.root
        c = int(self.world.component[root.state])
        self._keep(c, root, self.beliefs.extended(np.zeros(self.world.parts[c].exits)))
        levels: list[list[tuple[int, int]]] = [[] for _ in range(self.planner.aside + 1)]
        levels[0].append((c, 0))
        for depth, level in enumerate(levels):
            for place in level:  # grows
                if place not in self.entered:
                    for deeper, called in self._followed(*place, depth):
                        levels[deeper].append(called)
        for c, part in enumerate(self.world.parts):
            self._fill(c, part)

    def _followed(self, c: int, i: int, depth: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Contexts that the calls of a context enter, with the unusual calls on the way there."""
        column = self.column.get(id(self.kept[c][i]))
        for b, (d, j) in enumerate(self._calls(c, i)):
            comes = self.kept[d][j].visited or (column is not None and self.greedy[c][b, column])
            deeper = depth + (not comes)
            if deeper <= self.planner.aside:
                yield deeper, (d, j)

    def _calls(self, c: int, i: int) -> list[tuple[int, int]]:
        """The contexts that the calls of a context enter, one of their own each."""
        part, children = self.world.parts[c], self.kept[c][i].children
        entered = np.zeros(len(part.boxes), np.int64)
        for d, boxes in part.boxes_by_callee:
            worth, known = self._exits_of(c, i, boxes, d), len(self.kept[d])
            entered[boxes], near = self._same(d, worth)
            for b, w, old in zip(boxes.tolist(), worth, near.tolist(), strict=True):
                if entered[b] < 0:
                    child = children.get(int(part.boxes[b]))
                    latest = len(self.kept[d]) == known
                    entered[b] = self._new(d, w, child, old) if latest else self._claim(d, w, child)
        self.entered[c, i] = entered.tolist()
        return list(zip(part.callee.tolist(), self.entered[c, i], strict=True))

    def _exits_of(self, c: int, i: int, boxes: Index, d: int) -> Floats:
        """Exit values of some boxes of a context that call the same component."""
        returns = self.world.parts[c].returns[boxes][:, : self.world.parts[d].exits]
        return self.beliefs.extended(self.taken[c][i][returns])

    def _same(self, d: int, worth: Floats) -> tuple[Index, Index]:
        """The context that each of some vectors belongs to, or -1; and the nearest one, or -1.

        Where there are as many contexts as there may be, a vector belongs to the nearest.
        """
        if not self.kept[d]:
            none = np.full(len(worth), -1)
            return none, none
        near, span = self._nearest(d, worth)
        if len(self.kept[d]) >= self.planner.most:
            return near, near
        return np.where(span <= self.beliefs.tolerance(worth), near, -1), near

    def _nearest(self, d: int, worth: Floats) -> tuple[Index, Floats]:
        span = self.beliefs.size(worth[:, None] - self.worth[d][: len(self.kept[d])])
        near = span.argmin(axis=1)
        return near, span[np.arange(len(near)), near]

    def _claim(self, d: int, w: Floats, child: Context | None) -> int:
        """The context that a vector belongs to, new if there is none."""
        found, near = self._same(d, w[None])
        return self._new(d, w, child, int(near[0])) if found[0] < 0 else int(found[0])

    def _new(self, d: int, w: Floats, child: Context | None, near: int) -> int:
        """A context of its own for a vector, like the nearest one, if it is given."""
        if child is None or id(child) in self.used or self.world.component[child.state] != d:
            child = Context(int(self.world.parts[d].states[0]), w.tolist())
        return self._keep(d, child, w, near)

    def _keep(self, d: int, context: Context, w: Floats, near: int = -1) -> int:
        column, old = self.column.get(id(context)), self.old[d]
        if column is not None:
            taken = old.values[:, column]
        elif near >= 0:
            taken = self.taken[d][near] + self.beliefs.shift(w, self.worth[d][near])
        elif old.contexts:
            taken = old.values[:, 0] + self.beliefs.shift(w, old.worth[0])
        else:
            taken = np.full(len(self.world.parts[d].states), w[-1])
        self.used.add(id(context))
        self.kept[d].append(context)
        self.taken[d].append(taken)
        self.worth[d][len(self.kept[d]) - 1] = w
        return len(self.kept[d]) - 1

    def _fill(self, c: int, part: Part) -> None:
        """Contexts for components that have none, but are called."""
        for b, d in enumerate(part.callee.tolist()):
            if self.kept[c] and not self.kept[d]:
                self._claim(d, self._exits_of(c, 0, np.array([b]), d)[0], None)
                self._fill(d, self.world.parts[d])

    def sheets(self) -> list[Sheet]:
        """The contexts that were found, connected by calls."""
        made = []
        for c, part in enumerate(self.world.parts):
            n = len(self.kept[c])
            values = np.empty((len(part.states), n))
            for j, own in enumerate(self.taken[c]):
                values[:, j] = own
            called = self._connect(c, part)
            made.append(Sheet(part, self.kept[c], self.worth[c][:n], values, called))
        return made

    def _connect(self, c: int, part: Part) -> Index:
        called = np.zeros((len(part.boxes), len(self.kept[c])), np.int64)
        for i, context in enumerate(self.kept[c]):
            if (c, i) in self.entered:
                called[:, i] = self.entered[c, i]
            else:
                for d, own in part.boxes_by_callee:
                    called[own, i] = self._nearest(d, self._exits_of(c, i, own, d))[0]
            columns = (part.boxes.tolist(), part.callee.tolist(), called[:, i].tolist())
            context.children = {b: self.kept[d][j] for b, d, j in zip(*columns, strict=True)}
        return called
