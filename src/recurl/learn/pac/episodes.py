"""Trajectory access: episodes of a 1-exit environment whose structure is not known beforehand.

A run that stands at a state draws from one of its pairs, and by the Markov property the draws of a
pair are independent, whenever they come up: so counts of visits serve as samples. What was never
seen is counted in: a pair may have outcomes beside those that it has shown, as many as `support`
allows, and these may lead anywhere, to values within the bounds on steps and rewards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.learn.pac.access import even_probabilities, with_probabilities
from recurl.learn.pac.adaptive import sets_of
from recurl.learn.pac.atlas import Atlas
from recurl.learn.pac.chart import chart
from recurl.learn.pac.guarantee import Guarantee
from recurl.learn.pac.robust import RobustBounds
from recurl.learn.pac.unseen import unseen
from recurl.policy import Policy

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.pac.access import View
    from recurl.learn.pac.chart import Chart
    from recurl.learn.pac.kernel import Sets
    from recurl.learn.pac.one_exit import Task
    from recurl.model.rmdp import RMDP

_FIRST, _GROWTH, _CURIOUS = 500, 1.4, 0.3
_MOST = 10**7


def learn_by_episodes(env: gym.Env[Any, Any], task: Task, support: int | None) -> Guarantee:
    """Play until the interval is as narrow as asked, or no more samples are allowed."""
    if task.steps is None or task.reward_bound is None or support is None:
        raise ValueError(
            "an environment may hide more than it shows: give `steps`, a bound on the expected "
            "steps to the exit of a component, `reward_bound` and `support`, the most outcomes of "
            "a pair"
        )
    if task.checkpoint is not None:
        raise ValueError("counts are kept on disk for models only: leave out `checkpoint`")
    return _Play(env, task, support).run()


class _Play:
    """Rounds of episodes, each followed by a look at what is known."""

    def __init__(self, env: gym.Env[Any, Any], task: Task, support: int) -> None:
        self.env, self.task, self.support = env, task, support
        self.atlas = Atlas(env)
        self.random = np.random.default_rng([task.seed, 1])
        self.best: dict[int, int] = {}
        self.episodes = 0
        self._play(_FIRST)
        self._look()

    def run(self) -> Guarantee:
        """More rounds while they are needed and allowed."""
        most = _MOST if self.task.most is None else self.task.most
        while self.gap > self.task.epsilon and self.atlas.samples < most:
            self._play(min(math.ceil(_GROWTH * self.atlas.samples), most))
            self._look()
            if self.task.callback is not None:
                work = {"samples": float(self.atlas.samples), "episodes": float(self.episodes)}
                self.task.callback(self.bounds.lower, self.bounds.upper, work)
        return self._guarantee()

    @property
    def gap(self) -> float:
        return self.bounds.upper - self.bounds.lower

    def _play(self, samples: int) -> None:
        """Episodes until there are so many samples."""
        while self.atlas.samples < samples:
            observation, info = self.env.reset(seed=None if self.episodes else self.task.seed)
            self.episodes += 1
            state = self.atlas.begin(observation, info.get("action_mask"))
            going = True
            while going and self.atlas.samples < samples:
                state, going = self._step(state)

    def _step(self, state: int) -> tuple[int, bool]:
        """One step: the state after it, and whether the episode goes on."""
        pair = self._choose(state)
        action = self.atlas.pairs[pair].action
        observation, reward, ended, cut, info = self.env.step(action)
        if ended or info.get("event") == "return":
            self.atlas.leave(pair, float(reward))
            if ended:
                return state, False
            return self.atlas.visit(observation, info.get("action_mask")), not cut
        target = self.atlas.visit(observation, info.get("action_mask"))
        if info.get("event") == "call":
            self.atlas.call(pair, float(reward), target, info["exits"])
        else:
            self.atlas.step(pair, float(reward), target)
        return target, not cut

    def _choose(self, state: int) -> int:
        """The pair that looks best, now and then the one tried least."""
        pairs = self.atlas.pairs_of[state]
        if state in self.best and self.random.random() >= _CURIOUS:
            return self.best[state]
        return min(pairs, key=lambda p: self.atlas.pairs[p].total)

    def _look(self) -> None:
        """Bounds in view of all that was seen, and the pairs that look best by the upper one."""
        task = self.task
        self.chart = chart(self.atlas, self.support)
        view, reward = self.chart.view, float(task.reward_bound or 0.0)
        self.sets = sets_of(view, task.intervals, task.delta)
        self.bounds = RobustBounds(view.model, task.steps, (-reward, reward))
        self.bounds.tighten(self.sets, tolerance=1e-3 * task.epsilon)
        t = view.model.tables
        choice = self.bounds.choice(self.sets, 1.0)
        for vertex in np.flatnonzero(t.states).tolist():
            pair = int(self.chart.pair[choice[vertex]])
            if pair >= 0:
                self.best[self.atlas.pairs[pair].state] = pair

    def _guarantee(self) -> Guarantee:
        view, task = self.chart.view, self.task
        learned = _learned(self.chart)
        choice = self.bounds.choice(self.sets, -1.0) - learned.tables.action_start[:-1]
        return Guarantee(
            learned,
            self.bounds.lower,
            self.bounds.upper,
            (self.bounds.lower + self.bounds.upper) / 2,
            Policy.stackless(learned, np.where(learned.tables.states, choice, 0)),
            loss=self.gap,
            epsilon=task.epsilon,
            delta=task.delta,
            reached=self.gap <= task.epsilon,
            samples=self.atlas.samples,
            planned=None,
            method="adaptive",
            numbers={
                "Bound K on expected steps, given": float(task.steps or 0.0),
                "Bound on rewards, given": float(task.reward_bound or 0.0),
                "Outcomes of a pair, at most, given": float(self.support),
                "States discovered": float(len(self.atlas.observations)),
                "Pairs discovered": float(len(self.atlas.pairs)),
                "Episodes": float(self.episodes),
                "Starts": "taken as observed",
                "Confidence sets": f"{task.intervals}, pair i, level j: delta/(i (i+1) j (j+1))",
            },
            unseen=(*unseen(view), *_missing(view, self.sets)),
        )


def _learned(found: Chart) -> RMDP:
    """What was observed, as a model."""
    model, counts = found.view.model, found.view.counts
    t = model.tables
    total = np.add.reduceat(counts, t.transition_start[:-1])
    total = np.repeat(total, np.diff(t.transition_start))
    even = even_probabilities(model)
    return with_probabilities(model, np.where(total > 0, counts / np.maximum(total, 1), even))


def _missing(view: View, sets: Sets) -> list[str]:
    """How likely outcomes that never came up may still be."""
    worst = int(np.argmax(sets.missing))
    if sets.missing[worst] <= 0:
        return []
    name = view.model.vertex_name(int(view.model.tables.action_vertex[worst]))
    total = int((sets.missing > 0).sum())
    return [
        f"outcomes of {total} pairs that may exist, each with a probability of at most "
        f"{sets.missing[worst]:.3g} (at {name})"
    ]
