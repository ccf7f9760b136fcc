"""The zoo by name: its models, and how they are made from text."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recurl.errors import LimitError, UnknownNameError
from recurl.model.numbers import number_text
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.registration import zoo_names

LARGEST = 1_000_000
"""Most vertices of a model that is made by name: building more takes minutes and gigabytes."""

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def names() -> list[str]:
    """Names of all models, in alphabetical order.

    Example:
        >>> names()[:3]
        ['and_or', 'battery', 'battery_product']
    """
    return list(zoo_names())


def summary(name: str) -> str:
    """The summary of a model, in one line.

    Example:
        >>> summary("countdown")
        'Stop with probability p, else recurse and then count 1.'
    """
    return (inspect.getdoc(function_of(name)) or "").partition("\n")[0]


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a model and their defaults.

    Example:
        >>> parameters("palindrome")
        {'size': 3, 'corruption': 0.01, 'penalty': 'each'}
    """
    found = inspect.signature(function_of(name)).parameters
    return {key: parameter.default for key, parameter in found.items()}


def make(name: str, **values: Any) -> RMDP:
    """A model by name, with parameters as of its function.

    Raises:
        UnknownNameError: The model or a parameter is unknown.
        ValueError: A parameter has a wrong value.
        LimitError: The model would be too large; its function builds it all the same.

    Example:
        >>> make("gambler", p=0.25)
        <RMDP gambler: 1 component, 6 vertices, 1-exit, recursive>
    """
    known = parameters(name)
    for key in values:
        if key not in known:
            raise UnknownNameError(f"parameter of {name}", key, known)
    _check_size(name, known, values)
    return function_of(name)(**values)


def _check_size(name: str, known: dict[str, Any], values: dict[str, Any]) -> None:
    """Refuse a model that would be too large, before it is built."""
    module = _module(name)
    whole = all(isinstance(value, int) for key, value in values.items() if type(known[key]) is int)
    if not hasattr(module, "vertices") or not whole:
        return  # the model itself refuses what is not a whole number
    vertices, limit = module.vertices(**{**known, **values}), getattr(module, "LARGEST", LARGEST)
    if vertices > limit:
        given = ", ".join(f"{key}={value}" for key, value in values.items())
        raise LimitError(
            f"{name} with {given} is too large: about {vertices:,.0f} vertices, the limit is "
            f"{limit:,}; recurl.zoo.{name}({given}) builds it all the same, in Python"
        )


def make_from_text(name: str, assignments: Sequence[str] = ()) -> RMDP:
    """A model by name, with parameters written as ``key=value``.

    The type of the parameter says what a value may be: numbers (also ``1/3``), ``true`` or
    ``false``, text, or several of these separated by commas; matrices with names are written as
    ``NAME:ROW:ROW+NAME:ROW:ROW``.

    Example:
        >>> make_from_text("palindrome", ["size=2", "corruption=1/50"])
        <RMDP palindrome: 5 components, 259 vertices, multi-exit, recursive>
        >>> make_from_text("leaky_pfa", ["letters=swap:0,1:1,0+mix:1/2,1/2:1/2,1/2"])
        <RMDP leaky_pfa: 2 components, 18 vertices, multi-exit, recursive>
    """
    hints = typing.get_type_hints(function_of(name))
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals:
            raise ValueError(f"{assignment!r} is not a parameter of {name}: write it as key=value")
        if key not in parameters(name):
            raise UnknownNameError(f"parameter of {name}", key, parameters(name))
        if key in values:
            raise ValueError(f"{name}: {key} is given twice")
        values[key] = _value(f"{name}: {key}", text.strip(), hints[key])
    return make(name, **values)


def function_of(name: str) -> Callable[..., RMDP]:
    """The function that makes a model; its file is imported at the first use.

    Raises:
        UnknownNameError: The model is unknown.
    """
    function: Callable[..., RMDP] = getattr(_module(name), name)
    return function


def _module(name: str) -> Any:
    if name not in zoo_names():
        raise UnknownNameError("model", name, zoo_names())
    return importlib.import_module(f"recurl.zoo.models.{name}")


def _value(place: str, text: str, hint: Any) -> Any:
    """Text read as the type that a parameter asks for."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if hint == Number:
        return _read(place, text, number_text, "a number such as 3, 0.25 or 1/3")
    if origin is types.UnionType and types.NoneType in options:
        (other,) = (option for option in options if option is not types.NoneType)
        return None if text == "none" else _value(place, text, other)
    if origin is typing.Literal:
        known = {str(option): option for option in options}
        return _read(place, text, known.__getitem__, f"one of {', '.join(known)}")
    if origin is tuple:
        return _tuple(place, text.split(","), options)
    if origin is Mapping:
        return _matrices(place, text)
    if hint is bool:
        return _read(place, text.lower(), _WORDS.__getitem__, "true or false")
    if hint in (int, float, str):
        return _read(
            place, text, hint, {int: "a whole number", float: "a number"}.get(hint, "text")
        )
    raise ValueError(f"{place} cannot be written as text: make the model in Python")


def _tuple(place: str, parts: list[str], options: tuple[Any, ...]) -> tuple[Any, ...]:
    """Texts read as the types of a tuple; a last type of ... stands for any number of the first."""
    kinds = options[:1] * len(parts) if options[-1] is ... else options
    if len(parts) != len(kinds):
        raise ValueError(f"{place} must be {len(kinds)} values separated by commas")
    return tuple(_value(place, part.strip(), kind) for part, kind in zip(parts, kinds, strict=True))


def _matrices(place: str, text: str) -> dict[str, tuple[tuple[Number, ...], ...]]:
    """Texts such as ``a:0,1:1,0+b:1,0:0,1``: matrices by name, row by row."""
    found: dict[str, tuple[tuple[Number, ...], ...]] = {}
    for part in text.split("+"):
        name, *rows = part.split(":")
        if not name.strip() or not rows or name.strip() in found:
            raise ValueError(
                f"{place} must be NAME:ROW:ROW+NAME:ROW:ROW with new names, not {text!r}"
            )
        found[name.strip()] = tuple(_tuple(place, row.split(","), (Number, ...)) for row in rows)
    return found


def _read(place: str, text: str, reader: Callable[[str], Any], wanted: str) -> Any:
    try:
        return reader(text)
    except (KeyError, ValueError):
        raise ValueError(f"{place} must be {wanted}, not {text!r}") from None
