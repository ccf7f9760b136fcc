"""The upper bound at a set of points: the least values that all inequalities allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.model.tables import Floats
from recurl.solving.certified.linear import Inverses, fixed_point

if TYPE_CHECKING:
    from recurl.solving.certified.contexts import Contexts

Mix = list[tuple[int, float]]
"""Contexts of a component with their weights."""


@dataclass(eq=False)
class Links:
    """The parts of an upper bound: the best actions, and the contexts that bound each call.

    Attributes:
        contexts: The contexts.
        target: What the values lead to: F of them, by slot.
        action: Best actions by component, counted within it. ``[states, X]`` each
        nodes: Contexts that bound each call, -1 in unused places. ``[calls, J]``
        weights: Their convex weights.
        share: How a call's bound moves with the worth of each return port. ``[calls, K]``
    """

    contexts: Contexts
    target: Floats
    action: list[np.ndarray]
    nodes: np.ndarray
    weights: Floats
    share: Floats

    @classmethod
    def of(cls, contexts: Contexts, values: Floats, hints: list[np.ndarray]) -> Links:
        """Apply F to values; ``hints`` say where calls were found before (see `no_hints`)."""
        target = values.copy()
        action = []
        for c, part in enumerate(contexts.parts):
            earned, best = part.earned(contexts.view(values, c))
            contexts.view(target, c)[part.states] = best
            action.append(part.first_best(earned, best))
        calls = int(contexts.call_base[-1])
        corners = max(points.corners for points in contexts.points)
        nodes = np.full((calls, corners), -1)
        weights = np.zeros((calls, corners))
        share = np.zeros((calls, contexts.problem.tables.max_exits))
        bounds = np.empty(calls)
        for c, group in enumerate(contexts.groups):
            if len(group.calls) == 0:
                continue
            points, entries = contexts.points[c], contexts.parts[c].entries
            u = contexts.view(values, c)[:entries].T
            found = points.bound(u, values[group.returns], hints[c])
            bounds[group.calls] = found.value
            nodes[group.calls, : points.corners] = found.nodes
            weights[group.calls, : points.corners] = found.weights
            share[group.calls, : found.share.shape[2]] = found.share
        target[contexts.call_slots] = bounds
        return cls(contexts, target, action, nodes, weights, share)

    @cached_property
    def heaviest(self) -> np.ndarray:
        """The context with the greatest weight at each call."""
        chosen: np.ndarray = self.nodes[np.arange(len(self.nodes)), self.weights.argmax(axis=1)]
        return chosen

    @cached_property
    def matrix(self) -> Any:
        """The weights of entries at calls."""
        return self.contexts.matrix(self.nodes, self.weights)

    def follow(self, values: Floats) -> Floats:
        """Expectation of values after one move, calls returning as their bounds move; 0 at exits.

        ``[slots, n]``
        """
        ctx = self.contexts
        out = np.zeros_like(values)
        for c, part in enumerate(ctx.parts):
            own = ctx.view(values, c)
            moved = part.expected(own)
            ctx.view(out, c)[part.states] = np.take_along_axis(
                moved, self.action[c][:, :, None], axis=0
            )
        out[ctx.call_slots] = np.einsum("cj,cjk->ck", self.share, values[ctx.call_returns])
        return out

    def update(
        self, inverses: Inverses, which: list[np.ndarray], same: float | None = None
    ) -> None:
        """See `Step.update`; ``same`` is how far shares may be from those of the inverses."""
        for c, own in enumerate(which):
            share = self.contexts.view_calls(self.share, c)
            inverses.update(c, own, self.action[c], share, same)

    def correction(self, inverses: Inverses, residual: Floats) -> Floats:
        """See `Step.correction`."""
        return inverses.correction(residual, self.matrix)


def no_hints(contexts: Contexts) -> list[np.ndarray]:
    """Nothing known yet of where the calls of all components are found."""
    pairs = zip(contexts.points, contexts.groups, strict=True)
    return [points.no_hint(*group.calls.shape) for points, group in pairs]


@dataclass(eq=False)
class Upper:
    """An upper bound: points whose values satisfy the inequalities up to some excess.

    Attributes:
        contexts: The contexts.
        values: Upper values by slot.
        links: What they are made of.
        excess: The most by which an inequality fails at a point that the start leads to.
        found: Whether they are a fixed point.
        residual: How far they are from one.
        inverses: Of the last steps of Newton's method, if there were some.
    """

    contexts: Contexts
    values: Floats
    links: Links
    excess: float
    found: bool = True
    residual: float = np.inf
    inverses: Inverses | None = None

    @classmethod
    def of(cls, contexts: Contexts, values: Floats, links: Links | None = None) -> Upper:
        """Take values as they are, and see by how much they fail where the start leads."""
        links = links or Links.of(contexts, values, no_hints(contexts))
        upper = cls(contexts, values, links, 0.0)
        upper.excess = upper.excess_at(upper.used)
        return upper

    @property
    def entries(self) -> Floats:
        """Values of the entries, by entry number."""
        values: Floats = self.values[self.contexts.entry_slots]
        return values

    def excess_at(self, used: list[np.ndarray]) -> float:
        """The most by which an inequality fails at contexts that lead to no others; rounded up."""
        fails, worst, largest = self.links.target - self.values, 0.0, self.contexts.problem.size
        for c, own in enumerate(used):
            worst = max(worst, float(self.contexts.view(fails, c)[:, own].max(initial=0.0)))
            values = self.contexts.view(self.values, c)[:, own]
            largest = max(largest, float(np.abs(values).max(initial=1.0)))
        terms = max(part.longest for part in self.contexts.parts) + 8
        return worst + max(2e-14, terms * 2.3e-16) * largest

    def raised(self, component: int, which: np.ndarray, excess: float | None = None) -> Floats:
        """Values of some contexts raised, exits included, so that nothing fails any more.

        By its own excess, if no other is given; see `Problem.raised`. ``[vertices, which]``
        """
        ctx = self.contexts
        values = ctx.view(self.values, component)[:, which]
        return ctx.problem.raised(component, values, self.excess if excess is None else excess)

    @cached_property
    def used(self) -> list[np.ndarray]:
        """Contexts of each component that the start leads to: nothing rests on the others."""
        return self.reached((c, x) for c, mix in self.start_mixes() for x, _ in mix)

    def reached(self, start: Iterable[tuple[int, int]]) -> list[np.ndarray]:
        """Contexts of each component that calls lead to from some."""
        ctx, nodes = self.contexts, self.links.nodes
        seen = [np.zeros(n, bool) for n in ctx.count]
        new = [np.zeros(n, bool) for n in ctx.count]
        for c, x in start:
            new[c][x] = True
        while any(own.any() for own in new):
            for mask, own in zip(seen, new, strict=True):
                mask |= own
            calls = np.concatenate(
                [
                    ctx.view_calls(np.arange(len(nodes)), c)[:, own].ravel()
                    for c, own in enumerate(new)
                ]
            )
            new = [np.zeros(n, bool) for n in ctx.count]
            for c, own in enumerate(new):
                found = nodes[calls[ctx.call_callee[calls] == c]]
                own[found[found >= 0]] = True
                own &= ~seen[c]
        return [np.flatnonzero(mask) for mask in seen]

    def start_mixes(self) -> list[tuple[int, Mix]]:
        """The start component with the mix of points that bounds each of its entries."""
        c = self.contexts.problem.start
        bound = self._at_root()
        pairs = zip(bound.nodes[0].tolist(), bound.weights[0].tolist(), strict=True)
        mixes = (zip(*pair, strict=True) for pair in pairs)
        return [(c, [(x, w) for x, w in mix if x >= 0]) for mix in mixes]

    def _at_root(self) -> Any:
        problem = self.contexts.problem
        c = problem.start
        u = self.contexts.view(self.values, c)[: problem.components[c].entries].T
        return self.contexts.points[c].bound(u, problem.root[None, :])

    def start(self) -> float:
        """The bound that is proved on the start, the excess included."""
        problem = self.contexts.problem
        c, entries = problem.start, slice(0, len(problem.tables.start_prob))
        value: Floats = self._at_root().value[0]
        if problem.potential is None:
            value = value + self.excess * problem.own_steps(c)[entries]
        else:
            anchor, h = problem.crude(c)
            share = self.excess / (problem.potential.cost + self.excess)
            value = value + share * (h[entries] + (problem.root - anchor).max() - value)
        return float(problem.tables.start_prob @ value)


def residual_for(contexts: Contexts, slack: float) -> float:
    """The residual that a slack allows."""
    return 0.3 * slack * max(1.0, contexts.problem.size)


def upper_bound(
    contexts: Contexts, start: Floats, slack: float, inverses: Inverses | None = None
) -> Upper:
    """A fixed point of the upper operator on all points, from given values.

    Without inverses of a similar bound, Newton's method has exact ones at every step: from below it
    then comes to the least fixed point.
    """
    exact = {} if inverses else {"trusted": 0.0, "stale": 0.0}
    hints = no_hints(contexts)
    inverses = inverses or Inverses(contexts)
    rest = fixed_point(
        contexts,
        lambda values: Links.of(contexts, values, hints),
        contexts.with_exits(start.copy()),
        residual_for(contexts, slack),
        inverses,
        **exact,
    )
    upper = Upper.of(contexts, rest.values, rest.step)
    upper.found, upper.residual, upper.inverses = rest.found, rest.residual, inverses
    return upper
