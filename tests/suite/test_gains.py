"""Worths of episodes against the definition: all runs, with their probabilities, one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import proper_models

import recurl
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, EXITS
from recurl.policy import Policy
from recurl.suite.agents import SampledTrainee, played_episode
from recurl.suite.gains import PlayedEpisode, Reference, usual_actions
from recurl.suite.tasks import find_setting

Way = tuple[float, list[int], float, bool]
"""Probability, transitions and rewards of a run, and whether it ended."""


def runs(model: RMDP, limit: int) -> Iterator[Way]:
    """All runs of an agent whose choices depend on the number of steps; cut after some steps."""
    t = model.tables
    first = int(t.component_start[t.start_component])

    def more(vertex: int, stack: list[int], way: Way) -> Iterator[Way]:
        chance, path, earned, _ = way
        if len(path) == limit:
            yield way
            return
        actions = range(t.action_start[vertex], t.action_start[vertex + 1])
        weights = np.array([1 + (len(path) + k) % 3 for k in range(len(actions))], float)
        for action, share in zip(actions, weights / weights.sum(), strict=True):
            for i in range(t.transition_start[action], t.transition_start[action + 1]):
                p = chance * share * t.prob[i]
                after = p, [*path, i], earned + t.reward[i], False
                landing, boxes = int(t.landing[i]), stack
                if t.move[i] == CALLS:
                    boxes = [*stack, int(t.move_box[i])]
                elif t.move[i] == EXITS and not stack:
                    yield (*after[:3], True)
                    continue
                elif t.move[i] == EXITS:
                    landing, boxes = int(t.box_return[stack[-1]]) + landing, stack[:-1]
                yield from more(landing, boxes, after)

    for k, p in enumerate(t.start_prob.tolist()):
        if p > 0:
            yield from more(first + k, [], (p, [], 0.0, False))


def check_means(model: RMDP, reference: Reference, limit: int) -> None:
    found = [
        (p, reference.total(PlayedEpisode(path, ended)), earned)
        for p, path, earned, ended in runs(model, limit)
    ]
    chances, totals, rewards = np.array(found).T
    assert chances.sum() == pytest.approx(1)
    scale = 1 + np.abs(totals).max()
    assert chances @ totals == pytest.approx(chances @ rewards, abs=1e-9 * scale)


@pytest.mark.parametrize("limit", [1, 3, 6])
@pytest.mark.parametrize("name", ["cloud", "stack_matters", "leaky_pfa"])
def test_worths_and_rewards_have_the_same_mean(name: str, limit: int) -> None:
    model = recurl.zoo.make(name)
    check_means(model, Reference.usual(model), limit)
    check_means(model, Reference(Policy.uniform(model)), limit)


@settings(max_examples=40)
@given(proper_models(), st.integers(1, 4))
def test_so_do_they_in_random_models(model: RMDP, limit: int) -> None:
    check_means(model, Reference(Policy.uniform(model)), limit)


def test_choices_of_the_reference_gain_nothing() -> None:
    model = recurl.zoo.stack_matters()
    policy = Policy.stackless(model, usual_actions(recurl.solve(model).policy))
    reference = Reference(policy)
    env = recurl.ModelEnv(model)
    act = lambda seen, info, explore: int(policy.actions[seen])  # noqa: E731
    for seed in range(20):
        episode = played_episode(env, act, seed)
        assert episode.ended
        assert reference.total(episode) == pytest.approx(reference.value)
    assert reference.value == pytest.approx(recurl.evaluate(policy).value)


@pytest.mark.parametrize("name", ["epidemic-small", "fishery-small", "maze-2-small"])
def test_an_optimal_agent_with_a_memory_has_its_exact_worth(name: str) -> None:
    """The mean of the rewards of five episodes could be anything."""
    setting = find_setting(name)
    model = setting.model()
    policy = recurl.solve(model).policy
    assert policy is not None
    chosen = usual_actions(policy)

    class Optimal(SampledTrainee):
        def train(self, *given: object) -> None:
            raise AssertionError

        def test_episodes(self, seeds):  # type: ignore[no-untyped-def]
            act = lambda seen, info, explore: int(chosen[seen])  # noqa: E731
            return [played_episode(self.env, act, seed) for seed in seeds[:5]]

    worth = Optimal(setting, model, 0).worth()
    assert worth.note == "sampled: 5 episodes"
    assert setting.known.score(worth.value) == pytest.approx(1, abs=1e-5)


def episodes_at_random(model: RMDP, count: int) -> list[PlayedEpisode]:
    """Episodes of the uniform policy."""
    env, random = recurl.ModelEnv(model), np.random.default_rng(0)

    def act(seen: int, info: dict[str, np.ndarray], explore: bool) -> int:
        return int(random.choice(np.flatnonzero(info["action_mask"])))

    return [played_episode(env, act, seed) for seed in range(count)]


@pytest.mark.parametrize("name", ["words-small", "office-small", "maze-2-small"])
def test_worths_of_a_poor_policy_have_its_mean_and_differ_no_more_than_returns(name: str) -> None:
    setting = find_setting(name)
    model = setting.model()
    episodes = episodes_at_random(model, 2_000)
    worths = Reference.usual(model).worths(episodes)
    returns = np.array([model.tables.reward[one.transitions].sum() for one in episodes])
    assert worths.std() <= returns.std()
    error = worths.std() / np.sqrt(len(worths))
    assert abs(worths.mean() - np.mean(setting.known.uniform)) < 4 * error
