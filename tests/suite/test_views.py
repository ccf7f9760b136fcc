from __future__ import annotations

import numpy as np

from recurl.env.observation import exits_view
from recurl.suite.tasks import find_setting
from recurl.suite.views import EPISODE_LIMIT, image_rows, task_model, with_features


def test_an_image_shows_the_position_and_every_other_feature() -> None:
    setting = find_setting("battery-image-small")
    plain = task_model("battery", setting.parameters, "index")
    rows, shape = image_rows(plain)
    images = rows.reshape(-1, *shape)
    assert plain.features is not None
    at = plain.features[:, :2].astype(int)
    for image, (row, column) in zip(images, at, strict=True):
        assert image[0].sum() == 1
        assert image[0, row, column] == 1
    # Vertices look alike only if all their features are the same.
    looks = {row.tobytes() for row in rows}
    assert len(looks) == len(np.unique(plain.features, axis=0))


def test_the_environment_shows_bytes_and_announces_images() -> None:
    env = find_setting("palindrome-image-small").env()
    observation, _ = env.reset(seed=0)
    assert observation.dtype == np.uint8
    assert observation in env.observation_space
    *_, info = env.step(0)
    view = exits_view(env)
    assert view is not None
    assert all(one in env.observation_space for one in view(info["exits"]))


def test_vectors_tell_vertices_apart() -> None:
    model = find_setting("maze-vector-small").model()
    assert model.features is not None
    assert len(np.unique(model.features, axis=0)) == model.tables.n_vertices


def test_other_features_change_nothing_else() -> None:
    plain = find_setting("words-small").model()
    seen = with_features(plain, np.ones((plain.tables.n_vertices, 2)))
    assert seen.tables is plain.tables
    assert seen.fingerprint != plain.fingerprint


def test_episodes_are_cut() -> None:
    env = find_setting("cave-small").env()
    env.reset(seed=0)
    for _ in range(EPISODE_LIMIT):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated:
            env.reset()
            return
    assert truncated
