"""Strings of a grammar: their inside probabilities, and samples.

For `inside` the right sides are binarised. With n(A) the probability that A writes nothing and
U[A, B] that of becoming B and nothing else, the table over spans solves
``x = (I - U)^-1 (rules that write the span in two nonempty parts)``. This covers rules that write
nothing, unit rules, and cycles of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recurl.errors import LimitError
from recurl.grammar.grammar import Alternative, Grammar
from recurl.model.tables import Floats

_SWEEPS = 100_000


def inside(grammar: Grammar, string: str | Sequence[str]) -> float:
    """The probability that a stochastic grammar writes a string.

    Args:
        grammar: A grammar without choices.
        string: Terminals as a list, or as a text separated by blanks.

    Raises:
        ValueError: The grammar has choices, or a symbol is not one of its terminals.

    Example:
        Two trees write a a a:

        >>> grammar = Grammar.read("S -> S S [1/4] | 'a' [3/4]")
        >>> inside(grammar, "a a a") == 2 * (1 / 4) ** 2 * (3 / 4) ** 3
        True
    """
    if not grammar.plain:
        raise ValueError("the grammar has choices: what it writes depends on who chooses")
    words = string.split() if isinstance(string, str) else list(string)
    for word in words:
        if word not in grammar.terminals:
            raise ValueError(f"{word!r} is not a terminal of {grammar.name}")
    form = _Binary.of(grammar)
    if not words:
        return float(form.nothing[form.number[grammar.start]])
    return float(_chart(form, words)[0][len(words)][form.number[grammar.start]])


@dataclass(slots=True)
class _Binary:
    """Rules with at most two symbols; terminals are nonterminals that write themselves.

    Attributes:
        number: Numbers of the symbols.
        pairs: Rules A -> B C as rows (A, B, C), and their probabilities.
        nothing: Probability to write nothing.
        closure: (I - U)^-1, with U the steps from A to B and nothing else.
    """

    number: dict[str, int]
    pairs: np.ndarray
    weights: Floats
    nothing: Floats
    closure: Floats

    @classmethod
    def of(cls, grammar: Grammar) -> _Binary:
        number = {s: i for i, s in enumerate((*grammar.rules, *sorted(grammar.terminals)))}
        pairs: list[tuple[int, int, int]] = []
        weights: list[float] = []
        units: list[tuple[int, int, float]] = []
        empty: list[tuple[int, float]] = []
        for head in grammar.rules:
            for rule in grammar.alternatives(head):
                left, p, symbols = number[head], float(rule.p), [number[s] for s in rule.symbols]
                while len(symbols) > 2:  # A -> B rest, rest -> ...
                    rest = number[f"\0{len(number)}"] = len(number)
                    pairs.append((left, symbols[0], rest))
                    weights.append(p)
                    left, p, symbols = rest, 1.0, symbols[1:]
                if len(symbols) == 2:
                    pairs.append((left, symbols[0], symbols[1]))
                    weights.append(p)
                elif symbols:
                    units.append((left, symbols[0], p))
                else:
                    empty.append((left, p))
        return cls._closed(
            number, np.array(pairs, int).reshape(-1, 3), np.array(weights), units, empty
        )

    @classmethod
    def _closed(
        cls,
        number: dict[str, int],
        pairs: np.ndarray,
        weights: Floats,
        units: list[tuple[int, int, float]],
        empty: list[tuple[int, float]],
    ) -> _Binary:
        size = len(number)
        U, e = np.zeros((size, size)), np.zeros(size)
        for a, b, p in units:
            U[a, b] += p
        for a, p in empty:
            e[a] += p
        nothing = _least(pairs, weights, U, e)
        a, b, c = pairs.T
        silent = U.copy()
        np.add.at(silent, (a, b), weights * nothing[c])
        np.add.at(silent, (a, c), weights * nothing[b])
        closure: Floats = np.linalg.inv(np.eye(size) - silent).astype(np.float64)
        return cls(number, pairs, weights, nothing, closure)


def _least(pairs: np.ndarray, weights: Floats, units: Floats, empty: Floats) -> Floats:
    """The least solution of n = empty + U n + sum p n(B) n(C), by sweeps from 0."""
    a, b, c = pairs.T
    n = np.zeros(len(empty))
    for _ in range(_SWEEPS):
        new = empty + units @ n + np.bincount(a, weights * n[b] * n[c], len(n))
        if np.abs(new - n).max() < 1e-16:
            return new
        n = new
    return n


def _chart(form: _Binary, words: Sequence[str]) -> list[list[Floats]]:
    """Probabilities of all symbols to write each span, shorter spans first."""
    size, n = len(words), len(form.number)
    zero = np.zeros(n)
    chart = [[zero for _ in range(size + 1)] for _ in range(size + 1)]
    a, b, c = form.pairs.T
    for width in range(1, size + 1):
        for i in range(size - width + 1):
            j = i + width
            base = np.zeros(n)
            if width == 1:
                base[form.number[words[i]]] = 1.0
            for k in range(i + 1, j):
                both = form.weights * chart[i][k][b] * chart[k][j][c]
                base += np.bincount(a, both, n)
            chart[i][j] = form.closure @ base
    return chart


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
