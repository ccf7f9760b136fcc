from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.env.encoding import encoding
from recurl.errors import ModelError, UnknownNameError


def test_index_is_the_number_of_the_vertex() -> None:
    space, encode = encoding(recurl.zoo.cloud(), "index")
    assert space == spaces.Discrete(24)
    assert [encode(v) for v in range(24)] == list(range(24))


def test_onehot_has_a_one_at_the_vertex() -> None:
    space, encode = encoding(recurl.zoo.gambler(), "onehot")
    rows = np.array([encode(v) for v in range(6)])
    np.testing.assert_array_equal(rows, np.eye(6, dtype=np.float32))
    assert all(row in space for row in rows)


def test_features_are_those_of_the_model_within_their_bounds() -> None:
    model = recurl.zoo.palindrome()
    space, encode = encoding(model, "features")
    assert isinstance(space, spaces.Box)
    assert space.shape == (len(model.feature_names),)
    assert model.features is not None
    for vertex in range(0, model.tables.n_vertices, 7):
        np.testing.assert_array_equal(encode(vertex), model.features[vertex].astype(np.float32))
        assert encode(vertex) in space


def test_a_feature_that_never_changes_still_has_a_range() -> None:
    model = (
        recurl.Builder()
        .features("always")
        .component("A", entries="in", exits="out")
        .at("in", features=[0]).action("go").to("out")
        .build()
    )  # fmt: skip
    space, _ = encoding(model, "features")
    assert isinstance(space, spaces.Box)
    assert (space.low < space.high).all()


def test_every_observation_is_an_object_of_its_own() -> None:
    for name in ("onehot", "features"):
        _, encode = encoding(recurl.zoo.palindrome(), name)
        first = encode(3)
        first[:] = 99
        assert encode(3).max() < 99


def test_features_that_the_model_has_not_are_an_error() -> None:
    with pytest.raises(ModelError, match="cloud: its vertices have no features"):
        encoding(recurl.zoo.cloud(), "features")


def test_an_unknown_encoding_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'onehot'\? Known: features, index"):
        encoding(recurl.zoo.cloud(), "one-hot")
