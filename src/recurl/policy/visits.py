"""How often a run gets to each place: exactly by linear systems, or from sampled runs.

With e(f, k) the probability that frame f is left by exit k, a frame is a finite Markov chain in
which a call goes on behind exit k with probability e(callee, k). The probabilities e are the least
solution of these equations: Newton's method from 0 finds them for frames that call each other, and
callees come before their callers. The expected visits then solve one linear system over all places:
what is visited at the start, after a step, as the entry of a call, and behind it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from recurl.linear.systems import factors
from recurl.model.outcomes import running_sums
from recurl.model.tables import Floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recurl.policy.reached import Reached

MOST_EXACT = 20_000
"""Places up to which visits are computed exactly."""

MOST_UNKNOWNS = 1000
"""Frames that call each other, times exits, up to which visits are computed exactly."""

ITERATIONS = 100
"""Steps of Newton's method after which exact visits are given up."""

RUNS, STEPS = 1000, 5000
"""Runs that are sampled, and steps after which they are cut."""

PRECISION = 1e-13


class Count(NamedTuple):
    """Visits per run.

    Attributes:
        mean: The mean; exact if there is no margin.
        margin: Two standard errors of a sampled mean; None if it is exact.

    Example:
        >>> str(Count(0.25)), str(Count(12.3456, 0.5))
        ('0.25', '12.35 ± 0.5')
    """

    mean: float
    margin: float | None = None

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {self.margin:.2g}"
        return f"{self.mean:.4g}{margin}"


class Visits:
    """Expected visits of a run to places.

    Args:
        reached: The places.
        exact: Places up to which visits are computed exactly.
        seed: Seed of sampled runs.

    Attributes:
        sampled: Whether the numbers come from sampled runs, and not from equations.
        cut: Share of the sampled runs that were cut.

    Example:
        >>> import recurl
        >>> from recurl.policy.reached import Reached
        >>> policy = recurl.Policy.uniform(recurl.zoo.gambler(p=0.25))
        >>> visits = Visits(Reached(policy))
        >>> str(visits.at([0]))  # a walk calls itself half a time on average
        '2'
    """

    def __init__(self, reached: Reached, exact: int = MOST_EXACT, seed: int = 0) -> None:
        self._exact = _expected(reached) if len(reached.slot) <= exact else None
        self.sampled, self.cut = self._exact is None, 0.0
        if self.sampled:
            run, place, self.cut = _Sampling(reached, seed).run()
            shape = (RUNS, len(reached.slot))
            self._counts = sparse.csc_array((np.ones(len(run)), (run, place)), shape)

    @property
    def means(self) -> Floats:
        """Mean visits to each place."""
        if self._exact is not None:
            return self._exact
        means: Floats = self._counts.sum(axis=0) / RUNS
        return means

    def at(self, places: Sequence[int]) -> Count:
        """Visits to any of some places together."""
        if self._exact is not None:
            return Count(float(self._exact[np.asarray(places, int)].sum()))
        counts = np.zeros(RUNS)
        for place in places:
            own = slice(*self._counts.indptr[place : place + 2])
            counts[self._counts.indices[own]] += self._counts.data[own]
        return Count(float(counts.mean()), float(2 * counts.std(ddof=1) / math.sqrt(RUNS)))


def _expected(reached: Reached) -> Floats | None:
    """Expected visits of each place; None where they are not finite, or too costly to find."""
    leaving = _Leaving(reached).solve()
    if leaving is None:
        return None
    rows, columns, weights = _transposed(reached, leaving)
    size = len(reached.slot)
    system = factors(sparse.csr_array((weights, (rows, columns)), (size, size)))
    if system is None:
        return None
    start = np.zeros(size)
    for place, prob in reached.starts:
        start[place] += prob
    visits: Floats = system.solve(start, trans="T")
    # Only if runs end in finitely many steps on average is there a solution that is nowhere
    # negative. Every place can be visited, so that none is really 0.
    good = np.isfinite(visits).all() and visits.min() >= 0 and visits.max() * PRECISION < 1e-3
    return visits if good else None


def _transposed(reached: Reached, leaving: list[dict[int, float]]) -> tuple[list[int], ...]:
    """Sources, targets and weights of everything that leads from place to place."""
    edges = list(reached.steps)
    for call in reached.calls:
        frame = reached.frame[call.place]
        entry = reached.place(call.frame, reached.entry[call.frame])
        edges.append((call.place, entry, call.prob))
        for k, chance in leaving[call.frame].items():
            edges.append((call.place, reached.place(frame, call.back + k), call.prob * chance))
    return tuple(map(list, zip(*edges, strict=True))) if edges else ([], [], [])


class _Leaving:
    """The probabilities to leave each frame by each exit."""

    def __init__(self, reached: Reached) -> None:
        self.reached = reached
        self.found: list[dict[int, float]] = [{} for _ in reached.entry]
        frames = np.array(reached.frame)
        ends = [(frames[call.place], call.frame) for call in reached.calls]
        rows, columns = np.array(ends, int).reshape(-1, 2).T
        size = len(reached.entry)
        graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), (size, size))
        self.count, self.block = connected_components(graph, connection="strong")
        self.callees: dict[int, set[int]] = defaultdict(set)
        for caller, callee in zip(
            self.block[rows].tolist(), self.block[columns].tolist(), strict=True
        ):
            self.callees[caller].add(callee)
        self.places = _grouped(self.block[frames].tolist(), self.count)
        self.frames = _grouped(self.block.tolist(), self.count)
        self.steps = _grouped([self._block(s) for s, _, _ in reached.steps], self.count)
        self.leaves = _grouped([self._block(s) for s, _, _ in reached.leaves], self.count)
        self.calls = _grouped([self._block(c.place) for c in reached.calls], self.count)

    def _block(self, place: int) -> int:
        return int(self.block[self.reached.frame[place]])

    def solve(self) -> list[dict[int, float]] | None:
        """Probabilities by frame and exit; None if it takes too long."""
        done: set[int] = set()
        for root in range(self.count):
            stack = [root]
            while stack:
                missing = self.callees[stack[-1]] - done - {stack[-1]}
                if missing:
                    stack.append(min(missing))
                    continue
                block = stack.pop()
                if block not in done and not self._settle(block):
                    return None
                done.add(block)
        return self.found

    def _settle(self, block: int) -> bool:
        """Find the probabilities of the frames of a block, from 0 until nothing changes."""
        equations = _Equations(self, block)
        before = np.zeros((len(self.frames[block]), equations.width))
        if equations.recursive and before.size > MOST_UNKNOWNS:
            return False
        for _ in range(ITERATIONS):
            after = equations.improved(before)
            if after is None:
                return False
            if not equations.recursive or np.abs(after - before).max() < PRECISION:
                for frame, row in zip(self.frames[block], after.tolist(), strict=True):
                    self.found[frame] = {k: row[k] for k in self.reached.exits[frame]}
                return True
            before = after
        return False


class _Equations:
    """The chain inside the frames of a block, where calls of the block itself are still open."""

    def __init__(self, all_: _Leaving, block: int) -> None:
        r, places = all_.reached, all_.places[block]
        local = {place: i for i, place in enumerate(places)}
        row = {frame: i for i, frame in enumerate(all_.frames[block])}
        self.width = 1 + max((k for f in row for k in r.exits[f]), default=0)
        self.entries = [local[r.place(f, r.entry[f])] for f in row]
        fixed = [(local[s], local[e], p) for s, e, p in (r.steps[i] for i in all_.steps[block])]
        own: list[tuple[int, int, float, int, int]] = []
        for call in (r.calls[i] for i in all_.calls[block]):
            frame, source = r.frame[call.place], local[call.place]
            for k in r.exits[call.frame]:
                target = local[r.place(frame, call.back + k)]
                if call.frame in row:
                    own.append((source, target, call.prob, row[call.frame], k))
                else:
                    fixed.append((source, target, call.prob * all_.found[call.frame][k]))
        self.size, self.recursive = len(places), bool(own)
        self._frame = np.array([row[r.frame[place]] for place in places])
        sources, targets, weights = _columns(fixed, 3)
        source, target, self._prob, callee, leaving = _columns(own, 5)
        self._source = np.concatenate([sources, source]).astype(int)
        self._target = np.concatenate([targets, target]).astype(int)
        self._fixed, self._callee, self._exit = weights, callee.astype(int), leaving.astype(int)
        self._leaving = np.zeros((self.size, self.width))
        for place, k, prob in (r.leaves[i] for i in all_.leaves[block]):
            self._leaving[local[place], k] += prob

    def improved(self, known: Floats) -> Floats | None:
        """Better probabilities at the entries: a step of Newton's method, from below.

        Returns:
            None if the equations are singular: then some run never ends.
        """
        weights = np.concatenate([self._fixed, self._prob * known[self._callee, self._exit]])
        ends, shape = (self._source, self._target), (self.size, self.size)
        chain = factors(sparse.csr_array((weights, ends), shape))
        if chain is None:
            return None
        inside = chain.solve(self._leaving)
        there = inside[self.entries]
        if self.recursive:
            slopes = np.eye(known.size) - self._slopes(inside, chain)
            try:
                change = np.linalg.solve(slopes, (there - known).ravel())
            except np.linalg.LinAlgError:
                return None
            there = known + change.reshape(known.shape)
        found: Floats = np.clip(there, 0.0, 1.0)
        return found if np.isfinite(found).all() else None

    def _slopes(self, inside: Floats, chain: Any) -> Floats:
        """How the probabilities at entries change with those of the frames called."""
        frames, width = len(self.entries), self.width
        # Nothing leads from frame to frame here, so that one system holds the visits of them all.
        ones = np.zeros(self.size)
        ones[self.entries] = 1.0
        visits = chain.solve(ones, trans="T")
        own = len(self._prob)
        source, target = self._source[-own:], self._target[-own:]
        weight = visits[source] * self._prob
        slopes = np.zeros((frames * width, frames * width))
        for k in range(width):
            rows = self._frame[source] * width + k
            np.add.at(slopes, (rows, self._callee * width + self._exit), weight * inside[target, k])
        return slopes


def _grouped(keys: list[int], count: int) -> list[list[int]]:
    """Positions by key, for keys below a number."""
    groups: list[list[int]] = [[] for _ in range(count)]
    for i, key in enumerate(keys):
        groups[key].append(i)
    return groups


def _columns(rows: Sequence[tuple[float, ...]], width: int) -> Floats:
    columns: Floats = np.array(rows, float).reshape(-1, width).T
    return columns


class _Sampling:
    """Runs side by side, a step of each at a time."""

    def __init__(self, reached: Reached, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        size = len(reached.slot)
        calls = [(c.place, i, c.prob) for i, c in enumerate(reached.calls)]
        kinds = (reached.steps, calls, reached.leaves)
        outcome = np.array([row for rows in kinds for row in rows], float).reshape(-1, 3)
        order = np.argsort(outcome[:, 0], kind="stable")
        self.kind = np.repeat([0, 1, 2], [len(rows) for rows in kinds])[order]
        source, self.target = outcome[order, 0], outcome[order, 1].astype(np.int64)
        self.below = _keys(source, outcome[order, 2])
        self.entry = np.array(
            [reached.place(c.frame, reached.entry[c.frame]) for c in reached.calls], int
        )
        self.back = _back(reached)
        places, probs = zip(*reached.starts, strict=True)
        self.place = self.random.choice(places, RUNS, p=np.array(probs) / sum(probs))
        self.size = size

    def run(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Run and place of every visit, and the share of runs that were cut."""
        alive, height = np.arange(RUNS), np.zeros(RUNS, int)
        stack = np.zeros((RUNS, 16), int)
        runs, places = [], []
        for _ in range(STEPS):
            if not len(alive):
                break
            here = self.place[alive]
            runs.append(alive)
            places.append(here)
            drawn = np.searchsorted(self.below, here + self.random.random(len(alive)), side="right")
            kind, target = self.kind[drawn], self.target[drawn]
            self.place[alive[kind == 0]] = target[kind == 0]
            if height.max() == stack.shape[1]:
                stack = np.hstack([stack, np.zeros_like(stack)])
            calls = alive[kind == 1]
            stack[calls, height[calls]] = target[kind == 1]
            height[calls] += 1
            self.place[calls] = self.entry[target[kind == 1]]
            back = (kind == 2) & (height[alive] > 0)
            lanes = alive[back]
            height[lanes] -= 1
            self.place[lanes] = self.back[stack[lanes, height[lanes]], target[back]]
            alive = alive[(kind < 2) | back]
        return np.concatenate(runs), np.concatenate(places), len(alive) / RUNS


def _keys(source: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Place plus running sum of probabilities, so that one search draws for any place."""
    row_start = np.searchsorted(source, np.arange(source[-1] + 2))
    keys: np.ndarray = source + running_sums(prob, row_start)
    return keys


def _back(reached: Reached) -> np.ndarray:
    """Place behind each call and exit; -1 where no run returns."""
    width = 1 + max((k for exits in reached.exits for k in exits), default=0)
    back = np.full((len(reached.calls), width), -1)
    for i, call in enumerate(reached.calls):
        for k in reached.exits[call.frame]:
            back[i, k] = reached.place(reached.frame[call.place], call.back + k)
    return back
