"""Generative access to a model: any pair can be drawn from, its probabilities stay hidden."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import CheckpointError, LimitError
from recurl.execution.engine import PieceLink
from recurl.execution.pieces import Session, results_of
from recurl.learn.checkpoint import expect, read_checkpoint, restoring, write_checkpoint
from recurl.learn.pac.confidence import level_size
from recurl.learn.pac.observed import (
    Observed,
    even_probabilities,
    unobserved,
    with_probabilities,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recurl.learn.pac.confidence import Sets
    from recurl.learn.pac.loop import SetBounds
    from recurl.learn.pac.plan import Longs, Plan
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints

KIND = "pac"
NEAR = 0.1
"""Pairs whose share of the gap per sample is at least this part of the greatest are drawn."""
_MOST, _MORE = 2**62, 0.25


class ModelAccess:
    """Draws outcomes of pairs of a model; the learner sees outcomes, counts and rewards.

    Many draws of one pair are one multinomial draw, which is the same in distribution.

    Args:
        model: The model.
        seed: Seed of all draws; the draws of a round depend on it, the round and the streams only.
        streams: Independent streams of draws, each of which takes its share of every round.
        session: Workers for the streams, doing `draw_counts`; this process if not given.
        first: Draws of each random pair in the first round, if bounds choose those of later ones;
            None if pairs are drawn level by level.

    Example:
        >>> import recurl
        >>> access = ModelAccess(recurl.zoo.gambler(p=0.25), seed=1)
        >>> access.draw(np.full(3, 1000))
        >>> access.samples, access.counts.tolist()
        (3000, [246, 754, 1000, 1000])
    """

    limit = 10**12
    shares = ""
    levels = "one per pair and level, level j with delta/(N j (j+1))"

    def __init__(
        self,
        model: RMDP,
        seed: int = 0,
        streams: int = 1,
        session: Session | None = None,
        *,
        first: int | None = None,
    ) -> None:
        self.first = first
        self.truth, self.seed, self.streams, self._session = model, seed, streams, session
        self.model = with_probabilities(model, even_probabilities(model))
        t = model.tables
        self.support = np.diff(t.transition_start).astype(np.int32)
        self.counts = np.zeros(t.n_transitions, np.int64)
        self.level = np.zeros(t.n_actions, np.int32)
        self.round = 0

    @property
    def samples(self) -> int:
        """Draws so far."""
        return sum(self.counts.tolist())

    def observed(self) -> Observed:
        """The observations so far; pairs with a single outcome need no sample."""
        random = self.support > 1
        share = np.where(random, 1 / max(int(random.sum()), 1), 1.0)
        return Observed(self.model, self.counts, self.level, self.support, share)

    def draw(self, wanted: Longs) -> None:
        """Draw each pair a number of times more; every stream takes its share."""
        items = [
            (part, [self.seed, self.round, *([stream] if stream else [])])
            for stream, part in enumerate(shares_of(wanted, self.streams))
        ]
        self.round += 1
        if self._session is None:
            found = [_draw(self.truth, *item) for item in items]
        else:
            found = results_of(self._session.run(items))
        for counts in found:
            self.counts += counts

    def raise_levels(self, pairs: np.ndarray, by: int = 1) -> None:
        """Draw some pairs up to the size of their next level, or a later one."""
        wanted = np.zeros(len(self.level), np.int64)
        sizes = [level_size(j + by) - level_size(j) for j in self.level[pairs].tolist()]
        wanted[pairs] = sizes
        self.draw(wanted)
        self.level[pairs] += by

    def sample(self, bounds: SetBounds | None, ratio: float, most: int) -> bool:
        """Draw where the gap comes from; whether there was anything to draw.

        Args:
            bounds: The bounds so far; None before the first ones.
            ratio: The gap in units of the width asked for.
            most: Samples allowed; a round that begins below may end above.
        """
        random = np.flatnonzero(self.support > 1)
        first = random[self.level[random] == 0]
        wanted = None if bounds is None else bounds.wanted()
        if wanted is not None:
            self.draw(wanted)
        elif self.first is not None:
            self.draw(np.where(self.support > 1, self.first, 0))
        elif len(first):
            self.raise_levels(first)
        elif bounds is not None and len(random):
            worth = per_sample(bounds.scores()[random], self.observed().totals[random])
            by = levels_ahead(ratio, bounds.levels_at_once)
            more = _MORE * self.samples if bounds.levels_at_once > 1 else 0.0
            self.raise_levels(random[self._worthwhile(worth, self.level[random], by, more)], by)
        return bool(len(random))

    def _worthwhile(self, worth: Floats, level: Ints, by: int, more: float) -> np.ndarray:
        """Pairs worth most per sample, enough of them for a number of further samples."""
        near = int((worth >= NEAR * worth.max()).sum())
        order = np.argsort(-worth, kind="stable")
        sizes = np.cumsum([level_size(j + by) - level_size(j) for j in level[order].tolist()])
        enough = int(np.searchsorted(sizes, more)) + 1
        return np.sort(order[: max(enough, near)])

    def fulfil(self, plan: Plan, most: int | None) -> None:
        """Draw the part of a plan that has not been drawn yet."""
        if most is not None and plan.total > most:
            raise LimitError(
                f"the plan takes {plan.total:,} samples, more than {most:,}: learn adaptively"
            )
        self.draw(np.maximum(plan.samples - self.observed().totals, 0))

    def numbers(self) -> dict[str, float | str]:
        """Numbers that a statement about the model rests on."""
        return {
            "Random pairs N": float((self.support > 1).sum()),
            "Most samples of a pair": float(self.observed().totals.max()),
            "Rounds": float(self.round),
        }

    def work(self) -> dict[str, float]:
        """The work so far, for a progress display."""
        return {"samples": float(self.samples), "rounds": float(self.round)}

    def unobserved(self, observed: Observed, sets: Sets) -> tuple[str, ...]:
        """Pairs, outcomes and exits that were never observed."""
        return unobserved(observed)

    def contradictions(self, observed: Observed) -> tuple[str, ...]:
        """Nothing: a model cannot contradict its own outcomes and rewards."""
        return ()

    def planned(self, plan: Plan | None) -> int | None:
        """Samples of a plan; there is none but those given."""
        return None if plan is None else plan.total

    def save(
        self, path: str | os.PathLike[str], basis: str, state: Mapping[str, np.ndarray]
    ) -> None:
        """Write counts, and the state of a learner, in one file, whole or not at all.

        Example:
            >>> import recurl, tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "counts"
            >>> one, other = (ModelAccess(recurl.zoo.gambler(), seed=1) for _ in range(2))
            >>> one.draw(np.full(3, 10))
            >>> one.save(file, "delta 0.1", {})
            >>> other.load(file), other.counts.tolist() == one.counts.tolist()
            (('delta 0.1', {}), True)
        """
        header: dict[str, Any] = {
            "kind": KIND,
            "model": self.model.fingerprint,
            "seed": self.seed,
            "round": self.round,
            "basis": basis,
        }
        write_checkpoint(path, header, {"counts": self.counts, "level": self.level, **state})

    def load(self, path: str | os.PathLike[str]) -> tuple[str, dict[str, np.ndarray]]:
        """Take over the counts of a file, if there is one; the state of a learner, and its basis.

        Raises:
            CheckpointError: The file is damaged, or its counts are of another model or seed.
        """
        if not Path(path).exists():
            return "", {}
        header, arrays = read_checkpoint(path, KIND)
        with restoring(path):
            if header["model"] != self.model.fingerprint:
                raise CheckpointError(
                    f"{path} holds counts of another model than {self.model.name}"
                )
            if header["seed"] != self.seed:
                raise CheckpointError(f"{path} holds counts of seed {header['seed']}: use that one")
            counts = expect(arrays, "counts", np.int64, 0, _MOST)
            level = expect(arrays, "level", np.int32, 0, 1000)
            if counts.shape != self.counts.shape or level.shape != self.level.shape:
                raise ValueError("the counts have another size")
            self.counts[:], self.level[:] = counts, level
            self.round = int(header["round"])
        state = {name: array for name, array in arrays.items() if name not in ("counts", "level")}
        return str(header.get("basis", "")), state


def draw_counts(model: RMDP, item: tuple[Longs, list[int]], link: PieceLink) -> Longs:
    """The share of a stream in a round, as a piece for `recurl.execution.pieces`."""
    return _draw(model, *item)


def shares_of(wanted: Longs, streams: int) -> list[Longs]:
    """Numbers of draws split evenly, whatever is drawn: fixed numbers again.

    Example:
        >>> [part.tolist() for part in shares_of(np.array([5, 2]), 3)]
        [[2, 1], [2, 1], [1, 0]]
    """
    return [wanted // streams + (wanted % streams > stream) for stream in range(streams)]


def _draw(model: RMDP, wanted: Longs, seed: list[int]) -> Longs:
    """Draw each pair a number of times; how often each transition came up."""
    t, random = model.tables, np.random.default_rng(seed)
    counts = np.zeros(t.n_transitions, np.int64)
    drawn = np.flatnonzero(wanted > 0)
    left, mass = wanted[drawn].copy(), np.ones(len(drawn))
    first = t.transition_start[drawn]
    sizes = t.transition_start[drawn + 1] - first
    for place in range(int(sizes.max(initial=0))):
        within = np.flatnonzero(sizes > place)
        at = first[within] + place
        chance = np.clip(t.prob[at] / np.maximum(mass[within], 1e-300), 0.0, 1.0)
        chance = np.where(sizes[within] == place + 1, 1.0, chance)
        hits = random.binomial(left[within], chance)
        counts[at] = hits
        left[within] -= hits
        mass[within] -= t.prob[at]
    return counts


def per_sample(scores: Floats, samples: Longs) -> Floats:
    """Share of the gap per sample of each pair; all alike where nothing is known of it.

    If a pair adds c / sqrt(n) to the gap, then a sample of it is worth c n^(-3/2).
    """
    worth: Floats = scores / np.maximum(samples, 1)
    if not np.isfinite(worth).all() or worth.max(initial=0.0) <= 0:
        return np.ones_like(worth)
    return worth


def levels_ahead(ratio: float, most: int) -> int:
    """Levels to go on by: a gap twice as wide takes four times the samples.

    Example:
        >>> levels_ahead(1.1, 6), levels_ahead(4.0, 6), levels_ahead(4.0, 1)
        (1, 4, 1)
    """
    if not np.isfinite(ratio):
        return min(2, most)
    return min(max(int(np.log(ratio) / np.log(1.4)), 1), most)
