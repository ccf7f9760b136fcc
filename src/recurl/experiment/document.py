"""Experiments that a YAML file describes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from recurl.errors import RecurlError
from recurl.experiment.options import check_settings, learner_class
from recurl.experiment.settings import Experiment, Method, ModelChoice
from recurl.model.document.events import UnreadableError
from recurl.model.document.tree import yaml_tree
from recurl.model.limits import LARGEST_NOTE, MOST_SEEDS, cut, read_text
from recurl.model.report import Report, shown

Found = TypeVar("Found")
MOST_STEPS = 10**15
MOST_SEED = 2**32 - 1
TOP = {"models", "methods", "seeds", "steps", "settings"}


class ExperimentError(RecurlError):
    """A file that describes no experiment; says where and why."""


def load_experiments(path: str | os.PathLike[str]) -> list[Experiment]:
    """The experiments of a file, one for each model.

    The keys of ``models`` are names; an entry is empty (the name is that of a zoo model), or has
    ``zoo`` and its ``parameters``, or ``file``; and ``steps`` where the budget differs. The keys of
    ``methods`` are names as well; an entry has an ``algorithm`` and the settings of its learner.
    ``seeds`` is a number or a list.

    Raises:
        ExperimentError: Something is missing, unknown or wrong.
    """
    return read_file(path, read_experiments)


def read_file(path: str | os.PathLike[str], read: Callable[[Any, Path], Found]) -> Found:
    """Something from a YAML file, whose errors name the file.

    Args:
        path: The file.
        read: Makes it of the tree of the file, in which every scalar is text, and its folder.

    Raises:
        ExperimentError: Something is missing, unknown or wrong.
    """
    file = Path(path)
    text = read_text(file, LARGEST_NOTE)
    report = Report()
    try:
        # Every scalar is text: YAML itself would read 1e5 as a text and `no` as a truth value.
        tree = yaml_tree(text, report)
        report.raise_any()
        return read(tree, file.parent)
    except UnreadableError as error:
        line = f"line {error.problem.line}: " if error.problem.line else ""
        raise ExperimentError(f"{file}: {line}{error.problem.message}") from None
    except (ValueError, TypeError, RecurlError) as error:
        raise ExperimentError(f"{file}: {cut(str(error))}") from error


def read_experiments(tree: Any, folder: Path = Path()) -> list[Experiment]:
    """The same from what a YAML reader made of the file.

    Example:
        >>> tree = {"models": {"cloud": ""}, "methods": {"flat": {"algorithm": "q"}},
        ...         "steps": "1e3", "seeds": "2"}
        >>> found = read_experiments(tree)[0]
        >>> found.name, found.steps, found.seeds
        ('cloud', 1000, (0, 1))
    """
    top = mapping(tree, "the file")
    if unknown := set(top) - TOP:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(TOP))}")
    for what in ("models", "methods"):
        if not mapping(top.get(what), what):
            raise ValueError(f"names no {what}: list them under {what}")
    methods = tuple(
        _method(plain(name, "method"), mapping(entry, f"method {name}"))
        for name, entry in mapping(top.get("methods"), "methods").items()
    )
    return [
        _experiment(
            plain(name, "model"), mapping(entry, f"model {name}"), methods, top=top, folder=folder
        )
        for name, entry in mapping(top.get("models"), "models").items()
    ]


def _experiment(
    name: str, entry: dict[str, Any], methods: tuple[Method, ...], *, top: Any, folder: Path
) -> Experiment:
    entry = dict(entry)
    steps = entry.pop("steps", top.get("steps"))
    if steps is None:
        raise ValueError(f"model {name}: say how many steps, here or for all models")
    made = Experiment(
        name=name,
        title=name,
        model=_model(name, entry, folder),
        methods=methods,
        steps=whole_number(steps, "steps", 1, MOST_STEPS),
        seeds=_seeds(top.get("seeds", "1")),
        settings=scalar(mapping(top.get("settings"), "settings")),
    )
    for run in made.runs():
        check_settings(run.method.algorithm, run.settings)
    return made


def _model(name: str, entry: dict[str, Any], folder: Path) -> ModelChoice:
    if isinstance(entry.get("file"), str):
        entry["file"] = str(folder / entry["file"])
    elif "zoo" not in entry:
        entry["zoo"] = name
    parameters = scalar(mapping(entry.pop("parameters", None), f"parameters of {name}"))
    for key, value in entry.items():
        if key not in ("zoo", "file"):
            raise ValueError(f"model {name}: unknown key {shown(key)}; zoo, parameters, file")
        if not isinstance(value, str):
            raise ValueError(f"model {name}: {key} is one name, not {shown(value)}")
    return ModelChoice(parameters=parameters, **entry)


def _method(name: str, entry: dict[str, Any]) -> Method:
    settings = scalar(dict(entry))
    algorithm = settings.pop("algorithm", "rql")
    learner_class(algorithm)
    return Method(name, algorithm, settings, label=settings.pop("label", name))


def _seeds(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        return tuple(range(whole_number(value, "seeds", 1, MOST_SEEDS)))
    return tuple(whole_number(seed, "a seed", 0, MOST_SEED) for seed in value)


def whole_number(value: Any, what: str, least: int, most: int) -> int:
    """A whole number within bounds; it may be written 1e5.

    Example:
        >>> whole_number("1e5", "steps", 1, 10**15)
        100000
    """
    try:
        number = Decimal(value)
    except (InvalidOperation, TypeError, ValueError):
        raise ValueError(f"{what}: {shown(value)} is not a whole number") from None
    if not number.is_finite() or not least <= number <= most or number % 1:
        raise ValueError(f"{what}: {shown(value)} is not a whole number from {least} to {most}")
    return int(number)


def plain(name: str, kind: str) -> str:
    """The name, if files can be named after it.

    Example:
        >>> plain("cloud-2", "model")
        'cloud-2'
    """
    if not re.fullmatch(r"[\w][\w .+-]*", name):
        raise ValueError(f"{kind} {shown(name)}: a name is made of letters, digits and . _ + -")
    return name


def mapping(value: Any, place: str) -> dict[str, Any]:
    """A mapping of names of a file; an entry that is left empty is one without names."""
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{place} must be a mapping of names, not {shown(value)}")
    return value


def scalar(value: Any) -> Any:
    """Texts read as what they look like: numbers, truth values, nothing, else text.

    Example:
        >>> scalar({"steps": "1e5", "hidden": ["64", "64"], "preset": "swift", "limit": "none"})
        {'steps': 100000.0, 'hidden': [64, 64], 'preset': 'swift', 'limit': None}
    """
    if isinstance(value, dict):
        return {key: scalar(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [scalar(inner) for inner in value]
    words = {"true": True, "false": False, "none": None, "null": None}
    if value in words:
        return words[value]
    for read in (int, float):
        try:
            return read(value)
        except ValueError:
            continue
    return value
