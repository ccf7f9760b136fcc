"""Discovered models have the values of what they were discovered in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recurl
from recurl.learn.pac.confidence import level_size
from recurl.learn.pac.empirical import empirical
from recurl.learn.pac.experience import Experience
from recurl.learn.pac.observed import with_probabilities
from recurl.model.rmdp import RMDP


def explored(env: Any, samples: int) -> Experience:
    """An experience after random play."""
    experience, random = Experience(env), np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    state = experience.begin(observation, info["action_mask"])
    for _ in range(samples):
        pair = int(random.choice(experience.pairs_of[state]))
        after = experience.record(pair, env.step(experience.pairs[pair].action))
        if after is None:
            observation, info = env.reset()
            after = experience.begin(observation, info["action_mask"])
        state = after
    return experience


def true_probabilities(found: RMDP, model: RMDP) -> np.ndarray:
    """Probabilities of the discovered transitions in the model they come from."""
    t, u = found.tables, model.tables
    prob = np.zeros(t.n_transitions)
    for a in range(t.n_actions):
        vertex = int(t.action_vertex[a])
        own = int(found.label(vertex))
        action = u.action_start[own] + (a - t.action_start[vertex])
        left = list(range(u.transition_start[action], u.transition_start[action + 1]))
        for i in range(t.transition_start[a], t.transition_start[a + 1]):
            match = next(j for j in left if u.reward[j] == t.reward[i])
            prob[i] = u.prob[match]
            left.remove(match)
    return prob


@pytest.mark.parametrize("seed", [1, 2])
def test_a_discovered_model_is_worth_the_same(seed: int) -> None:
    # Random rewards tell transitions apart.
    model = recurl.zoo.random_model(seed=seed, components=3, nodes=3, kind="one_exit")
    found = empirical(explored(recurl.ModelEnv(model), 10_000), support=4, starts=1)
    assert found.model.tables.n_vertices <= model.tables.n_vertices
    same = with_probabilities(found.model, true_probabilities(found.model, model))
    assert recurl.solve(same).value == pytest.approx(recurl.solve(model).value, abs=1e-6)


def test_states_not_stood_at_yet_have_a_place_holder() -> None:
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    experience = Experience(env)
    start = experience.begin(0, np.ones(1, np.int8))
    experience.call(experience.pairs_of[start][0], 1.0, start, [experience.state(4)])
    made = empirical(experience, support=1, starts=1)
    assert made.pair is not None
    assert made.pair.tolist() == [0, -1]
    assert made.support.tolist() == [1, 2]
    assert made.counts.tolist() == [0, 0]


def test_shares_of_delta_add_up_to_less_than_one() -> None:
    model = recurl.zoo.cloud(exits=1)
    made = empirical(explored(recurl.ModelEnv(model), 5000), support=2, starts=1)
    assert made.pair is not None
    first = np.unique(made.pair, return_index=True)[1]
    assert made.share[first].sum() < 1
    assert made.model.label(0) == "0"


def test_the_start_is_the_first_discovery_where_it_is_random() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=3, entries=2, kind="one_exit")
    experience = explored(recurl.ModelEnv(model), 3000)
    made = empirical(experience, support=3, starts=2)
    assert made.pair is not None
    assert made.starts is not None
    first = np.unique(made.pair, return_index=True)[1]
    level = experience.start.level
    assert made.starts.failure == pytest.approx(0.5 / (level * (level + 1)))
    assert made.share[first].sum() + 0.5 < 1
    shown = {int(made.model.label(v)) for v in made.starts.vertices.tolist()}
    assert made.starts.counts.sum() == level_size(level)
    assert set(made.model.tables.starts.tolist()) == set(made.starts.vertices.tolist())
    assert shown == set(model.tables.starts.tolist())
