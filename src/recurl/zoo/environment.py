"""Zoo models as Gymnasium environments, made by name."""

from __future__ import annotations

from typing import Any

from recurl.env.model_env import ModelEnv
from recurl.zoo.registry import make, parameters


class ZooEnv(ModelEnv):
    """A zoo model as an environment; what ``gymnasium.make("recurl/...")`` makes.

    Only names and numbers go in, so that it can be made again in another process, as
    ``gymnasium.make_vec(..., vectorization_mode="async")`` does.

    Args:
        zoo_name: Name of the model in the zoo.
        observation: See `ModelEnv`.
        render_mode: See `ModelEnv`.
        masked: See `ModelEnv`.
        gamma: See `ModelEnv`.
        box_gamma: See `ModelEnv`.
        values: Parameters of the model.

    Example:
        >>> ZooEnv("gambler", p=0.25).model
        <RMDP gambler: 1 component, 6 vertices, 1-exit, recursive>
    """

    def __init__(
        self,
        zoo_name: str,
        observation: str = "index",
        render_mode: str | None = None,
        *,
        masked: str = "wrap",
        gamma: float = 1.0,
        box_gamma: float = 1.0,
        **values: Any,
    ) -> None:
        model = make(zoo_name, **values)
        rates = {"gamma": gamma, "box_gamma": box_gamma}
        super().__init__(model, observation, render_mode, masked=masked, **rates)
        self._maps = maps_of(zoo_name, **values)


def maps_of(zoo_name: str, **values: Any) -> str | dict[str, str] | None:
    """The text maps that a gridworld of the zoo is made from; None if there are none.

    Example:
        >>> maps_of("battery"), maps_of("spelunking", levels=("ox",))
        ('S..#/.#.T/C...', {'level0': 'ox'})
    """
    known = {**parameters(zoo_name), **values}
    if "levels" in known:
        return {f"level{i}": text for i, text in enumerate(known["levels"])}
    layout = known.get("layout")
    return layout if isinstance(layout, str) else None
