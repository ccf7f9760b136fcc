"""The zoo by name: which models there are, and how they are made from text."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from recurl.errors import LimitError, UnknownNameError
from recurl.model.numbers import number_text
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.and_or import and_or
from recurl.zoo.battery import battery
from recurl.zoo.battery_product import battery_product
from recurl.zoo.brackets import brackets
from recurl.zoo.cloud import cloud
from recurl.zoo.countdown import countdown
from recurl.zoo.epidemic import epidemic
from recurl.zoo.frozen_lake import frozen_lake
from recurl.zoo.gambler import gambler
from recurl.zoo.harvest import harvest
from recurl.zoo.language import language
from recurl.zoo.leaky_pfa import leaky_pfa
from recurl.zoo.letter_world import letter_world
from recurl.zoo.office import office
from recurl.zoo.palindrome import palindrome
from recurl.zoo.palindrome_product import palindrome_product
from recurl.zoo.random_model import random_model
from recurl.zoo.spelunking import spelunking
from recurl.zoo.stack_matters import stack_matters
from recurl.zoo.succinct import succinct
from recurl.zoo.taxi import taxi

MODELS: dict[str, Callable[..., RMDP]] = {
    function.__name__: function
    for function in (
        and_or,
        taxi,
        palindrome_product,
        office,
        letter_world,
        language,
        harvest,
        frozen_lake,
        epidemic,
        brackets,
        battery_product,
        battery,
        cloud,
        countdown,
        gambler,
        leaky_pfa,
        palindrome,
        random_model,
        spelunking,
        stack_matters,
        succinct,
    )
}

LARGEST = 1_000_000
"""Most vertices of a model that is made by name: building more takes minutes and gigabytes."""

LARGEST_FROM_ARRAYS = 20_000_000
"""The same for ``random_model``, which is made without an object per vertex."""

_VERTICES: dict[str, Callable[[dict[str, Any]], float]] = {
    "letter_world": lambda given: 80 * given["patience"],
    "palindrome": lambda given: 75 * given["size"] ** 2,
    "palindrome_product": lambda given: 75 * given["size"] ** 2,
    "random_model": lambda given: 2 * given["components"] * given["nodes"],
    "succinct": lambda given: 6 * given["n"],
}
"""About how many vertices a model has, where that depends on parameters."""

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def names() -> list[str]:
    """Names of all models, in alphabetical order.

    Example:
        >>> names()[:3]
        ['and_or', 'battery', 'battery_product']
    """
    return sorted(MODELS)


def summary(name: str) -> str:
    """One line that says what a model is.

    Example:
        >>> summary("countdown")
        'Stop with probability p, else recurse and then count 1.'
    """
    return (inspect.getdoc(_function(name)) or "").partition("\n")[0]


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a model and their defaults.

    Example:
        >>> parameters("palindrome")
        {'size': 3, 'corruption': 0.01}
    """
    found = inspect.signature(_function(name)).parameters
    return {key: parameter.default for key, parameter in found.items()}


def make(name: str, **values: Any) -> RMDP:
    """A model by name, with parameters as of its function.

    Raises:
        UnknownNameError: There is no such model, or it has no such parameter.
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
    return _function(name)(**values)


def _check_size(name: str, known: dict[str, Any], values: dict[str, Any]) -> None:
    """Refuse a model that would be too large, before it is built."""
    whole = all(isinstance(value, int) for key, value in values.items() if type(known[key]) is int)
    if name not in _VERTICES or not whole:
        return  # what is no whole number is refused by the model itself
    vertices = _VERTICES[name]({**known, **values})
    limit = LARGEST_FROM_ARRAYS if name == "random_model" else LARGEST
    if vertices > limit:
        given = ", ".join(f"{key}={value}" for key, value in values.items())
        raise LimitError(
            f"{name} with {given} is too large: about {vertices:,.0f} vertices, the limit is "
            f"{limit:,}; recurl.zoo.{name}({given}) builds it all the same, in Python"
        )


def make_from_text(name: str, assignments: Sequence[str] = ()) -> RMDP:
    """A model by name, with parameters written as ``key=value``.

    What a value may be is said by the type of the parameter: numbers (also ``1/3``), ``true`` or
    ``false``, text, or several of these divided by commas.

    Example:
        >>> make_from_text("palindrome", ["size=2", "corruption=1/50"])
        <RMDP palindrome: 5 components, 259 vertices, multi-exit, recursive>
    """
    hints = typing.get_type_hints(_function(name))
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals:
            raise ValueError(f"{assignment!r} is no parameter of {name}: write it as key=value")
        if key not in parameters(name):
            raise UnknownNameError(f"parameter of {name}", key, parameters(name))
        if key in values:
            raise ValueError(f"{name}: {key} is given twice")
        values[key] = _value(f"{name}: {key}", text.strip(), hints[key])
    return make(name, **values)


def _function(name: str) -> Callable[..., RMDP]:
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return MODELS[name]


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
        raise ValueError(f"{place} must be {len(kinds)} values divided by commas")
    return tuple(_value(place, part.strip(), kind) for part, kind in zip(parts, kinds, strict=True))


def _read(place: str, text: str, reader: Callable[[str], Any], wanted: str) -> Any:
    try:
        return reader(text)
    except (KeyError, ValueError):
        raise ValueError(f"{place} must be {wanted}, not {text!r}") from None
