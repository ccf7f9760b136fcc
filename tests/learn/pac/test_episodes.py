"""Learning from episodes."""

from __future__ import annotations

from gymnasium.wrappers import TimeLimit
from tests.learn.pac.foreign import Gamble

import recurl
from recurl.learn.pac.atlas import Atlas
from recurl.learn.pac.episodes import Episodes
from recurl.learn.pac.look import Look
from recurl.learn.pac.one_exit import Task


def test_every_step_of_every_episode_is_a_sample() -> None:
    env = Gamble()
    atlas = Atlas(env)
    sampler = Episodes(env, atlas, seed=1)
    sampler.more(None, 10**6)
    assert atlas.samples == env.steps == 500
    sampler.more(None, 10**6)
    assert atlas.samples == env.steps == 700
    assert atlas.start.total == env.resets
    sampler.more(None, 800)
    assert atlas.samples == 800


def test_episodes_that_are_cut_begin_anew() -> None:
    env = TimeLimit(Gamble(p=0.49), 3)
    atlas = Atlas(env)
    Episodes(env, atlas, seed=1).more(None, 10**6)
    assert atlas.start.total >= 500 / 3


def test_runs_go_where_the_upper_bound_is_best() -> None:
    model = (
        recurl.Builder("choice")
        .component("A", entries="in", exits="out")
        .at("in").action("bad", reward=-1).to("out", 0.5).to("x", 0.5)
                 .action("good", reward=1).to("out", 0.5).to("x", 0.5)
        .at("x").action("up").to("out")
        .build()
    )  # fmt: skip
    env = recurl.ModelEnv(model)
    atlas, task = Atlas(env), Task(0.1, 0.1, 2.0, 1.0, support=2, starts=1)
    sampler, look = Episodes(env, atlas, seed=1), None
    for _ in range(7):
        sampler.more(look, 10**6)
        look = Look(atlas, task)
        look.tighten()
    bad, good = (atlas.pairs[p].total for p in atlas.pairs_of[atlas.state(0)])
    assert good > 3 * bad


def test_a_plan_is_played_until_it_is_fulfilled() -> None:
    env = Gamble()
    atlas = Atlas(env, lambda number, level: 40 * number + 1 if level == 1 else 10**9)
    sampler = Episodes(env, atlas, seed=1)
    assert not sampler.complete(100)
    assert sampler.complete(10**5)
    assert [sum(pair.looked) for pair in atlas.pairs] == [41, 81, 121]
