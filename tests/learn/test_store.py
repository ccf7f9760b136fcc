"""The store: growth, its limit and what it says then, checkpoints."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import recurl
from recurl.errors import LimitError
from recurl.learn import store_kernel as k
from recurl.learn.engine import model_store
from recurl.learn.env_engine import env_store
from recurl.learn.settings import make_settings
from recurl.learn.store import KEPT_STEPS, ContextStore


def cloud(preset: str = "paper", **given: Any) -> ContextStore:
    return model_store(recurl.zoo.cloud(), make_settings(preset, given), flat=False)


def test_it_grows_without_losing_anything() -> None:
    store, numbers = cloud(), []
    for i in range(1000):
        numbers.append(store.intern(2, np.array([0.0, i * 0.5])))
        store.arrays["q"][store.arrays["block"][numbers[-1]] + 10] = i
    assert len(set(numbers)) == 1000
    for i, number in enumerate(numbers):
        assert store.find(2, np.array([0.0, i * 0.5])) == number
        assert store.arrays["q"][store.arrays["block"][number] + 10] == i
        assert store.exit_values(number).tolist() == [0.0, i * 0.5]


def test_one_exit_models_have_one_context_per_component() -> None:
    learner = recurl.RecursiveQLearning(recurl.zoo.spelunking()).learn(20_000)
    assert learner.engine.n_contexts == 2


def test_the_limit_ends_the_run_with_the_store_intact() -> None:
    model = recurl.zoo.stack_matters()
    learner = recurl.RecursiveQLearning(model, quantum=0.0, replay=0, memory=200_000)
    with pytest.raises(LimitError, match="contexts") as caught:
        learner.learn(1_000_000)
    steps, contexts = learner.steps, learner.engine.n_contexts
    assert f"{contexts} contexts" in str(caught.value)
    assert learner.engine.store.nbytes <= 200_000
    assert recurl.evaluate(learner.policy()).value <= 43 / 55
    with pytest.raises(LimitError):
        learner.learn(10)
    assert learner.steps == steps
    quantum = float(re.findall(r"quantum of (\S+)", str(caught.value))[0])
    again = recurl.RecursiveQLearning(model, quantum=quantum, replay=0, memory=200_000)
    assert again.learn(steps).engine.n_contexts < 0.75 * contexts


def test_the_limit_holds_in_environments() -> None:
    env = recurl.ModelEnv(recurl.zoo.stack_matters())
    learner = recurl.RecursiveQLearning(env, quantum=0.0, replay=0, memory=100_000)
    with pytest.raises(LimitError, match=r"contexts .* quantum of"):
        learner.learn(100_000)
    assert learner.engine.store.nbytes <= 100_000


def test_values_that_explode_are_reported() -> None:
    builder = recurl.Builder("doubling").component("A", entries="in", exits="out")
    builder.box("b", "A").box("c", "A")
    builder.at("in").action("go", reward=1).to("b", "3/4").to("out", "1/4")
    builder.at("b.out").action("on").to("c").at("c.out").action("up").to("out")
    learner = recurl.RecursiveQLearning(builder.build(), learning_rate=0.2, episode_limit=1000)
    with pytest.raises(LimitError, match="finite"):
        learner.learn(10_000_000)
    assert np.isfinite(learner.engine.store.values).all()


def test_a_deep_stack_is_no_recursion_error() -> None:
    builder = recurl.Builder("deep").component("A", entries="in", exits="out").box("b", "A")
    builder.at("in").action("go", reward=-1).to("b", "99999/100000").to("out", "1/100000")
    builder.at("b.out").action("up").to("out")
    learner = recurl.RecursiveQLearning(builder.build(), learning_rate=0.001)
    with pytest.warns(UserWarning, match="no episode has ended"):
        learner.learn(1_000_000)
    assert len(learner.engine.store.arrays["frames"]) >= 2**14
    small = recurl.RecursiveQLearning(builder.build(), memory=20_000)
    with pytest.raises(LimitError, match="calls deep"):
        small.learn(1_000_000)


def test_fill_refuses_what_is_not_a_store() -> None:
    store = cloud()
    twice = np.array([0, 1, 1], np.int32)
    pairs = int(np.diff(store.arrays["first_pair"])[twice].sum())
    with pytest.raises(ValueError, match="twice"):
        store.fill(twice, np.zeros(3), np.zeros(pairs), np.zeros(pairs, np.int64))
    with pytest.raises(ValueError, match="first context"):
        store.fill(twice[1:2], np.zeros(1), np.zeros(3), np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="are not those"):
        store.fill(twice[:1], np.zeros(1), np.zeros(3), np.zeros(3, np.int64))


def test_kernels_find_every_context_after_growing() -> None:
    store = cloud()
    known: dict[tuple[int, ...], int] = {(0, 0): 0}
    for component, *values in np.random.default_rng(0).integers(0, (3, 30, 30), (2000, 3)).tolist():
        # Exit values are relative to the worst one.
        worth = (0, abs(values[0] - values[1])) if component == 2 else (0,)
        number = store.intern(component, np.array(worth, float))
        assert known.setdefault((component, *worth), number) == number
    assert store.n_contexts == len(known) > 20
    store.grow()
    for (component, *worth), number in known.items():
        assert store.find(component, np.array(worth, float)) == number
    newest = [max(n for (c, *_), n in known.items() if c == component) for component in range(3)]
    assert store.arrays["newest"].tolist() == newest
    chain = [newest[2]]
    while store.arrays["older"][chain[-1]] >= 0:
        chain.append(int(store.arrays["older"][chain[-1]]))
    assert chain == sorted((n for (c, *_), n in known.items() if c == 2), reverse=True)
    zero = [known[0, 0], known[1, 0], known.get((2, 0, 0), -1)]
    assert store.arrays["zero"].tolist() == zero


def test_boxes_with_more_exits_widen_an_environment_s_store() -> None:
    store = env_store(make_settings("paper", {}), flat=False)
    numbers = [store.intern(2, np.array([0.0, i])) for i in range(1, 5)]
    store.widen(20)
    wide = store.intern(20, np.arange(20.0))
    assert [store.find(2, np.array([0.0, i])) for i in range(1, 5)] == numbers
    assert store.find(20, np.arange(20.0)) == wide
    assert store.find(20, np.zeros(20)) == 0
    store.grow()
    assert store.exit_values(wide).tolist() == list(range(20))
    assert store.exit_values(numbers[-1]).tolist() == [0.0, 4.0]


def test_discounted_exit_values_are_not_shifted() -> None:
    store = cloud(gamma=0.9, quantum=0.5)
    context = store.intern(2, np.array([-3.1, -1.0]))
    assert store.exit_values(context).tolist() == [-3.0, -1.0]
    assert store.find(2, np.array([0.0, 2.0])) == -1
    zero = store.intern(2, np.zeros(2))
    assert store.find(2, np.array([-0.1, 0.1])) == zero


def test_numbers_are_the_settings() -> None:
    given = {"quantum": 0.25, "gamma": 0.5, "episode_limit": 7, "exploration": 0.2}
    settings = make_settings("swift", given)
    numbers = model_store(recurl.zoo.cloud(), settings, flat=True).arrays["numbers"]
    assert len(numbers) == k.NUMBERS_HELD
    places = [k.QUANTUM, k.GRAIN, k.REPLAY, k.INHERIT, k.FLAT, k.GAMMA, k.EPISODE_LIMIT]
    assert numbers[places].tolist() == [0.25, 8, 8, 50, 1, 0.5, 7]
    assert numbers[k.EXPLORATION + 1] == 0.2


def test_only_replay_keeps_a_log() -> None:
    assert len(cloud().arrays["log"]) == 1
    assert len(cloud("swift").arrays["log"]) == KEPT_STEPS


@pytest.mark.parametrize("subject", ["model", "env"])
def test_a_store_is_kept_whole(subject: str) -> None:
    model = recurl.zoo.cloud()
    env = model if subject == "model" else recurl.ModelEnv(model, "onehot")
    old, new = (recurl.RecursiveQLearning(env, preset="swift") for _ in range(2))
    old.learn(2000)
    kept = {name: array.copy() for name, array in old.engine.arrays().items()}
    new.engine.restore(old.engine.header_fields(), kept)
    assert new.engine.header_fields() == old.engine.header_fields()
    for name, array in old.engine.arrays().items():
        if subject == "model" or name not in {"place", "stack"}:
            np.testing.assert_array_equal(array, new.engine.arrays()[name], name)


def test_a_restored_store_has_room_for_what_contexts_inherit() -> None:
    env = recurl.ModelEnv(recurl.zoo.cloud())
    old, new = (recurl.RecursiveQLearning(env, preset="swift") for _ in range(2))
    old.learn(2000)
    new.engine.restore(old.engine.header_fields(), old.engine.arrays())
    used = [one.engine.store.arrays["used"] for one in (old, new)]
    assert used[0].tolist() == used[1].tolist()
    assert used[0][k.MORE_ROWS] > 10


@pytest.mark.parametrize(
    "change",
    [
        {"kind": np.array([9], np.int32)},
        {"q": np.zeros(1)},
        {"values": np.array([np.nan])},
        {"place": np.zeros(3, np.int64)},
        {"row_vertex": np.array([1], np.int32)},
        {"log": np.zeros((4, 2), np.int32)},
    ],
    ids=lambda change: str(*change),
)
def test_numbers_that_do_not_fit_are_refused(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"are not those|out of bounds|wrong|finite"):
        cloud().restore({**cloud().saved(), **change})
