"""Episodes, and runs that begin at any state."""

from __future__ import annotations

import math
from typing import Any

import pytest
from gymnasium.wrappers import TimeLimit
from tests.learn.pac.foreign import Gamble, Stubborn

import recurl
from recurl.env.protocol import check_recursive_env
from recurl.errors import ProtocolError
from recurl.learn.pac.bounds import RobustIteration
from recurl.learn.pac.confidence import level_size
from recurl.learn.pac.environment import EnvironmentAccess, EpisodeAccess, Generative
from recurl.learn.pac.loop import PACTask

TASK = PACTask(1.0, 0.1, 6.0, 1.0, support=2, starts=1, seed=1)


def rounds(source: EnvironmentAccess, count: int, bounds: RobustIteration | None = None) -> None:
    """Some rounds of samples, each after new bounds if there are any."""
    for _ in range(count):
        if bounds is not None and source.samples:
            bounds.tighten(source.observed(), math.inf)
        source.sample(bounds if source.samples else None, 1.0, 10**6)


def test_every_step_of_every_episode_is_a_sample() -> None:
    env = Gamble()
    source = EpisodeAccess(env, TASK)
    rounds(source, 1)
    assert source.samples == env.steps == 500
    rounds(source, 1)
    assert source.samples == env.steps == 700
    assert source.experience.start.total == env.resets
    source.sample(None, 1.0, 800)
    assert source.samples == 800


def test_after_a_truncation_a_new_episode_begins() -> None:
    source = EpisodeAccess(TimeLimit(Gamble(p=0.49), 3), TASK)
    rounds(source, 1)
    assert source.experience.start.total >= 500 / 3


def test_runs_go_where_the_upper_bound_is_best() -> None:
    model = (
        recurl.Builder("choice")
        .component("A", entries="in", exits="out")
        .at("in").action("bad", reward=-1).to("out", 0.5).to("x", 0.5)
                 .action("good", reward=1).to("out", 0.5).to("x", 0.5)
        .at("x").action("up").to("out")
        .build()
    )  # fmt: skip
    task = PACTask(0.1, 0.1, 2.0, 1.0, support=2, starts=1)
    source = EpisodeAccess(recurl.ModelEnv(model), task)
    rounds(source, 7, RobustIteration(task, (-1.0, 1.0)))
    seen = source.experience
    bad, good = (seen.pairs[p].total for p in seen.pairs_of[seen.state(0)])
    assert good > 3 * bad


class Short(EpisodeAccess):
    """Episodes whose plan is short."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.experience.size = lambda number, level: 40 * number + 1 if level == 1 else 10**9


def test_a_plan_is_played_until_it_is_fulfilled() -> None:
    source = Short(Gamble(), TASK, planned=True)
    source.seed_round()
    assert not source.complete(100)
    assert source.complete(10**5)
    assert [sum(pair.at_level) for pair in source.experience.pairs] == [41, 81, 121]


def test_rounds_do_not_repeat_their_draws() -> None:
    source, drawn = EpisodeAccess(Gamble(), TASK), []
    for most in (500, 1000):
        before = list(source.experience.pairs[0].counts) if source.experience.pairs else [0, 0]
        source.sample(None, 1.0, most)
        source.seed_round()
        source.play(most)
        counts = source.experience.pairs[0].counts
        drawn.append([new - old for new, old in zip(counts, before, strict=True)])
    assert drawn[0] != drawn[1]


def test_the_environment_by_hand_keeps_the_protocol() -> None:
    check_recursive_env(Gamble())


def test_every_pair_is_discovered_and_drawn_up_to_its_first_level() -> None:
    env = Gamble()
    source = Generative(env, TASK)
    rounds(source, 3)
    seen = source.experience
    assert sorted(seen.observations) == [0, 1, 2]
    assert [pair.level for pair in seen.pairs] == [1, 1, 1]
    assert source.samples == env.steps == 3 * level_size(1)
    assert {kind for pair in seen.pairs for kind, _, _ in pair.outcomes} == {"call", "exit"}


def test_then_samples_go_to_the_pair_that_matters() -> None:
    source = Generative(Gamble(), TASK)
    rounds(source, 3)
    rounds(source, 8, RobustIteration(TASK, (-1.0, 1.0)))
    totals = {pair.state: pair.total for pair in source.experience.pairs}
    assert totals[source.experience.state(0)] == max(totals.values()) > level_size(5)


def test_no_more_samples_than_allowed() -> None:
    env = Gamble()
    source = Generative(env, TASK)
    source.sample(None, 1.0, 20)
    assert source.samples == env.steps == 20


def test_an_environment_that_cannot_begin_anywhere_is_refused() -> None:
    source = Generative(Stubborn(p=0.9), TASK)
    source.seed_round()
    with pytest.raises(ProtocolError, match="episodes"):
        source.complete(1000)
