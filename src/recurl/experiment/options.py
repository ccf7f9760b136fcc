"""From settings as people write them to a learner."""

from __future__ import annotations

import re
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
        ValueError: A setting is unknown, or has a wrong value.
    """
    kind = learner_class(run.method.algorithm)
    options = learner_options(run.method.algorithm, run.settings)
    make: Any = kind
    known = {*kind.settings_type.__struct_fields__, "preset"}
    for name in options:
        if name not in known:
            raise UnknownNameError(f"setting of {run.method.algorithm}", name, known)
    learner: Learner = make(model, seed=run.seed, **options)
    return learner


def learner_options(algorithm: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings under the learner's own names, texts of schedules read.

    Example:
        >>> learner_options("rql", {"alpha": 0.02, "quantise": 0.001})
        {'step_size': 0.02, 'quantum': 0.001}
    """
    spelling = algorithms()[algorithm][1]
    return {spelling.get(name, name): _value(value) for name, value in settings.items()}


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
