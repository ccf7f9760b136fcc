"""Rules as text: ``A -> B 'c' D [p] {reward} | ...``, and named choices: ``A ! name -> ...``.

Words are nonterminals, quoted ones terminals. Probabilities may be left out where all alternatives
are equally likely. ``#`` begins a comment, and an empty right side is the empty word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = re.compile(r"\s*([^\s!'\"|{}\[\]]+)\s*(?:!\s*([^'\"|{}\[\]]*?)\s*)?->(.*)", re.DOTALL)
_TOKEN = re.compile(
    r"\s*(?:'([^']*)'|\"([^\"]*)\"|\[([^\]]*)\]|\{([^}]*)\}|(\|)|([^\s'\"\[\]{}|]+))"
)


class Body(NamedTuple):
    """A right side as written: symbols, which of them are terminals, and numbers if given."""

    symbols: tuple[str, ...]
    terminal: tuple[bool, ...]
    p: str | None = None
    reward: str | None = None


class RuleLine(NamedTuple):
    """A rule as written: its head, its choice (``""`` if none is named), and the alternatives."""

    head: str
    choice: str
    bodies: list[Body]


def read_line(text: str) -> RuleLine:
    """One rule.

    Raises:
        ValueError: The text is not a rule.

    Example:
        >>> line = read_line("S -> 'a' S [0.4] {-1} | [0.6]")
        >>> line.head, line.bodies[0].symbols, line.bodies[1].p
        ('S', ('a', 'S'), '0.6')
    """
    match = _HEAD.fullmatch(text)
    if match is None:
        raise ValueError(f"{text.strip()!r} is not a rule: write HEAD -> SYMBOLS [probability]")
    return RuleLine(match[1], match[2] or "", read_bodies(match[3]))


def read_bodies(text: str) -> list[Body]:
    """Right sides, separated by bars.

    Example:
        >>> [body.symbols for body in read_bodies("A 'b' | ")]
        [('A', 'b'), ()]
    """
    bodies = [Body((), ())]
    text, at = text.rstrip(), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(
                f"{text[at:].strip()!r} is not a symbol: a quote or bracket is missing"
            )
        bodies[-1:] = _grown(bodies[-1], match)
        at = match.end()
    return bodies


def _grown(body: Body, match: re.Match[str]) -> list[Body]:
    """A body with one more token; a bar begins another body."""
    single, double, p, reward, bar, word = match.groups()
    if bar:
        return [body, Body((), ())]
    if p is not None or reward is not None:
        if body.p is not None and p is not None:
            raise ValueError(f"[{p}] is a second probability: separate alternatives by |")
        return [body._replace(p=p) if p is not None else body._replace(reward=reward)]
    quoted = single if single is not None else double
    if body.p is not None or body.reward is not None:
        raise ValueError(f"{quoted or word!r} follows a number: numbers come last")
    symbol = word if quoted is None else quoted
    symbols = (*body.symbols, symbol)
    return [body._replace(symbols=symbols, terminal=(*body.terminal, quoted is not None))]


def read_lines(text: str) -> list[RuleLine]:
    """The rules of a text, one per line; a line that begins with ``|`` continues the last one."""
    lines: list[RuleLine] = []
    for number, row in enumerate(text.splitlines(), 1):
        bare = _without_comment(row)
        if not bare.strip():
            continue
        if bare.lstrip().startswith("|") and lines:
            lines[-1].bodies.extend(read_bodies(bare.lstrip()[1:]))
        else:
            try:
                lines.append(read_line(bare))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return lines


def _without_comment(row: str) -> str:
    quote = ""
    for at, character in enumerate(row):
        if character == "#" and not quote:
            return row[:at]
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
    return row
