"""Programs from text, and their exact values by trying every run of the Python function."""

from __future__ import annotations

import itertools
import linecache
import sys
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import recurl
from recurl import Program
from recurl.programs.language import attempt, running

_numbers = itertools.count()


def written(text: str) -> dict[str, Any]:
    """The namespace of a module with this text; the words of the language are there."""
    text = textwrap.dedent(text).strip() + "\n"
    name = f"<written {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    words = ("choose", "flip", "outcome", "pick", "program", "reward")
    module = types.ModuleType(name)
    vars(module).update({word: getattr(recurl, word) for word in words}, __file__=name)
    sys.modules[name] = module  # where the source of classes is looked for
    exec(compile(text, name, "exec", dont_inherit=True), vars(module))  # noqa: S102 (our own text)
    return vars(module)


def program_of(text: str, name: str = "f") -> Program:
    """A program from text."""
    found = written(text)[name]
    assert isinstance(found, Program)
    return found


class _AskError(Exception):
    """The script has ended: the run asks for an option, or for an outcome with these odds."""

    def __init__(self, options: Sequence[Any], odds: Sequence[float] | None) -> None:
        self.options, self.odds = options, odds


class _Scripted:
    """A runner that plays a script and then asks."""

    def __init__(self, script: Sequence[Any]) -> None:
        self.script, self.total = iter(script), 0.0

    def _next(self, options: Sequence[Any], odds: Sequence[float] | None) -> Any:
        for value in self.script:
            return value
        raise _AskError(options, odds)

    def choose(self, options: tuple[Any, ...], frame: object) -> Any:
        return self._next(options, None)

    def draw(self, outcomes: Mapping[Any, Any]) -> Any:
        return self._next(list(outcomes), [float(p) for p in outcomes.values()])

    def reward(self, amount: Any) -> None:
        self.total += float(amount)

    def outcome(self, work: Callable[[], Any], exceptions: tuple[type[Exception], ...]) -> Any:
        return attempt(work, exceptions)

    def call(self, program: Program, arguments: Any, named: Any, frame: object) -> Any:
        return program.function(*arguments, **named)


class TooLargeError(Exception):
    """There are too many runs to try them all."""


def value_by_runs(program: Program, *arguments: Any, best: Any = max, most: int = 4000) -> float:
    """The expectation over all runs of the function, with the best (max, or mean) of choices."""
    left = itertools.count(most, -1)

    def value(script: tuple[Any, ...]) -> float:
        if next(left) == 0:
            raise TooLargeError
        runner = _Scripted(script)
        ask = _played(program, arguments, runner)
        if ask is None:
            return runner.total
        values = [value((*script, option)) for option in ask.options]
        if ask.odds is None:
            return float(best(values))
        return sum(p * v for p, v in zip(ask.odds, values, strict=True))

    return value(())


def _played(program: Program, arguments: Sequence[Any], runner: _Scripted) -> _AskError | None:
    try:
        with running(runner):
            program.function(*arguments)
    except _AskError as ask:
        return ask
    return None
