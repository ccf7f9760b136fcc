"""The compiled walk against the one that environments use."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import recurl
from recurl.learn.deep import simulator
from recurl.learn.deep.encoding import vertex_rows
from recurl.learn.deep.extract import greedy_policy
from recurl.learn.deep.model_engine import DeepModelEngine
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.deep.simulator import (
    ModelArrays,
    action_mask,
    begin,
    features_of,
    follow,
    is_over,
    model_arrays,
    model_sizes,
    outcome,
    overflows,
    restart,
    return_ports,
    top,
)
from recurl.model.tables import EXITS

MODELS = [recurl.zoo.cloud(), recurl.zoo.spelunking(), recurl.zoo.gambler()]


def world(model: recurl.RMDP) -> ModelArrays:
    return model_arrays(model.tables, vertex_rows(model, "features"))


def test_features_are_rows_or_made_one_hot() -> None:
    cloud, cave = recurl.zoo.cloud(), recurl.zoo.spelunking()
    assert (features_of(world(cloud), jnp.arange(24)) == np.eye(24)).all()
    assert (features_of(world(cave), jnp.arange(4)) == cave.features[:4]).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_outcomes_have_the_probabilities_of_the_model(model: recurl.RMDP) -> None:
    t, static = model.tables, model_sizes(model.tables, flat=False)
    widest = int(np.diff(t.transition_start).argmax())
    vertex = int(t.action_vertex[widest])
    action = widest - int(t.action_start[vertex])
    draws = jnp.asarray((np.arange(20_000) + 0.5) / 20_000, jnp.float32)
    one = partial(outcome, static, world(model), jnp.int32(vertex), jnp.int32(action))
    found = jax.jit(jax.vmap(one))(draws)
    begins, ends = t.transition_start[widest : widest + 2]
    for i in range(begins, ends):
        alike = [
            j for j in range(begins, ends)
            if (t.landing[j], t.move[j], t.move_box[j]) == (t.landing[i], t.move[i], t.move_box[i])
        ]  # fmt: skip
        same = np.asarray(found.landing == t.landing[i]) & np.asarray(found.move == t.move[i])
        same &= np.asarray(found.box == t.move_box[i])
        assert same.mean() == pytest.approx(t.prob[alike].sum(), abs=2e-4)


def test_boxes_whose_return_ports_look_alike_are_of_one_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = recurl.zoo.palindrome()
    arrays, t = world(model), model.tables
    kind = np.asarray(arrays.alike)
    # What was pushed is not seen after it is popped, only the letter below.
    np.testing.assert_array_equal(kind, t.box_owner)
    np.testing.assert_array_equal(kind[arrays.kinds], np.arange(t.n_components))
    ports, _ = return_ports(model_sizes(t, flat=False), arrays, jnp.arange(t.n_boxes))
    seen = np.asarray(arrays.features[ports])
    np.testing.assert_array_equal(seen, seen[np.asarray(arrays.kinds)[kind]])
    monkeypatch.setattr(simulator, "_MOST_COMPARED", t.n_boxes - 1)
    assert world(model).kinds.tolist() == list(range(t.n_boxes))


def test_a_run_follows_calls_and_returns() -> None:
    model = recurl.zoo.cloud()
    t, static, w = model.tables, model_sizes(model.tables, flat=False), world(model)
    place = begin(static, w, jnp.float32(0.5), 2)
    divide = outcome(static, w, place.vertex, jnp.int32(1), jnp.float32(0.5))
    inside = follow(w, place, divide, jnp.array([4.0, 0.0]))
    assert model.vertex_name(int(inside.vertex)) == "S.u3"
    assert (int(inside.height), inside.values.tolist()) == (1, [4, 0])
    again = outcome(static, w, inside.vertex, jnp.int32(1), jnp.float32(0.1))
    deeper = follow(w, inside, again, jnp.array([1.0, 2.0]))
    assert int(deeper.height) == 2
    assert bool(overflows(deeper, again))
    assert not bool(overflows(inside, again))
    leaves = outcome(static, w, deeper.vertex, jnp.int32(1), jnp.float32(0.9))
    assert int(leaves.move) == EXITS
    back = follow(w, deeper, leaves, top(deeper, leaves)[2])
    assert model.vertex_name(int(back.vertex)) == "S.b5.u4"
    assert (int(back.height), back.values.tolist()) == (1, [4, 0])
    assert not bool(is_over(back, leaves))
    mono = outcome(static, w, place.vertex, jnp.int32(0), jnp.float32(0.5))
    assert bool(is_over(place, mono))
    fresh = restart(deeper, w, jnp.float32(0.2))
    assert (int(fresh.height), fresh.values.tolist()) == (0, [0, 0])
    assert int(fresh.vertex) == t.starts[0]


def test_starts_are_drawn_and_masks_tell_of_actions() -> None:
    model = recurl.zoo.palindrome()
    t, static, w = model.tables, model_sizes(model.tables, flat=False), world(model)
    place = restart(begin(static, w, jnp.float32(0.0), 1), w, jnp.float32(0.0))
    found = [int(restart(place, w, jnp.float32(draw)).vertex) for draw in (np.arange(9) + 0.5) / 9]
    assert found == t.starts.tolist()
    cloud = recurl.zoo.cloud()
    one, two = cloud.find("T.b1.u4"), cloud.find("T.u1")
    small = model_sizes(cloud.tables, flat=False)
    masks = action_mask(small, world(cloud), jnp.array([one, two]))
    assert masks.tolist() == [[True, False], [True, True]]


def test_return_ports_are_as_wide_as_the_widest_component() -> None:
    model = recurl.zoo.cloud()
    t, static = model.tables, model_sizes(model.tables, flat=False)
    box = int(t.vertex_box[model.find("T.b1.u4")])
    ports, there = return_ports(static, world(model), jnp.int32(box))
    assert there.tolist() == [True, False]
    assert int(ports[0]) == model.find("T.b1.u4")
    assert model_sizes(t, flat=True).exits == 0


def test_many_episodes_have_the_mean_and_length_of_the_policy() -> None:
    settings = DeepSettings(hidden=(8,), batch=8, warm_up=20, evaluate_every=0)
    engine = DeepModelEngine(recurl.zoo.cloud(), settings, flat=False)
    engine.advance(200)
    exact = recurl.evaluate(greedy_policy(engine))
    returns, lengths, cut = engine.test(5_000, 10_000, 3)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - exact.value) < 4 * error + 1e-6
    assert abs(lengths.mean() - exact.steps) < 4 * lengths.std() / np.sqrt(len(lengths)) + 1e-6
    assert not cut.any()


def test_episodes_are_cut_at_the_limit_and_by_a_full_stack() -> None:
    model = recurl.zoo.countdown(p=0.01)
    settings = DeepSettings(hidden=(4,), batch=4, evaluate_every=0, stack_limit=5)
    engine = DeepModelEngine(model, settings, flat=False)
    _, lengths, cut = engine.test(500, 1000, 0)
    # The sixth call does not fit, and 0.99^6 of the episodes get so far.
    assert abs(cut.mean() - 0.99**6) < 0.03
    assert set(lengths[cut].tolist()) == {6}
    _, lengths, cut = engine.test(500, 3, 0)
    assert set(lengths[cut].tolist()) == {3}
    assert abs(cut.mean() - 0.99**3) < 0.03
