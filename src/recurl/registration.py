"""The zoo in Gymnasium's registry: ``gymnasium.make("recurl/Cloud-v0")``."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

STEP_LIMITS: dict[str, int | None] = {
    "and_or": None,
    "battery": None,
    "battery_product": None,
    "brackets": None,
    "cloud": 200,
    "countdown": None,
    "epidemic": None,
    "frozen_lake": None,
    "gambler": None,
    "harvest": None,
    "language": None,
    "leaky_pfa": None,
    "letter_world": None,
    "office": None,
    "palindrome": None,
    "palindrome_product": None,
    "random_model": None,
    "spelunking": 200,
    "stack_matters": None,
    "succinct": None,
    "taxi": None,
}
"""After how many steps an episode of each model is cut: where the paper's experiments cut it."""


def environment_id(name: str) -> str:
    """Gymnasium's id of a zoo model.

    Example:
        >>> environment_id("stack_matters")
        'recurl/StackMatters-v0'
    """
    return f"recurl/{name.title().replace('_', '')}-v0"


def register_environments() -> None:
    """Register every model of the zoo; what is there already stays."""
    for name, limit in STEP_LIMITS.items():
        if environment_id(name) not in registry:
            register(
                environment_id(name),
                entry_point="recurl.zoo.environment:ZooEnv",
                max_episode_steps=limit,
                kwargs={"zoo_name": name},
            )
