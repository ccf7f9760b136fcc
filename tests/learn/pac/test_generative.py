"""Runs that begin at any state: environments learned without a model."""

from __future__ import annotations

import pytest
from tests.learn.pac.foreign import Gamble, Stubborn

from recurl.env.protocol import check_recursive_env
from recurl.errors import ProtocolError
from recurl.learn.pac.atlas import Atlas
from recurl.learn.pac.generative import Generative
from recurl.learn.pac.intervals import level_size
from recurl.learn.pac.look import Look
from recurl.learn.pac.one_exit import Task

TASK = Task(1.0, 0.1, 6.0, 1.0, support=2, starts=1)


def test_the_environment_by_hand_keeps_the_protocol() -> None:
    check_recursive_env(Gamble())


def test_every_pair_is_discovered_and_drawn_up_to_its_first_level() -> None:
    env = Gamble()
    atlas = Atlas(env)
    sampler = Generative(env, atlas, seed=1)
    for _ in range(3):
        sampler.more(None, 10**6)
    assert sorted(atlas.observations) == [0, 1, 2]
    assert [pair.level for pair in atlas.pairs] == [1, 1, 1]
    assert atlas.samples == env.steps == 3 * level_size(1)
    assert {kind for pair in atlas.pairs for kind, _, _ in pair.outcomes} == {"call", "exit"}


def test_then_samples_go_to_the_pair_that_matters() -> None:
    env = Gamble()
    atlas = Atlas(env)
    sampler = Generative(env, atlas, seed=1)
    for _ in range(3):
        sampler.more(None, 10**6)
    for _ in range(8):
        look = Look(atlas, TASK)
        look.tighten()
        sampler.more(look, 10**6)
    totals = {pair.state: pair.total for pair in atlas.pairs}
    assert totals[atlas.state(0)] == max(totals.values()) > level_size(5)


def test_no_more_samples_than_allowed() -> None:
    env = Gamble()
    atlas = Atlas(env)
    Generative(env, atlas, seed=1).more(None, 20)
    assert atlas.samples == env.steps == 20


def test_one_that_cannot_begin_anywhere_is_found_out() -> None:
    env = Stubborn(p=0.9)
    sampler = Generative(env, Atlas(env), seed=1)
    with pytest.raises(ProtocolError, match="episodes"):
        sampler.complete(1000)
