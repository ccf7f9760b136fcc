"""Guards: propositional formulas over labels, parsed by hand and never evaluated as code.

```
formula  = conjunct { "|" conjunct }
conjunct = literal { "&" literal }
literal  = "!" literal | "(" formula ")" | "True" | "False" | label
label    = a word, or any text in single or double quotes
```

``and``, ``or``, ``not`` may be written for ``&``, ``|``, ``!``, and ``true``, ``false`` in lower
case.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:([!&|()])|'([^']*)'|\"([^\"]*)\"|([^\s!&|()'\"]+))")
_WORDS = {"and": "&", "or": "|", "not": "!"}
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False}
_DEEPEST = 100
_MOST_DECISIONS = 2000


@dataclass(frozen=True, slots=True)
class Guard:
    """A formula: ``kind`` is ``label``, ``constant``, ``not``, ``and`` or ``or``.

    Example:
        >>> guard = parse_guard("a & !b | c")
        >>> guard.holds({"a"}), guard.holds({"a", "b"}), guard.holds({"b", "c"})
        (True, False, True)
        >>> str(guard), sorted(guard.labels)
        ('a & !b | c', ['a', 'b', 'c'])
    """

    kind: str
    label: str = ""
    parts: tuple[Guard, ...] = ()
    value: bool = True

    def holds(self, true: Collection[str]) -> bool:
        """Whether the formula holds where exactly these labels are true."""
        if self.kind == "label":
            return self.label in true
        if self.kind == "constant":
            return self.value
        if self.kind == "not":
            return not self.parts[0].holds(true)
        return (all if self.kind == "and" else any)(part.holds(true) for part in self.parts)

    @property
    def labels(self) -> frozenset[str]:
        """The labels in the formula."""
        if self.kind == "label":
            return frozenset([self.label])
        return frozenset().union(*(part.labels for part in self.parts))

    def __str__(self) -> str:
        if self.kind == "label":
            return self.label if _is_plain(self.label) else f"'{self.label}'"
        if self.kind == "constant":
            return str(self.value)
        shown = [part._bracketed(self.kind) for part in self.parts]
        return (
            f"!{shown[0]}"
            if self.kind == "not"
            else {"and": " & ", "or": " | "}[self.kind].join(shown)
        )

    def _bracketed(self, above: str) -> str:
        loose = self.kind == "or" or (self.kind == "and" and above == "not")
        return f"({self})" if loose and above != "or" else str(self)


def parse_guard(text: str) -> Guard:
    """Read a formula.

    Raises:
        ValueError: The text is not a formula; the message says why.

    Example:
        >>> str(parse_guard("not (a or b)"))
        '!(a | b)'
    """
    return _Parser(text).parse()


class _Parser:
    """Recursive descent over the tokens of one text; labels in quotes are marked by a space."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens = _tokens(text)

    def parse(self) -> Guard:
        guard = self._formula()
        if self.at < len(self.tokens):
            raise self._error(f"{self.tokens[self.at].strip()!r} is not expected there")
        return guard

    def _formula(self) -> Guard:
        return self._chain("|", "or", lambda: self._chain("&", "and", self._literal))

    def _chain(self, sign: str, kind: str, part) -> Guard:  # type: ignore[no-untyped-def]
        parts = [part()]
        while self._next() == sign:
            self.at += 1
            parts.append(part())
        return parts[0] if len(parts) == 1 else Guard(kind, parts=tuple(parts))

    def _literal(self) -> Guard:
        token = self._next()
        self.at += 1
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error("it is nested too deep")
        try:
            return self._after(token)
        finally:
            self.depth -= 1

    def _after(self, token: str | None) -> Guard:
        if token == "!":
            return Guard("not", parts=(self._literal(),))
        if token == "(":
            inner = self._formula()
            if self._next() != ")":
                raise self._error("a bracket is not closed")
            self.at += 1
            return inner
        if token is None or token in ("&", "|", ")"):
            raise self._error("a label is missing" + (f" before {token!r}" if token else ""))
        if token in _CONSTANTS:
            return Guard("constant", value=_CONSTANTS[token])
        return Guard("label", token.lstrip(" "))

    def _next(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _error(self, reason: str) -> ValueError:
        return ValueError(f"the guard {self.text!r} is not a formula: {reason}")


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"the guard {text!r} is not a formula: a quote is not closed")
        sign, single, double, word = match.groups()
        quoted = single if single is not None else double
        found.append(sign or (_WORDS.get(word, word) if quoted is None else " " + quoted))
        at = match.end()
    return found


def _is_plain(label: str) -> bool:
    match = _TOKEN.fullmatch(label)
    reserved = label in _WORDS or label in _CONSTANTS
    return bool(match and match[4] == label and not reserved)


def overlap(
    first: Guard, second: Guard, exclusive: Iterable[Collection[str]] = ()
) -> frozenset[str] | None:
    """Labels that make both guards hold, or None if there are none.

    Args:
        first: A guard.
        second: Another.
        exclusive: Groups of labels of which at most one is true at a time.

    Raises:
        ValueError: The search for such labels takes too long.

    Example:
        >>> sorted(overlap(parse_guard("a"), parse_guard("!b")))
        ['a']
        >>> overlap(parse_guard("a"), parse_guard("b"), [("a", "b")]) is None
        True
    """
    groups = [frozenset(group) for group in exclusive]
    pending = [(_joined("and", [_normal(first), _normal(second)]), frozenset[str]())]
    for _ in range(_MOST_DECISIONS):
        if not pending:
            return None
        guard, true = pending.pop()
        if guard.kind != "constant":
            pending += [_decide(guard, true, values, groups) for values in _branches(guard)]
        elif guard.value:
            return true
    raise ValueError(f"{first} and {second} are too complex to be compared")


Values = list[tuple[str, bool]]


def _branches(guard: Guard) -> list[Values]:
    """Values of labels, one of which must hold: those of literals if there are any."""
    parts = guard.parts if guard.kind == "and" else (guard,)
    literals = [_literal(part) for part in parts if part.kind in ("label", "not")]
    if literals:
        return [literals]
    while guard.kind in ("and", "or"):
        guard = min(guard.parts, key=lambda part: len(part.parts))
    label, _ = _literal(guard)
    return [[(label, True)], [(label, False)]]


def _literal(guard: Guard) -> tuple[str, bool]:
    """A label and the value for which a literal holds."""
    return (guard.label, True) if guard.kind == "label" else (guard.parts[0].label, False)


def _decide(
    guard: Guard, true: frozenset[str], values: Values, exclusive: list[frozenset[str]]
) -> tuple[Guard, frozenset[str]]:
    """A guard after some labels were decided, and the labels that are true by then."""
    new = {label for label, value in values if value}
    if any(len(new & group) > 1 for group in exclusive):
        return Guard("constant", value=False), true
    others = {other for group in exclusive if new & group for other in group}
    return _simplified(guard, {**dict.fromkeys(others, False), **dict(values)}), true | new


def _normal(guard: Guard, negated: bool = False) -> Guard:
    """The guard, or its negation, with negations at labels only."""
    if guard.kind == "label":
        return Guard("not", parts=(guard,)) if negated else guard
    if guard.kind == "constant":
        return Guard("constant", value=guard.value != negated)
    if guard.kind == "not":
        return _normal(guard.parts[0], not negated)
    kind = guard.kind if not negated else "or" if guard.kind == "and" else "and"
    return _joined(kind, [_normal(part, negated) for part in guard.parts])


def _joined(kind: str, parts: Iterable[Guard]) -> Guard:
    """A conjunction or disjunction, simplified where parts are constant."""
    kept: list[Guard] = []
    for part in parts:
        if part.kind != "constant":
            kept += part.parts if part.kind == kind else [part]
        elif part.value != (kind == "and"):
            return part
    if len(kept) < 2:
        return kept[0] if kept else Guard("constant", value=kind == "and")
    return Guard(kind, parts=tuple(kept))


def _simplified(guard: Guard, values: dict[str, bool]) -> Guard:
    """A guard in normal form, given the truth of some labels."""
    if guard.kind == "label":
        return guard if (v := values.get(guard.label)) is None else Guard("constant", value=v)
    if guard.kind == "not":
        inner = _simplified(guard.parts[0], values)
        return Guard("constant", value=not inner.value) if inner.kind == "constant" else guard
    return _joined(guard.kind, [_simplified(part, values) for part in guard.parts])
