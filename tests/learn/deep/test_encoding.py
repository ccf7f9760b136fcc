from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.errors import ProtocolError
from recurl.learn.deep.encoding import known_exits, observation_encoder, vertex_rows


@pytest.mark.parametrize(
    ("space", "observation", "row"),
    [
        (spaces.Box(0, 1, (2, 2)), [[1, 2], [3, 4]], [1, 2, 3, 4]),
        (spaces.Discrete(3), 1, [0, 1, 0]),
        (spaces.Discrete(3, start=5), 7, [0, 0, 1]),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2]), [0, 1, 0, 0, 1]),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (
            spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(0, 9, (1,))}),
            {"a": np.array([4.0], np.float32), "b": 1},
            [4, 0, 1],
        ),
        (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), (0, 1), [1, 0, 0, 1]),
    ],
)
def test_observations_are_flattened(
    space: spaces.Space[Any], observation: Any, row: list[float]
) -> None:
    shape, dtype, encode = observation_encoder(space)
    found = encode(observation)
    assert found.dtype == np.dtype(dtype) == np.float32
    assert found.tolist() == row
    assert np.prod(shape) == len(row)


def test_images_keep_their_shape_and_their_bytes() -> None:
    shape, dtype, encode = observation_encoder(spaces.Box(0, 255, (2, 3, 1), np.uint8))
    assert (shape, dtype) == ((2, 3, 1), "uint8")
    assert encode(np.full((2, 3, 1), 200, np.uint8)).dtype == np.uint8


def test_observations_without_a_fixed_length_are_refused() -> None:
    with pytest.raises(ProtocolError, match="fixed length"):
        observation_encoder(spaces.Sequence(spaces.Discrete(2)))


def test_categories_are_one_hot_features_of_states() -> None:
    model = recurl.zoo.palindrome()
    rows = vertex_rows(model, "categories")
    states = rows[model.tables.states]
    # Row, column, phase, top and wrong; the goal is the same everywhere and says nothing.
    assert rows.shape[1] == 3 + 3 + 2 + 5 + 2
    assert (states.sum(axis=1) == 5).all()
    features = model.features
    assert features is not None
    assert (rows[:, :3].argmax(axis=1) == features[:, 0])[model.tables.states].all()


def test_a_model_without_features_is_seen_one_hot_and_no_matrix_is_made() -> None:
    model = recurl.zoo.cloud()
    for name in ("features", "categories", "onehot"):
        assert vertex_rows(model, name).tolist() == list(range(model.tables.n_vertices))


def test_environments_made_from_models_know_their_exits() -> None:
    assert known_exits(gym.make("recurl/Palindrome-v0")) == 18
    assert known_exits(gym.make_vec("recurl/Cloud-v0", 2, vectorization_mode="sync")) == 2
    assert known_exits(gym.make("CartPole-v1")) is None
