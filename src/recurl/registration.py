"""The zoo in Gymnasium's registry: ``gymnasium.make("recurl/Cloud-v0")``.

Every file of `recurl.zoo.models` is a model. Its name and its step limit are read from the file
without running it: the package must import quickly, and most programs use few of the models.
"""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "zoo" / "models"
_LIMIT = re.compile(r"^STEP_LIMIT = (\d+)$", re.MULTILINE)


@cache
def step_limits() -> dict[str, int | None]:
    """The steps after which an episode of each model is truncated; None for never.

    Example:
        >>> step_limits()["cloud"], step_limits()["gambler"]
        (200, None)
    """
    return {
        name: _step_limit(finder, name) for finder, name, _ in pkgutil.iter_modules([str(_FOLDER)])
    }


def _step_limit(finder: object, name: str) -> int | None:
    source = finder.find_spec(name).loader.get_source(name)  # type: ignore[attr-defined]
    found = _LIMIT.search(source or "")
    return int(found[1]) if found else None


def zoo_names() -> tuple[str, ...]:
    """Names of all models, in alphabetical order."""
    return tuple(sorted(step_limits()))


def environment_id(name: str) -> str:
    """Gymnasium's id of a zoo model.

    Example:
        >>> environment_id("stack_matters")
        'recurl/StackMatters-v0'
    """
    return f"recurl/{name.title().replace('_', '')}-v0"


def register_environments() -> None:
    """Register every model of the zoo; what is there already stays.

    Importing the package does it, except in the command ``recurl``, most of whose verbs do without
    Gymnasium; there, whatever makes environments by their ids does it first.
    """
    from gymnasium.envs.registration import register, registry

    for name, limit in step_limits().items():
        if environment_id(name) not in registry:
            register(
                environment_id(name),
                entry_point="recurl.zoo.environment:ZooEnv",
                max_episode_steps=limit,
                kwargs={"zoo_name": name},
            )
