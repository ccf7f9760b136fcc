from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.learn.looks import looks


def test_by_index_every_vertex_has_a_row_of_its_own() -> None:
    model = recurl.zoo.spelunking()
    assert looks(model, "index", flat=True).tolist() == model.tables.action_start[:-1].tolist()


def test_by_features_states_share_a_row_as_the_rules_say() -> None:
    model = recurl.zoo.spelunking()
    has_actions = np.diff(model.tables.action_start) > 0
    assert model.features is not None
    states = {tuple(row) for row in model.features[has_actions].tolist()}
    for flat in (True, False):
        rows = looks(model, "features", flat=flat)[has_actions]
        # The level is a feature, so that no two components share a state.
        assert len(set(rows.tolist())) == len(states)


def test_components_share_rows_with_flat_learners_only() -> None:
    model = recurl.zoo.palindrome()
    both = [len(set(looks(model, "features", flat=flat).tolist())) for flat in (True, False)]
    assert both[0] <= both[1]


def test_what_cannot_be_seen_is_refused() -> None:
    with pytest.raises(ValueError, match="have no features"):
        looks(recurl.zoo.cloud(), "features", flat=True)
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
    model, path = recurl.zoo.spelunking(), tmp_path_factory.mktemp("looks") / "run.ckpt"
    settings = {"preset": "swift", "observation": "features", "episode_limit": 200}
    whole = recurl.RecursiveQLearning(model, **settings).learn(3_000)  # type: ignore[arg-type]
    half = recurl.RecursiveQLearning(model, **settings).learn(1_500)  # type: ignore[arg-type]
    half.save(path)
    rest = recurl.RecursiveQLearning.load(path, model).learn(1_500)
    np.testing.assert_array_equal(rest.engine.table.q, whole.engine.table.q)
