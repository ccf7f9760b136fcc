"""How agents see the models of the suite: by number, as vectors, as images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.env.model_env import ModelEnv
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    from recurl.model.tables import Floats

Observation = Literal["index", "vector", "image"]

EPISODE_LIMIT = 1_000
"""Steps after which an episode of training is cut; what a policy is worth is not cut."""

CONTINUOUS = 4
"""Numbers in the vector of a vertex that has no features."""

POSITION = ("row", "column")


def task_model(zoo: str, parameters: dict[str, Any], observation: Observation) -> RMDP:
    """A model of the zoo whose features are what agents observe.

    Vertices without features get random points as vectors; an image has the position
    on its first plane, and the level of every other feature on a separate plane.
    """
    from recurl.zoo.registry import make

    model = make(zoo, **parameters)
    if observation == "image":
        return with_features(model, image_rows(model)[0])
    if observation == "vector" and model.features is None:
        random = np.random.default_rng(0)
        return with_features(model, random.uniform(size=(model.tables.n_vertices, CONTINUOUS)))
    return model


def with_features(model: RMDP, rows: Floats) -> RMDP:
    """The same model with other features."""
    names = [f"f{i}" for i in range(rows.shape[1])]
    return RMDP(
        model.name,
        model.tables,
        model.names,
        exact=model.exact,
        features=rows,
        feature_names=names,
        labels=model.labels,
    )


def image_rows(model: RMDP) -> tuple[Floats, tuple[int, int, int]]:
    """The image of every vertex as a row of numbers from 0 to 1, and its planes, rows and columns.

    Example:
        >>> import recurl
        >>> rows, shape = image_rows(recurl.zoo.battery())
        >>> rows.shape, shape
        ((48, 48), (4, 3, 4))
    """
    assert model.features is not None
    names, features = model.feature_names, model.features
    row, column = (features[:, names.index(name)].astype(int) for name in POSITION)
    height, width = int(row.max()) + 1, int(column.max()) + 1
    others = [i for i, name in enumerate(names) if name not in POSITION]
    planes = np.zeros((len(features), 1 + len(others), height, width))
    planes[np.arange(len(features)), 0, row, column] = 1
    levels = features[:, others]
    span = np.ptp(levels, axis=0)
    planes[:, 1:] = ((levels - levels.min(axis=0)) / np.where(span > 0, span, 1))[..., None, None]
    return planes.reshape(len(features), -1), (1 + len(others), height, width)


class ImageView(gym.ObservationWrapper[Any, Any, Any]):
    """Rows of numbers from 0 to 1 seen as images of bytes.

    Args:
        env: An environment with vectors as observations.
        shape: Planes, rows and columns of the image.
    """

    def __init__(self, env: gym.Env[Any, Any], shape: tuple[int, int, int]) -> None:
        super().__init__(env)
        self._shape = shape
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)

    def observation(self, observation: Any) -> Any:
        """The image of a row."""
        return np.rint(255 * np.asarray(observation)).astype(np.uint8).reshape(self._shape)


def task_env(
    model: RMDP, observation: Observation, shape: tuple[int, int, int] | None = None
) -> gym.Env[Any, Any]:
    """A model as agents see it; episodes are cut after `EPISODE_LIMIT` steps."""
    env: gym.Env[Any, Any] = ModelEnv(model, "index" if observation == "index" else "features")
    if shape is not None:
        env = ImageView(env, shape)
    return gym.wrappers.TimeLimit(env, EPISODE_LIMIT)
