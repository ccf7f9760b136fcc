"""Problems as they are found: where, what, and a fix; all of them, but never more than fit a page.

A *path* is the list of keys that leads to a place in a document, such as
``("components", "S", "vertices", "u3", "fast")``; builders use the same paths.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from recurl.errors import ModelError, Problem

KeyPath = tuple[str | int, ...]

_MOST = 1000
_LONGEST_SHOWN = 60
# A search for close names takes about 5 us per known name: a second in all.
_COMPARISONS = 200_000
_OWNED = {"boxes": "box", "vertices": "vertex", "features": "vertex", "labels": "vertex"}


class Report:
    """Collects the problems of one model.

    Args:
        headline: What the error begins with.
    """

    def __init__(self, headline: str = "") -> None:
        self.problems: list[Problem] = []
        self._headline = headline
        self._comparisons = _COMPARISONS
        self._spoiled: set[KeyPath] = set()
        self._above_spoiled: set[KeyPath] = set()

    def add(
        self, path: Sequence[str | int], message: str, fix: str = "", *, line: int | None = None
    ) -> None:
        """Note a problem, unless it may follow from one of an earlier stage."""
        where = tuple(path)
        if self._follows(where):
            return
        self.problems.append(Problem(place_of(where), message, fix, where, line))
        if len(self.problems) == _MOST:
            more = Problem("", f"more problems were not looked for after {_MOST}")
            raise ModelError([*self.problems, more], headline=self._headline)

    def hint(self, name: str, known: Collection[str], otherwise: str) -> str:
        """A fix for an unknown name: the closest known one, if any is close."""
        self._comparisons -= len(known)
        close = difflib.get_close_matches(name, known, n=1) if self._comparisons > 0 else []
        return f"did you mean {shown(close[0])}?" if close else otherwise

    def end_stage(self) -> None:
        """From here on, be silent about what has a problem already, and about what contains it."""
        for problem in self.problems:
            path = problem.path
            self._spoiled.add(path)
            # Down to vertices; a component is too large a thing to be silent about.
            self._above_spoiled.update(path[:size] for size in range(4, len(path)))

    def _follows(self, path: KeyPath) -> bool:
        if not self._spoiled:
            return False
        inside = any(path[:size] in self._spoiled for size in range(1, len(path) + 1))
        return inside or path in self._above_spoiled

    def raise_any(self) -> None:
        """Raise a `ModelError` with all problems, if there are any."""
        if self.problems:
            raise ModelError(self.problems, headline=self._headline)


def shown(name: object) -> str:
    """A name as a message shows it: quoted, and cut if it is very long.

    Example:
        >>> shown("u3"), len(shown("x" * 1000))
        ("'u3'", 65)
    """
    text = str(name)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")


def place_of(path: Sequence[str | int]) -> str:
    """A path, in words.

    Example:
        >>> place_of(["components", "S", "vertices", "u3", "fast", "to", "u9"])
        'component S, vertex u3, action fast, target u9'
    """
    words = [_bare(key) for key in path]
    if len(words) < 2 or words[0] != "components":
        return ", ".join(words)
    place, rest = [f"component {words[1]}"], words[2:]
    if len(rest) > 1 and rest[0] in _OWNED:
        place.append(f"{_OWNED[rest[0]]} {rest[1]}")
        vertex, rest = rest[0] == "vertices", rest[2:]
        if vertex and rest:
            place.append(f"action {rest[0]}")
            target = rest[1:2] == ["to"] and len(rest) > 2
            rest = [f"target {rest[2]}", *rest[3:]] if target else rest[1:]
    return ", ".join(place + rest)


def _bare(key: str | int) -> str:
    """A key without quotes where it is an ordinary name."""
    text = str(key)
    ordinary = text.isprintable() and 0 < len(text) <= _LONGEST_SHOWN
    return text if ordinary else shown(text)
