"""From settings as people write them to a learner."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from recurl.errors import UnknownNameError
from recurl.learn import schedules

if TYPE_CHECKING:
    from recurl.experiment.settings import Run
    from recurl.learn.learner import Learner
    from recurl.model.rmdp import RMDP

TABULAR = {"alpha": "step_size", "epsilon": "exploration", "quantise": "quantum"}
DEEP = {"alpha": "learning_rate", "epsilon": "exploration"}
"""The paper's spelling of settings, and the learners' own."""

SCHEDULES = {
    "constant": schedules.constant,
    "linear": schedules.linear,
    "exponential": schedules.exponential,
    "harmonic": schedules.harmonic,
    "power": schedules.power,
}
_CALL = re.compile(r"(\w+)\((.*)\)")


def algorithms() -> dict[str, tuple[str, dict[str, str]]]:
    """Every algorithm: the module and class that it stands for, and the paper's spellings.

    Example:
        >>> sorted(algorithms())
        ['deep-rql', 'dqn', 'q', 'rql']
    """
    tabular, deep = "recurl.learn.tabular", "recurl.learn.deep.learner"
    return {
        "rql": (f"{tabular}:RecursiveQLearning", TABULAR),
        "q": (f"{tabular}:QLearning", TABULAR),
        "deep-rql": (f"{deep}:DeepRecursiveQLearning", DEEP),
        "dqn": (f"{deep}:DQN", DEEP),
    }


def learner_class(algorithm: str) -> type[Learner]:
    """The class of an algorithm.

    Raises:
        UnknownNameError: There is no such algorithm.
        MissingExtraError: It needs packages that are not installed.
    """
    import importlib

    if algorithm not in algorithms():
        raise UnknownNameError("algorithm", algorithm, algorithms())
    module, _, name = algorithms()[algorithm][0].partition(":")
    found: type[Learner] = getattr(importlib.import_module(module), name)
    return found


def make_learner(run: Run, model: RMDP) -> Learner:
    """The learner of a run, before its first step.

    Raises:
        UnknownNameError: A setting is unknown.
        ValueError: A setting has a wrong value.
    """
    check_settings(run.method.algorithm, run.settings)
    make: Any = learner_class(run.method.algorithm)
    options = learner_options(run.method.algorithm, run.settings)
    learner: Learner = make(model, seed=run.seed, **options)
    return learner


def check_settings(algorithm: str, settings: Iterable[str]) -> None:
    """Refuse names that are no settings of an algorithm.

    Example:
        >>> check_settings("rql", ["alpha", "preset"])
        >>> check_settings("rql", ["alhpa"])
        Traceback (most recent call last):
        recurl.errors.UnknownNameError: Unknown setting of rql 'alhpa'. Did you mean 'alpha'? ...
    """
    spelling = algorithms()[algorithm][1]
    fields = set(learner_class(algorithm).settings_type.__struct_fields__)
    known = (fields | set(spelling) | {"preset"}) - {"seed"}
    for name in settings:
        if name not in known:
            raise UnknownNameError(f"setting of {algorithm}", name, known)


def learner_options(algorithm: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings under the learner's own names, texts of schedules read.

    Example:
        >>> learner_options("rql", {"alpha": 0.02, "quantise": 0.001})
        {'step_size': 0.02, 'quantum': 0.001}
    """
    spelling = algorithms()[algorithm][1]
    return {spelling.get(name, name): _value(value) for name, value in settings.items()}


def preset_settings(algorithm: str, name: str | None) -> dict[str, Any]:
    """What a preset of an algorithm stands for, in texts and numbers; nothing if it is unknown.

    Example:
        >>> preset_settings("rql", "swift")["exploration"]
        '0.1'
    """
    import importlib

    if not name:
        return {}
    # The presets of a learner stand beside its settings.
    module = importlib.import_module(learner_class(algorithm).settings_type.__module__)
    chosen = module.PRESETS.get(name, {})
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
        raise ValueError(f"{name}({arguments}) is no schedule: {error}") from error
    return schedule
