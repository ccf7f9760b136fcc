"""Named models, one file each: the paper's experiments, classics, and a random generator.

Each is a function that returns a model; `names` lists them, `make` makes one by name.

Example:
    >>> import recurl
    >>> recurl.zoo.cloud(exits=1) == recurl.zoo.make("cloud", exits=1)
    True
"""

from __future__ import annotations

from recurl.zoo.and_or import and_or
from recurl.zoo.battery import battery
from recurl.zoo.cloud import cloud
from recurl.zoo.countdown import countdown
from recurl.zoo.gambler import gambler
from recurl.zoo.leaky_pfa import leaky_pfa
from recurl.zoo.palindrome import palindrome
from recurl.zoo.random_model import random_model
from recurl.zoo.registry import make, make_from_text, names, parameters, summary
from recurl.zoo.spelunking import spelunking
from recurl.zoo.stack_matters import stack_matters
from recurl.zoo.succinct import succinct

__all__ = [
    "and_or",
    "battery",
    "cloud",
    "countdown",
    "gambler",
    "leaky_pfa",
    "make",
    "make_from_text",
    "names",
    "palindrome",
    "parameters",
    "random_model",
    "spelunking",
    "stack_matters",
    "succinct",
    "summary",
]
