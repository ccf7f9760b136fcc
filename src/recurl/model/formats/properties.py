"""Properties as others write them, turned into questions of ours.

``Pmax=? [ F "done" ]`` and ``Pmin=? [ "safe" U "done" ]`` ask for a probability to leave by an
exit, ``Rmin=? [ F "done" ]`` for a reward until the goal, ``Tmin=? [ F "done" ]`` for steps. Every
other operator is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

import numpy as np

from recurl.errors import PropertyError, UnknownNameError
from recurl.model.limits import DEEPEST
from recurl.model.report import shown

_FORM = re.compile(
    r"\s*(?P<letter>[A-Z]+)\s*(?:\{\s*\"(?P<name>[^\"]*)\"\s*\})?\s*(?P<way>max|min)?"
    r"\s*(?:\{\s*\"(?P<late>[^\"]*)\"\s*\})?\s*=\s*\?\s*\[(?P<body>.*)\]\s*",
    re.DOTALL,
)
_TOKEN = re.compile(r'\s*("[^"]*"|[!&|()]|=>|true\b|false\b)')
_LETTERS = {"P": "a probability", "R": "a reward", "T": "time, in steps"}
_REFUSED = {
    "S": "steady-state probabilities (S)",
    "LRA": "long-run averages (LRA)",
    "X": "next (X)",
    "G": "globally (G)",
    "W": "weak until (W)",
    "R": "release (R)",
    "C": "cumulative reward (C)",
    "I": "instantaneous reward (I)",
}
KNOWN = (
    'known: Pmax, Pmin with F and U; Rmax, Rmin and Tmax, Tmin with F, as in Pmax=? [ F "done" ]'
)


class Property(NamedTuple):
    """A property as a question.

    Attributes:
        objective: ``"max"`` or ``"min"``; empty if the property does not say.
        of: ``"exit:goal"``, ``"reward"`` or ``"steps"``, as `recurl.solve` takes it.
        rewards: Name of the reward structure, if one is named.
        goal: States to reach, as an expression.
        stay: States to stay in until then, as an expression, if there are such.
    """

    objective: str
    of: str
    rewards: str | None
    goal: str
    stay: str | None

    @property
    def endless(self) -> str | None:
        """The worth of a run that misses the goal, as `recurl.solve` takes it."""
        return None if self.of.startswith("exit:") else "inf"


def asked(text: str) -> Property:
    """The question of a property.

    Raises:
        PropertyError: It is another kind of property.

    Example:
        >>> asked('R{"cost"}min=? [ F "done" ]')
        Property(objective='min', of='reward', rewards='cost', goal='"done"', stay=None)
    """
    match = _FORM.fullmatch(text)
    if match is None:
        _refuse(text, _why_no_form(text))
    letter, body = match["letter"], _unwrapped(match["body"])
    if letter not in _LETTERS:
        _refuse(text, _REFUSED.get(letter, f"the operator {shown(letter)}"))
    until = _split_until(body)
    if until is None and not re.match(r"F\b|F\s*[(\"]", body):
        _refuse(text, _why_no_path(body))
    if until is not None and letter != "P":
        _refuse(text, "until (U) of a reward")
    stay, goal = (None, body[1:].strip()) if until is None else until
    if re.match(r"[<>=\[]|\{", goal):
        _refuse(text, "bounded operators (F<=k, U<=k)")
    for part in filter(None, (stay, goal)):
        _check_nothing_nested(text, part)
    of = {"P": "exit:goal", "R": "reward", "T": "steps"}[letter]
    return Property(match["way"] or "", of, match["name"] or match["late"], goal, stay)


def _refuse(text: str, what: str) -> NoReturn:
    raise PropertyError(f"the property {shown(text)} asks for {what}, which is not known; {KNOWN}")


def _why_no_form(text: str) -> str:
    if re.search(r"(<=|>=|<|>)\s*[\d.]+\s*\[", text):
        return "a yes or no about a bound; use =? and --at-least"
    for word, meaning in (("multi", "several objectives (multi)"), ("filter", "filters (filter)")):
        if word in text:
            return meaning
    letter = re.match(r"\s*([A-Z]+)", text)
    return _REFUSED.get(letter[1] if letter else "", "something of another form")


def _why_no_path(body: str) -> str:
    letter = re.match(r"[A-Z]+", body)
    return _REFUSED.get(letter[0] if letter else "", f"the path formula {shown(body)}")


def _check_nothing_nested(text: str, states: str) -> None:
    """Refuse operators among the states of a path formula: labels alone tell states."""
    nested = re.search(r"([A-Z]+)[^\[\]]*\[", re.sub(r'"[^"]*"', "", states))
    if nested:
        _refuse(text, f"a nested operator ({nested[1]} within F or U)")


def _unwrapped(body: str) -> str:
    """A path formula without the brackets around all of it."""
    body = body.strip()
    while body.startswith("(") and _closing(body) == len(body) - 1:
        body = body[1:-1].strip()
    return body


def _closing(body: str) -> int:
    """Place of the bracket that closes the first one; -1 if none does."""
    depth, quoted = 0, False
    for place, letter in enumerate(body):
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                return place
    return -1


def _split_until(body: str) -> tuple[str, str] | None:
    """The two sides of an until that stands outside quotes."""
    parts = re.split(r'("[^"]*")', body)
    for i in range(0, len(parts), 2):
        found = re.search(r"(?<![\w\"])U(?!\w)", parts[i])
        if found:
            left = "".join(parts[:i]) + parts[i][: found.start()]
            return left.strip(), (parts[i][found.end() :] + "".join(parts[i + 1 :])).strip()
    return None


def holds(text: str, labels: Mapping[str, np.ndarray], size: int) -> np.ndarray:
    """The states in which an expression over labels holds.

    Example:
        >>> labels = {"a": np.array([True, False]), "b": np.array([True, True])}
        >>> holds('"b" & !"a"', labels, 2).tolist()
        [False, True]
    """
    return _Expression(text, labels, size).value()


class _Expression:
    """Reads an expression of labels, ``!``, ``&``, ``|``, ``=>`` and brackets, as it is said."""

    def __init__(self, text: str, labels: Mapping[str, np.ndarray], size: int) -> None:
        self.text, self.labels, self.size = text, labels, size
        self.tokens = self._tokens()
        self.place = self.depth = 0

    def _tokens(self) -> list[str]:
        tokens, place = [], 0
        text = self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                rest = shown(text[place:].strip())
                raise PropertyError(
                    f'{rest} is not an expression of labels: write "label", !, &, |, => and '
                    "brackets"
                )
            tokens.append(match[1])
            place = match.end()
        return tokens

    def value(self) -> np.ndarray:
        found = self._implied()
        if self.place < len(self.tokens):
            raise PropertyError(f"{shown(self.text)}: {self.tokens[self.place]} is not expected")
        return found

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else "the end"

    def _take(self, token: str) -> bool:
        taken = self._next() == token
        self.place += taken
        return taken

    def _implied(self) -> np.ndarray:
        left = self._either()
        while self._take("=>"):
            left = ~left | self._either()
        return left

    def _either(self) -> np.ndarray:
        left = self._both()
        while self._take("|"):
            left = left | self._both()
        return left

    def _both(self) -> np.ndarray:
        left = self._single()
        while self._take("&"):
            left = left & self._single()
        return left

    def _single(self) -> np.ndarray:
        self.depth += 1
        if self.depth > DEEPEST:
            raise PropertyError(f"an expression is nested more than {DEEPEST} levels deep")
        found = self._inner()
        self.depth -= 1
        return found

    def _inner(self) -> np.ndarray:
        if self._take("!"):
            return ~self._single()
        if self._take("("):
            found = self._implied()
            if not self._take(")"):
                raise PropertyError(f"{shown(self.text)}: a closing bracket is missing")
            return found
        token = self._next()
        self.place += 1
        if token in ("true", "false"):
            return np.full(self.size, token == "true")
        if not token.startswith('"'):
            raise PropertyError(f"{shown(self.text)}: {token} is not expected")
        name = token[1:-1]
        if name not in self.labels:
            raise UnknownNameError("label", name, self.labels)
        return self.labels[name]
