"""Named models, one file each: the paper's experiments, classics, and a random generator.

Each is a function that returns a model; `names` lists them, `make` makes one by name. The models
are the files of `recurl.zoo.models`, and each is imported when it is first used.

Example:
    >>> import recurl
    >>> recurl.zoo.cloud(exits=1) == recurl.zoo.make("cloud", exits=1)
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recurl.zoo.registry import function_of, make, make_from_text, names, parameters, summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from recurl.model.rmdp import RMDP

__all__ = ["make", "make_from_text", "names", "parameters", "summary"]
__all__ += names()
__all__.sort()


def __getattr__(name: str) -> Callable[..., RMDP]:
    if name not in names():
        raise AttributeError(f"module 'recurl.zoo' has no attribute {name!r}")
    return function_of(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
