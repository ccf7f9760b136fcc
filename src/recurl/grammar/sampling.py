"""Strings drawn from a grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recurl.errors import LimitError
from recurl.grammar.grammar import Alternative, Grammar
from recurl.model.tables import Floats


def sample(
    grammar: Grammar,
    count: int = 1,
    seed: int = 0,
    *,
    choices: Mapping[str, str] | None = None,
    limit: int = 1_000_000,
) -> list[list[str]]:
    """Strings that a grammar writes, drawn at random.

    Args:
        grammar: The grammar.
        count: How many strings.
        seed: Seed of the draws; the same seed gives the same strings.
        choices: For nonterminals with several choices: which to take.
        limit: Most rules to apply for one string.

    Raises:
        LimitError: A string takes more rules.
        ValueError: A choice is missing.

    Example:
        >>> grammar = Grammar.read("S -> 'a' S 'b' [1/2] | 'c' [1/2]")
        >>> sample(grammar, 3, seed=1)
        [['c'], ['c'], ['a', 'c', 'b']]
    """
    random = np.random.default_rng(seed)
    picked = {head: grammar.alternatives(head, (choices or {}).get(head)) for head in grammar.rules}
    totals = {head: np.cumsum([float(rule.p) for rule in rules]) for head, rules in picked.items()}
    return [_string(grammar, picked, totals, random=random, limit=limit) for _ in range(count)]


def _string(
    grammar: Grammar,
    picked: Mapping[str, Sequence[Alternative]],
    totals: Mapping[str, Floats],
    *,
    random: np.random.Generator,
    limit: int,
) -> list[str]:
    """One string, its leftmost nonterminal rewritten first."""
    written: list[str] = []
    pending, applied = [grammar.start], 0
    while pending:
        symbol = pending.pop()
        if symbol not in picked:
            written.append(symbol)
            continue
        applied += 1
        if applied > limit:
            raise LimitError(f"a string takes more than {limit} rules: raise `limit`")
        index = int(np.searchsorted(totals[symbol][:-1], random.random(), side="right"))
        pending.extend(reversed(picked[symbol][index].symbols))
    return written
