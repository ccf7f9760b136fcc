"""From settings as people write them to a learner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from recurl.errors import UnknownNameError, UnknownSettingError
from recurl.learn import schedules
from recurl.learn.settings import DEFAULT_PRESET

if TYPE_CHECKING:
    from recurl.experiment.settings import Run
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP

SCHEDULES = {
    "constant": schedules.constant,
    "linear": schedules.linear,
    "exponential": schedules.exponential,
    "harmonic": schedules.harmonic,
    "power": schedules.power,
}
_CALL = re.compile(r"(\w+)\((.*)\)")


def algorithms() -> dict[str, str]:
    """Every algorithm, with the module and class that it stands for.

    Example:
        >>> sorted(algorithms())
        ['deep-rql', 'dqn', 'model-based', 'q', 'rql']
    """
    tabular, deep = "recurl.learn.tabular", "recurl.learn.deep.learner"
    return {
        "rql": f"{tabular}:RecursiveQLearning",
        "q": f"{tabular}:QLearning",
        "model-based": "recurl.learn.model_based.learner:ModelBasedRecursiveLearning",
        "deep-rql": f"{deep}:DeepRecursiveQLearning",
        "dqn": f"{deep}:DQN",
    }


def learner_class(algorithm: str) -> type[Learner]:
    """The class of an algorithm.

    Raises:
        UnknownNameError: The algorithm is unknown.
        MissingExtraError: It needs packages that are not installed.
    """
    import importlib

    if algorithm not in algorithms():
        raise UnknownNameError("algorithm", algorithm, algorithms())
    module, _, name = algorithms()[algorithm].partition(":")
    found: type[Learner] = getattr(importlib.import_module(module), name)
    return found


def make_learner(run: Run, model: RMDP) -> Learner:
    """The learner of a run, before its first step.

    Raises:
        UnknownSettingError: A setting is unknown.
        ValueError: A setting has a wrong value.
    """
    check_settings(run.method.algorithm, run.settings)
    make: Any = learner_class(run.method.algorithm)
    options = learner_options(run.settings)
    learner: Learner = make(model, seed=run.seed, **options)
    return learner


def check_settings(algorithm: str, settings: dict[str, Any]) -> None:
    """Refuse settings that an algorithm does not have, and values that they cannot take.

    Raises:
        UnknownSettingError: A setting is unknown.
        ValueError: A value is out of range.

    Example:
        >>> check_settings("rql", {"learning_rate": 0.1, "preset": "paper"})
        >>> check_settings("rql", {"alpha": 0.1})
        Traceback (most recent call last):
        recurl.errors.UnknownSettingError: rql has no setting 'alpha': did you mean
        learning_rate? Known: ...
    """
    known = {*learner_class(algorithm).settings_type.__struct_fields__, "preset"} - {"seed"}
    for name in settings:
        if name not in known:
            raise UnknownSettingError(algorithm, name, known)
    options = learner_options(settings)
    learner_class(algorithm).make_settings(options.pop("preset", DEFAULT_PRESET), options)


def learner_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with texts of schedules read.

    Example:
        >>> learner_options({"learning_rate": "harmonic(offset=10)", "quantum": 0.001})
        {'learning_rate': power(1, offset=10), 'quantum': 0.001}
    """
    return {name: _value(value) for name, value in settings.items()}


def preset_settings(algorithm: str, name: str | None) -> dict[str, Any]:
    """The settings of a preset of an algorithm, in texts and numbers; none if it is unknown.

    The default preset is meant if there is no name.

    Example:
        >>> preset_settings("rql", "swift")["exploration"]
        'linear(0.3, 0.1, fraction=0.5)'
    """
    chosen = learner_class(algorithm).presets.get(name or DEFAULT_PRESET, {})
    return {key: value if _is_plain(value) else str(value) for key, value in chosen.items()}


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str)) or value is None


def _value(value: Any) -> Any:
    found = _CALL.fullmatch(value.strip()) if isinstance(value, str) else None
    return read_schedule(found[1], found[2]) if found else value


def read_schedule(name: str, arguments: str) -> schedules.Schedule:
    """A schedule from its name and the text between its brackets.

    Example:
        >>> str(read_schedule("linear", "1, 0.1, 30_000"))
        'linear(1, 0.1, 30000, 1)'
        >>> read_schedule("harmonic", "offset=10")(visits=12)
        0.5
    """
    if name not in SCHEDULES:
        raise UnknownNameError("schedule", name, SCHEDULES)
    parts = [part.partition("=") for part in arguments.split(",") if part.strip()]
    try:
        plain = [float(key) for key, equals, _ in parts if not equals]
        named = {key.strip(): float(value) for key, equals, value in parts if equals}
        make: Any = SCHEDULES[name]
        schedule: schedules.Schedule = make(*plain, **named)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}({arguments}) is not a schedule: {error}") from error
    return schedule
