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

if TYPE_CHECKING:  # type checkers see the functions where they are defined
    from collections.abc import Callable

    from recurl.model.rmdp import RMDP
    from recurl.zoo.models.and_or import and_or as and_or
    from recurl.zoo.models.battery import battery as battery
    from recurl.zoo.models.battery_product import battery_product as battery_product
    from recurl.zoo.models.brackets import brackets as brackets
    from recurl.zoo.models.cloud import cloud as cloud
    from recurl.zoo.models.countdown import countdown as countdown
    from recurl.zoo.models.epidemic import epidemic as epidemic
    from recurl.zoo.models.frozen_lake import frozen_lake as frozen_lake
    from recurl.zoo.models.gambler import gambler as gambler
    from recurl.zoo.models.harvest import harvest as harvest
    from recurl.zoo.models.language import language as language
    from recurl.zoo.models.leaky_pfa import leaky_pfa as leaky_pfa
    from recurl.zoo.models.letter_world import letter_world as letter_world
    from recurl.zoo.models.office import office as office
    from recurl.zoo.models.palindrome import palindrome as palindrome
    from recurl.zoo.models.palindrome_product import palindrome_product as palindrome_product
    from recurl.zoo.models.random_model import random_model as random_model
    from recurl.zoo.models.spelunking import spelunking as spelunking
    from recurl.zoo.models.stack_matters import stack_matters as stack_matters
    from recurl.zoo.models.succinct import succinct as succinct
    from recurl.zoo.models.taxi import taxi as taxi

__all__ = ["make", "make_from_text", "names", "parameters", "summary"]
__all__ += names()
__all__.sort()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., RMDP]:
        if name not in names():
            raise AttributeError(f"module 'recurl.zoo' has no attribute {name!r}")
        return function_of(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
