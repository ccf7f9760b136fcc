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
from recurl.zoo.registry import make, make_from_text, names, parameters, summary
from recurl.zoo.spelunking import spelunking
from recurl.zoo.stack_matters import stack_matters
from recurl.zoo.succinct import succinct
from recurl.zoo.taxi import taxi

__all__ = [
    "and_or",
    "battery",
    "battery_product",
    "brackets",
    "cloud",
    "countdown",
    "epidemic",
    "frozen_lake",
    "gambler",
    "harvest",
    "language",
    "leaky_pfa",
    "letter_world",
    "make",
    "make_from_text",
    "names",
    "office",
    "palindrome",
    "palindrome_product",
    "parameters",
    "random_model",
    "spelunking",
    "stack_matters",
    "succinct",
    "summary",
    "taxi",
]
