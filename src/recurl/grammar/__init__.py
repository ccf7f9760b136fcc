"""Stochastic grammars and branching decision processes.

Example:
    >>> import recurl
    >>> grammar = recurl.grammar.Grammar("walk", {"W": ["W W [0.4]", "[0.6]"]})
    >>> model = recurl.grammar.model_of(grammar, of="size")
    >>> round(recurl.solve(model).value, 6)
    5.0
"""

from __future__ import annotations

from recurl.grammar.document import load, loads
from recurl.grammar.grammar import Alternative, Grammar
from recurl.grammar.model import Termination, model_of, termination
from recurl.grammar.strings import inside, sample

__all__ = [
    "Alternative",
    "Grammar",
    "Termination",
    "inside",
    "load",
    "loads",
    "model_of",
    "sample",
    "termination",
]
