"""Environments as sources of samples: by episodes, or by runs that begin at any state.

The structure is discovered. A pair may have outcomes beside those that it has shown, as many as
`support` allows, and these may lead anywhere, to values within the bounds on steps and rewards;
runs may begin at starts that were never seen.

A run that stands at a state draws from one of its pairs, and by the Markov property the draws of a
pair are independent, whenever they come up: so visits count as samples. Every round of samples has
a seed of its own and begins with a new run, so that a resumed learner draws what it would have
drawn without the interruption.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.env.protocol import reset_result
from recurl.errors import LimitError, ProtocolError
from recurl.execution.pieces import Session, results_of
from recurl.learn.pac.empirical import empirical
from recurl.learn.pac.environment_draws import Draws
from recurl.learn.pac.experience import Experience, by_level
from recurl.learn.pac.experience_file import load_experience, save_experience
from recurl.learn.pac.model_access import NEAR, per_sample, shares_of
from recurl.learn.pac.observed import counted
from recurl.learn.pac.plan import DiscoveryPlan

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.confidence import Sets
    from recurl.learn.pac.loop import PACTask, SetBounds
    from recurl.learn.pac.observed import Observed
    from recurl.model.tables import Floats

_FIRST, _GROWTH, _CURIOUS = 500, 1.4, 0.3


class EnvironmentAccess(ABC):
    """An environment, the experience in it, and a way to get more.

    Args:
        env: The environment.
        task: The task; with `reward_bound` and `support`.
        gamma: Discount of each step; below 1, calls may have several exits.
        planned: Whether pairs are drawn as planned, not level by level.
        workers: How many workers share the draws of a round.
        session: The workers, doing `recurl.learn.pac.environment_draws.draw_outcomes`; this
            process if not given.
    """

    truth = None
    limit = 10**7
    shares = ", discovery i: delta/(i (i+1))"
    levels = "discovery i, level j: delta/(i (i+1) j (j+1))"
    name = ""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        task: PACTask,
        gamma: float = 1.0,
        *,
        planned: bool = False,
        workers: int = 1,
        session: Session | None = None,
    ) -> None:
        self.workers, self.session = workers, session
        self.env, self.task, self.gamma = env, task, gamma
        self.plan = DiscoveryPlan(task, gamma)
        several = gamma < 1
        self.experience = Experience(env, self.plan if planned else by_level, several=several)
        self._head: dict[str, Any] = {
            "access": self.name,
            "method": "plan" if planned else "adaptive",
            "seed": task.seed,
            "several": several,
        }
        if planned:
            self._head |= {"closeness": self.plan.closeness, "delta": task.delta}
        self._seed: int | None = None
        self._random = np.random.default_rng(0)

    @property
    def samples(self) -> int:
        """Steps taken so far."""
        return self.experience.samples

    @property
    def starts(self) -> int:
        """Most starts that may exist."""
        return int(self.task.starts or self.task.support or 1)

    def observed(self) -> Observed:
        """The empirical model."""
        return empirical(self.experience, int(self.task.support or 1), self.starts)

    def sample(self, bounds: SetBounds | None, ratio: float, most: int) -> bool:
        """One round of samples; an environment can always be sampled."""
        self.seed_round()
        with self._named():
            self.draw(bounds, most)
        return True

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say in errors at which step they are."""
        try:
            yield
        except ProtocolError as error:
            raise ProtocolError(f"step {self.samples}: {error}") from None

    def seed_round(self) -> None:
        """Seed environment and choices by the samples so far."""
        sequence = np.random.SeedSequence([self.task.seed, self.samples])
        self._seed = int(sequence.generate_state(1)[0])
        self._random = np.random.default_rng([self._seed, 1])

    @abstractmethod
    def draw(self, bounds: SetBounds | None, most: int) -> None:
        """Take samples where they matter, at most up to a number in all."""

    @abstractmethod
    def complete(self, most: int) -> bool:
        """Draw every pair as often as it is due; whether the samples allowed were enough."""

    def fulfil(self, plan: DiscoveryPlan, most: int | None) -> None:
        """Draw every pair that is discovered as often as planned."""
        self.seed_round()
        with self._named():
            done = self.complete(self.limit if most is None else most)
        if not done:
            raise LimitError(
                f"the plan is not fulfilled after {self.samples:,} samples: learn adaptively"
            )

    def planned(self, plan: DiscoveryPlan | None) -> int | None:
        """Samples of a plan for the pairs that were discovered."""
        return self.plan.total(len(self.experience.pairs))

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin a run; the first of a round seeds the environment."""
        seed, self._seed = self._seed, None
        found = reset_result(self.env.reset(seed=seed, **options))
        self.experience.reports_events = "event" in found[1]
        return found

    def begin(self) -> int:
        """Begin a run where the environment begins it."""
        observation, info = self.reset()
        return self.experience.begin(observation, info.get("action_mask"))

    def numbers(self) -> dict[str, float | str]:
        """Numbers that a statement about the environment rests on."""
        task, seen = self.task, self.experience
        first: dict[str, float | str] = {"Access": self.name}
        if self.gamma == 1:
            first["Bound K on expected steps, given"] = float(task.steps or 0.0)
        else:
            first["Discount"] = self.gamma
        known, taken = seen.exit_counts()
        return first | {
            "Bound on rewards, given": float(task.reward_bound or 0.0),
            "Outcomes of a pair, at most, given": float(task.support or 0),
            "Starts, at most, given": float(self.starts),
            "States discovered": float(len(seen.observations)),
            "Pairs discovered": float(len(seen.pairs)),
            "Exits": f"{known} discovered, {taken} of them taken",
            "Starts drawn": float(seen.start.total),
        }

    def work(self) -> dict[str, float]:
        """The work so far, for a progress display."""
        states = float(len(self.experience.observations))
        return {"samples": float(self.samples), "states": states}

    def unobserved(self, observed: Observed, sets: Sets) -> tuple[str, ...]:
        """Things that were never observed, and how likely they may still be."""
        return (*self._never(), *self._missing(observed, sets))

    def _never(self) -> Iterator[str]:
        seen = self.experience
        pairs = [p for p in seen.pairs if not p.total]
        shown = [f"action {p.action} at {seen.observations[p.state]!r}" for p in pairs]
        yield from counted("pair", " without a sample", shown)
        states = [f"{seen.observations[s]!r}" for s, own in enumerate(seen.pairs_of) if not own]
        yield from counted("state", " at which no run has stood", states)
        known, taken = seen.exit_counts()
        if known > taken:
            yield f"{known - taken} of {known} exits not taken"

    def _missing(self, observed: Observed, sets: Sets) -> Iterator[str]:
        from recurl.learn.pac.confidence import start_sets

        worst = int(np.argmax(sets.missing))
        if sets.missing[worst] > 0:
            state = observed.model.label(int(observed.model.tables.action_vertex[worst]))
            yield (
                f"outcomes of {int((sets.missing > 0).sum())} pairs that may exist, each with a "
                f"probability of at most {sets.missing[worst]:.3g} (at the state observed as "
                f"{state})"
            )
        assert observed.starts is not None
        own = start_sets(observed.starts, self.task.intervals, self.task.delta)
        if own.missing[0] > 0:
            yield f"starts that may exist, with a probability of at most {own.missing[0]:.3g}"

    def contradictions(self, observed: Observed) -> tuple[str, ...]:
        """Observations that contradict the settings."""
        return tuple(self._contradictions())

    def _contradictions(self) -> Iterator[str]:
        task, pairs = self.task, self.experience.pairs
        most = max((len(pair.outcomes) for pair in pairs), default=0)
        if most > (task.support or most):
            yield f"a pair has shown {most} outcomes, more than the support of {task.support}"
        begun = len(self.experience.start.outcomes)
        if begun > self.starts:
            yield f"runs have begun at {begun} states, more than given"
        paid = max((abs(r) for pair in pairs for r in pair.rewards), default=0.0)
        if paid > float(task.reward_bound or 0.0):
            yield f"a step paid {paid:g} in absolute value, beyond the bound {task.reward_bound:g}"

    def save(
        self, path: str | os.PathLike[str], basis: str, state: Mapping[str, np.ndarray]
    ) -> None:
        """Write the experience, and the state of a learner, in one file, whole or not at all."""
        save_experience(path, self.experience, self._head, basis=basis, state=state)

    def load(self, path: str | os.PathLike[str]) -> tuple[str, dict[str, np.ndarray]]:
        """Take over the experience of a file, if there is one; its basis and state."""
        return load_experience(path, self.experience, self._head)


class EpisodeAccess(EnvironmentAccess):
    """Plays episodes that go where the upper bound is best, sometimes to what is tried least."""

    name = "episodes"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._best: dict[int, int] = {}
        self._state: int | None = None

    def seed_round(self) -> None:
        """Seed the round, which begins with a new episode."""
        super().seed_round()
        self._state = None

    def draw(self, bounds: SetBounds | None, most: int) -> None:
        """Play until there are some more samples, no more than allowed."""
        if bounds is not None:
            self._best = self._best_pairs(bounds)
        wanted = max(_FIRST, math.ceil(_GROWTH * self.samples))
        self.play(min(wanted, most))

    def complete(self, most: int) -> bool:
        """Play until every pair has reached its level; whether the samples allowed were enough."""
        while self.samples < most:
            self.play(min(self.samples + _FIRST, most))
            if self.experience.complete:
                return True
        return self.experience.complete

    def play(self, samples: int) -> None:
        """Play until there are as many samples in all."""
        while self.samples < samples:
            if self._state is None:
                self._state = self.begin()
            pair = self._choose(self._state)
            result = self.env.step(self.experience.pairs[pair].action)
            after = self.experience.record(pair, result)
            self._state = None if result[3] else after

    def _best_pairs(self, bounds: SetBounds) -> dict[int, int]:
        """The pair of each state that is best by the upper bound."""
        vertices, actions = bounds.optimistic()
        observed = bounds.observed
        assert observed.pair is not None
        chosen = observed.pair[observed.model.tables.action_start[vertices] + actions].tolist()
        return {self.experience.pairs[pair].state: pair for pair in chosen if pair >= 0}

    def _choose(self, state: int) -> int:
        pairs = self.experience.pairs_of[state]
        if state in self._best and self._random.random() >= _CURIOUS:
            return self._best[state]
        least = min(pairs, key=lambda p: self.experience.pairs[p].total)
        if self.experience.pairs[least].level == 0:
            return least
        return int(self._random.choice(pairs))


class Generative(EnvironmentAccess):
    """Draws from the pairs that the gap is due to, by runs that begin at any state that was seen.

    An environment allows it by ``reset(options={"state": observation})``: the run then stands at
    that state, with no call pending, and one step draws an outcome of the pair taken. A step that
    leaves the component ends such a run. ``metadata["generative"] = True`` says that an environment
    can do it.
    """

    name = "generative"

    def draw(self, bounds: SetBounds | None, most: int) -> None:
        """Draw new pairs up to their first level, else those that are worth most."""
        self._visit_all()
        new = [i for i, pair in enumerate(self.experience.pairs) if pair.level == 0]
        if self.experience.start.level == 0:
            self._raise_start()
        elif bounds is not None and not new:
            new = self._worthwhile(bounds)
        if self.session is None:
            for pair in new:
                self._raise_pair(pair, most)
        else:
            self._raise_together(new, most, self.session)

    def complete(self, most: int) -> bool:
        """Draw every pair up to its level; whether the samples allowed were enough."""
        self.begin()
        while not self.experience.complete:
            if self.samples >= most:
                return False
            self.draw(None, most)
        return True

    def _visit_all(self) -> None:
        """Stand at every state that was announced, to learn which actions it has."""
        if not self.experience.observations:
            self.begin()
        for state, pairs in enumerate(self.experience.pairs_of):
            if not pairs:
                self._stand(state)

    def _raise_start(self) -> None:
        start = self.experience.start
        for _ in range(start.due - start.total):
            self.begin()

    def _stand(self, state: int) -> None:
        observation, info = self.reset(options={"state": self.experience.observations[state]})
        if self.experience.visit(observation, info.get("action_mask")) != state:
            raise ProtocolError(
                "reset(options={'state': ...}) did not begin at the state given: the environment "
                "has no generative access; learn from episodes instead"
            )

    def _raise_pair(self, number: int, most: int) -> None:
        """Draw a pair until it reaches its next level."""
        pair = self.experience.pairs[number]
        level = pair.level
        while pair.level == level and self.samples < most:
            self._stand(pair.state)
            self.experience.record(number, self.env.step(pair.action))

    def _raise_together(self, numbers: list[int], most: int, session: Session) -> None:
        """Draw pairs until they reach their next levels, each worker a fixed share of each pair."""
        pairs, left = self.experience.pairs, most - self.samples
        wanted = np.array([pairs[number].due - pairs[number].total for number in numbers], np.int64)
        wanted = np.minimum(wanted, np.maximum(left - (np.cumsum(wanted) - wanted), 0))
        seen = self.experience.observations
        places = [(seen[pairs[number].state], pairs[number].action) for number in numbers]
        items = [
            Draws(places, part.tolist(), [self.task.seed, self.samples, 1 + worker])
            for worker, part in enumerate(shares_of(wanted, self.workers))
        ]
        for found in results_of(session.run(items)):
            for place, result, times in found:
                self.experience.record_many(numbers[place], result, times)

    def _worthwhile(self, bounds: SetBounds) -> list[int]:
        """Pairs near the greatest share of the gap per sample; the start is drawn at once."""
        start = self.experience.start
        totals = [pair.total for pair in self.experience.pairs]
        scores = np.append(self.pair_scores(bounds), bounds.start_score())
        worth = per_sample(scores, np.array([*totals, start.total]))
        near = worth >= NEAR * worth.max()
        if near[-1]:
            self._raise_start()
        return np.flatnonzero(near[:-1]).tolist()

    def pair_scores(self, bounds: SetBounds) -> Floats:
        """How much of the gap is due to each pair of the experience."""
        pair = bounds.observed.pair
        assert pair is not None
        found, own = np.zeros(len(self.experience.pairs)), pair >= 0
        np.add.at(found, pair[own], bounds.scores()[own])
        return found
