"""The published text format of reward machines, for machines without a stack.

```
0                                      # initial state
[2]                                    # terminal states
(0, 1, 'a&!b', ConstantRewardFunction(0))
(0, 2, 'b', ConstantRewardFunction(1))
```

The files were made to be run as code; here they are read by a few patterns, and nothing runs. As in
published implementations, the first tuple of a state whose guard holds applies, and labels that no
tuple of a state reads end the run without a reward.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from recurl.arguments import with_known_names
from recurl.automaton.guards import parse_guard
from recurl.automaton.machine import Machine, Rule, rule
from recurl.errors import DocumentError, ModelError, Problem
from recurl.model.limits import read_text

_STATE = r"-?\w+"
_NUMBER = r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?"
_FIRST = re.compile(rf"\s*({_STATE})\s*")
_FINAL = re.compile(rf"\s*\[((?:\s*{_STATE}\s*(?:,\s*{_STATE}\s*)*)?)\]\s*")
_RULE = re.compile(
    rf"\s*\(\s*({_STATE})\s*,\s*({_STATE})\s*,\s*(?:'([^']*)'|\"([^\"]*)\")\s*,"
    rf"\s*(?:ConstantRewardFunction\s*\(\s*({_NUMBER})\s*\)|({_NUMBER})|(\w+)\s*\(.*\))\s*\)\s*"
)


@with_known_names
def load_reward_machine(
    path: str | os.PathLike[str], *, exclusive: Iterable[Iterable[str]] | None = None
) -> Machine:
    """Read a reward machine from a file in the published text format.

    Args:
        path: The file.
        exclusive: See `read_reward_machine`.

    Raises:
        DocumentError: With all problems and their lines.
    """
    file = os.fspath(path)
    name = os.path.splitext(os.path.basename(file))[0]
    return read_reward_machine(read_text(file), name, file, exclusive=exclusive)


@with_known_names
def read_reward_machine(
    text: str,
    name: str = "machine",
    file: str = "<text>",
    *,
    exclusive: Iterable[Iterable[str]] | None = None,
) -> Machine:
    """Read a reward machine from a text in the published format.

    Args:
        text: The text.
        name: Name of the machine.
        file: What errors call the text.
        exclusive: Groups of labels of which at most one is true at a time. If they are given, no
            two guards of a state may overlap; else the first that holds applies.

    Raises:
        DocumentError: With all problems and their lines; rewards must be numbers.

    Example:
        >>> read_reward_machine('''0
        ... [2]
        ... (0, 0, '!a', ConstantRewardFunction(0))
        ... (0, 2, 'a', ConstantRewardFunction(1))
        ... ''')
        <Machine machine: 2 states, 1 stack symbols, 2 rules>
    """
    lines = [(i, row.partition("#")[0]) for i, row in enumerate(text.splitlines(), 1)]
    rows = [(i, row) for i, row in lines if row.strip()]
    problems: list[Problem] = []
    first = _matched(_FIRST, rows[:1], "one initial state", problems)
    final = _matched(_FINAL, rows[1:2], "a list of terminal states, such as [3]", problems)
    finals = [s.strip() for s in final[1].split(",") if s.strip()] if final else []
    rules = list(_rules(rows[2:], finals, problems))
    if problems or first is None:
        raise DocumentError(problems, file)
    used = {r.target for r, _ in rules}
    try:
        return Machine(
            name,
            [r for r, _ in rules],
            first[1],
            final=[state for state in finals if state in used],
            otherwise="stop",
            exclusive=exclusive or (),
            first_match=exclusive is None,
        )
    except ModelError as error:
        numbers = [line for _, line in rules]
        raise DocumentError([_placed(p, numbers) for p in error.problems], file) from None


def _matched(
    pattern: re.Pattern[str], rows: list[tuple[int, str]], wanted: str, problems: list[Problem]
) -> re.Match[str] | None:
    number, row = rows[0] if rows else (1, "")
    match = pattern.fullmatch(row)
    if match is None:
        message = f"{row.strip()!r} is not {wanted}"
        problems.append(Problem("", message, "see the published format", (), number))
    return match


def _rules(
    rows: list[tuple[int, str]], finals: list[str], problems: list[Problem]
) -> Iterator[tuple[Rule, int]]:
    for number, row in rows:
        wanted = "(FROM, TO, 'GUARD', ConstantRewardFunction(REWARD))"
        match = _matched(_RULE, [(number, row)], wanted, problems)
        if match is None:
            continue
        source, target, single, double, constant, plain, other = match.groups()
        if other is not None:
            fix = "write ConstantRewardFunction and a number"
            problems.append(Problem("", f"{other}(...) is not a constant reward", fix, (), number))
        elif source not in finals:  # as published, what leaves a terminal state is ignored
            try:
                guard = parse_guard(single if single is not None else double)
                yield rule(source, guard, target, reward=constant or plain), number
            except ValueError as error:
                problems.append(Problem("", str(error), "correct it", (), number))


def _placed(problem: Problem, numbers: list[int]) -> Problem:
    """A problem of a machine with the line of its rule."""
    index = problem.path[1] if len(problem.path) > 1 and problem.path[0] == "rules" else None
    line = numbers[index] if isinstance(index, int) else None
    return Problem(problem.place, problem.message, problem.fix, problem.path, line)
