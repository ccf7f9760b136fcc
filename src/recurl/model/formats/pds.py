"""Pushdown systems as text, one rule per line; see `recurl.model.pushdown`.

```
# state symbol action probability state pushed... reward
start p A
p A go 1/3 p A A -1
p A go 2/3 q -1
q A go 1 q -1
```

A line ``start STATE SYMBOL [PROBABILITY]`` says where runs start; without one it is the first
rule's state and symbol. Names with blanks, and those that begin with ``#`` or a quotation mark,
are written in quotation marks as in JSON.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recurl.errors import DocumentError, ModelError
from recurl.model.files import write_atomic
from recurl.model.formats.format import Format, Options, refuse_line
from recurl.model.limits import read_text
from recurl.model.pushdown import Head, PushdownRule, pushdown, pushdown_rules

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.spec import Number

_RULE = "STATE SYMBOL ACTION PROBABILITY STATE [PUSHED...] REWARD"
_WORD = re.compile(r'\s*(?:#.*|("(?:[^"\\]|\\.)*")(?=\s|$)|([^\s"#]\S*)|(.+))')


def read(path: Path, options: Options) -> RMDP:
    """Read a pushdown system as a model."""
    rules: list[PushdownRule] = []
    starts: dict[Head, Number] = {}
    lines: dict[str, list[int]] = {"rules": [], "start": []}
    for line, text in enumerate(read_text(path).split("\n"), 1):
        words = _words(path, line, text.rstrip())
        if words[:1] == ["start"] and len(words) in (3, 4):
            if (words[1], words[2]) in starts:
                refuse_line(path, line, "is a start that is there twice", "keep one of them")
            starts[words[1], words[2]] = words[3] if len(words) == 4 else 1
            lines["start"].append(line)
        elif len(words) >= 6:
            state, symbol, action, prob, to, *pushed, reward = words
            rules.append(PushdownRule(state, symbol, action, prob, to, tuple(pushed), reward))
            lines["rules"].append(line)
        elif words:
            refuse_line(path, line, "is neither a rule nor a start", f"write {_RULE}")
    try:
        return pushdown(rules, starts or None, name=path.stem or "pushdown")
    except ModelError as error:
        problems = []
        for problem in error.problems:
            kind, index = (*problem.path, "", 0)[:2]
            known = lines.get(str(kind), [])
            number = index if isinstance(index, int) else 0
            if number < len(known):
                problem = replace(problem, place="", line=known[number])
            problems.append(problem)
        raise DocumentError(problems, str(path)) from None


def _words(path: Path, line: int, text: str) -> list[str]:
    """The words of a line; those in quotation marks are read as JSON."""
    words = []
    for quoted, plain, rest in _WORD.findall(text):
        try:
            words += [str(json.loads(quoted))] if quoted else [plain] if plain else []
        except ValueError:
            refuse_line(path, line, f"{quoted} is not a text", "write it as in JSON")
        if rest:
            refuse_line(path, line, "has a quotation mark that does not end a word", "close it")
    return words


def write(model: RMDP, path: Path) -> None:
    """Write a model as a pushdown system; its name, features and labels are left out."""
    rules, starts = pushdown_rules(model)
    rows = [["start", state, symbol, str(prob)] for (state, symbol), prob in starts.items()]
    for state, symbol, action, prob, to, pushed, reward in rules:
        rows.append([state, symbol, action, str(prob), to, *pushed, str(reward)])
    lines = (" ".join(map(_written, row)) for row in rows)
    write_atomic(path, "\n".join([f"# {_RULE}".lower(), *lines, ""]))


def _written(name: str) -> str:
    plain = name[0] not in '"#' and " " not in name
    return name if plain else json.dumps(name, ensure_ascii=False)


FORMAT = Format(
    "pushdown", "pushdown systems, a rule per line", (".pds",), read, write, recursive=True
)
