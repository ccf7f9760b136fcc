"""Checks of the arguments of public functions: unknown names, and values that are not numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from recurl.errors import UnknownSettingError

P = ParamSpec("P")
Result = TypeVar("Result")


def refuse_unknown(what: str, unknown: Iterable[str], known: Iterable[str]) -> None:
    """Answer unknown arguments, if there are any, with the one that is meant.

    Raises:
        UnknownSettingError: There are some.
    """
    for name in unknown:
        raise UnknownSettingError(what, name, known)


def require_numbers(**given: object) -> None:
    """Refuse arguments that are neither None nor a number.

    Raises:
        ValueError: One is not.
    """
    for name, value in given.items():
        if value is not None and (not isinstance(value, Real) or isinstance(value, bool)):
            raise ValueError(f"{name} must be a number, not {value!r}")


def require_gamma(gamma: float | None, name: str = "gamma") -> None:
    """Refuse a discount that is not a number in (0, 1].

    Raises:
        ValueError: It is not.
    """
    require_numbers(**{name: gamma})
    if gamma is None or not 0 < gamma <= 1:
        raise ValueError(f"{name} must be in (0, 1], not {gamma!r}")


def with_known_names(function: Callable[P, Result]) -> Callable[P, Result]:
    """Decorates a function or a method, whose unknown arguments are answered with those meant.

    Example:
        >>> @with_known_names
        ... def run(model, gamma=1.0):
        ...     return gamma
        >>> run(None, discount=0.9)
        Traceback (most recent call last):
        ...
        recurl.errors.UnknownSettingError: run has no setting 'discount': did you mean gamma?
        Known: gamma, model.
    """
    names = list(inspect.signature(function).parameters)
    owned = names[0] in ("self", "cls")
    known = names[1:] if owned else names

    @functools.wraps(function)
    def wrapped(*given: P.args, **named: P.kwargs) -> Result:
        unknown = [name for name in named if name not in known]
        if unknown:
            refuse_unknown(_title(function, given[0] if owned else None), unknown, known)
        return function(*given, **named)

    return wrapped


def _title(function: Callable[..., Any], owner: Any) -> str:
    """A function as messages call it; a method by its class, a constructor by the class alone."""
    name = function.__name__
    if owner is None:
        return name
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{kind.__name__}.{name}".removesuffix(".__init__")
