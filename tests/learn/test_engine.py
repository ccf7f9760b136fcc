"""What an engine makes of a model, and how it goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.learn import store_kernel as k
from recurl.learn.engine import ModelEngine, first_pairs
from recurl.learn.settings import make_settings


def engine(model: recurl.RMDP, preset: str = "paper", **given: Any) -> ModelEngine:
    return ModelEngine(model, make_settings(preset, given), False)


def test_starts_are_drawn_as_the_model_says() -> None:
    builder = recurl.Builder("two").component("A", entries=("a", "b"), exits="out")
    builder.at("a").action("go", reward=1).to("out").at("b").action("go", reward=5).to("out")
    one = engine(builder.build({"A.a": "1/4", "A.b": "3/4"}))
    one.advance(40_000)
    # Four standard errors are 0.035.
    assert one.tally[1] / one.tally[0] == pytest.approx(4.0, abs=0.035)


def test_a_restored_engine_stands_where_the_first_one_stood() -> None:
    model = recurl.zoo.cloud()
    one, two = engine(model, "swift"), engine(model, "swift")
    one.advance(3001)
    arrays = {name: array.copy() for name, array in one.arrays().items()}
    two.restore(one.header_fields(), arrays)
    assert (two.steps, two.episodes, two.n_contexts) == (3001, one.episodes, one.n_contexts)
    for other in (one, two):
        other.advance(2000)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, two.arrays()[name], name)


def test_rows_that_were_never_met_hold_the_initial_value() -> None:
    one = engine(recurl.zoo.cloud(), initial_value=-3.0)
    entry = one.model.find("S.u3")
    assert one.q_values(entry, -1).tolist() == [-3.0, -3.0]
    assert one.legal(entry, None) == [0, 1]
    assert one.greedy(0, one.model.find("T.u1"), None) == 0


def test_greedy_calls_enter_the_contexts_that_learning_made() -> None:
    one = engine(recurl.zoo.cloud(), "swift", episode_limit=200)
    one.advance(20_000)
    ports = [one.model.find("S.b4.u6"), one.model.find("S.b4.u7")]
    home = int(one.store.arrays["zero"][1])
    entered = one.enter(home, ports, one.model.find("H.u5"))
    hopes = np.array([one.q_values(port, home).max() for port in ports])
    expected = one.store.find(2, hopes)
    # Values move on after the last call: then the nearest context that was met is taken.
    assert entered == expected or expected == -1
    assert one.store.kind[entered] == 2


def restored(change: dict[str, Any]) -> None:
    """Restore a run of cloud with some arrays changed."""
    model = recurl.zoo.cloud()
    one, two = engine(model, "swift"), engine(model, "swift")
    one.advance(3001)
    arrays = {name: array.copy() for name, array in one.arrays().items()}
    for name, (place, value) in change.items():
        arrays[name][place] = value
    two.restore(one.header_fields(), arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"place": (k.VERTEX, 999)}, "stands where there is nothing"),
        ({"place": (k.CONTEXT, 999)}, "do not exist"),
        ({"log": ((0, 5), 10**6)}, "names what does not exist"),
        ({"log": ((1, slice(None)), 0)}, "contradicts itself"),
        ({"log": ((2, slice(None)), 2)}, "nothing can be done|mixes"),
        ({"log": ((3, slice(None)), 0)}, "mixes|nothing can be done"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    restored({})
    with pytest.raises(ValueError, match=message):
        restored(change)


def test_by_index_every_vertex_has_a_row_of_its_own() -> None:
    model = recurl.zoo.spelunking()
    assert (
        first_pairs(model, "index", flat=True).tolist() == model.tables.action_start[:-1].tolist()
    )


def test_by_features_states_share_a_row_as_the_rules_say() -> None:
    model = recurl.zoo.spelunking()
    has_actions = np.diff(model.tables.action_start) > 0
    assert model.features is not None
    states = {tuple(row) for row in model.features[has_actions].tolist()}
    for flat in (True, False):
        rows = first_pairs(model, "features", flat=flat)[has_actions]
        # The level is a feature, so that no two components share a state.
        assert len(set(rows.tolist())) == len(states)


def test_components_share_rows_with_flat_learners_only() -> None:
    model = recurl.zoo.palindrome()
    both = [len(set(first_pairs(model, "features", flat=flat).tolist())) for flat in (True, False)]
    assert both[0] <= both[1]


def test_what_cannot_be_seen_is_refused() -> None:
    with pytest.raises(ValueError, match="have no features"):
        first_pairs(recurl.zoo.cloud(), "features", flat=True)
    with pytest.raises(UnknownNameError, match="features"):
        recurl.QLearning(recurl.zoo.cloud(), observation="colour")


@pytest.mark.parametrize("kind", [recurl.QLearning, recurl.RecursiveQLearning])
def test_lookalikes_have_the_same_values(kind: type[recurl.QLearning]) -> None:
    model = recurl.zoo.spelunking()
    learner = kind(model, observation="features", learning_rate=0.2, episode_limit=200).learn(
        20_000
    )
    entry, node = "level0.r0c2", "level0.r0c2@r0c2"
    values = learner.q_values(entry)
    assert values is not None
    assert values.any()
    np.testing.assert_array_equal(values, learner.q_values(node))
    if learner.flat:  # a recursive policy names only what it comes to
        policy = learner.policy()
        assert policy.action_name(entry) == policy.action_name(node)


def test_a_saved_run_that_shares_rows_goes_on_as_if_never_stopped(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    model, path = recurl.zoo.spelunking(), tmp_path_factory.mktemp("shared") / "run.ckpt"
    settings = {"preset": "swift", "observation": "features", "episode_limit": 200}
    whole = recurl.RecursiveQLearning(model, **settings).learn(3_000)  # type: ignore[arg-type]
    half = recurl.RecursiveQLearning(model, **settings)  # type: ignore[arg-type]
    half.learn(1_500, budget=3_000).save(path)
    rest = recurl.RecursiveQLearning.load(path, model).learn(1_500)
    np.testing.assert_array_equal(rest.engine.store.q, whole.engine.store.q)
