"""Holds the line that imports go one way through the rooms of the package.

Reads the source without running it, so an import inside a function, under `TYPE_CHECKING` or by
`importlib.import_module("recurl...")` counts like any other.

    python scripts/check_imports.py [folder of the package]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "recurl"

# A room may import itself and rooms of earlier rows; rooms of one row do not know each other.
ROWS = [
    {"version", "errors", "registration", "interrupts"},
    {"compilation", "arguments"},
    {"progress"},
    {"model"},
    {"execution", "linear"},
    {"policy"},
    {"simulation"},
    {"verification"},
    {"solving"},
    {"env"},
    {"learn"},
    {"programs", "grammar", "callbacks", "loggers", "schedules"},
    {"automaton"},
    {"zoo"},
    {"experiment"},
    {"suite"},
    {"cli"},
    {"__main__"},
]
RANK = {room: rank for rank, row in enumerate(ROWS) for room in row}

# The certificate checker must not share code with the solvers whose work it checks.
ONLY = {"verification": {"version", "errors", "model"}}

# The front door names every room, each on first use.
FRONT_DOOR = "__init__"


class Import(NamedTuple):
    line: int
    module: str


def imported(tree: ast.AST, package: str) -> Iterator[Import]:
    """Every module that a file imports, by its full dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield from (Import(node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and (name := _dynamic(node)):
            yield Import(node.lineno, name)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".")
    above = parents[: len(parents) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def _dynamic(call: ast.Call) -> str | None:
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    if name not in {"import_module", "__import__"} or not call.args:
        return None
    value = getattr(call.args[0], "value", None)
    return value if isinstance(value, str) else None


def fault(room: str, target: str) -> str | None:
    """The problem with an import of `target` (the part after the package) in `room`."""
    if target not in RANK:
        return f"imports {target!r} through the front door; import it from the room that defines it"
    if target == room:
        return None
    if room in ONLY and target not in ONLY[room]:
        return f"{room} may import {', '.join(sorted(ONLY[room]))} only, not {target}"
    if RANK[target] >= RANK[room]:
        return f"{room} must not import {target}, which does not come before it"
    return None


def check_file(path: Path, root: Path) -> Iterator[str]:
    """The faults of one file, each with its line."""
    parts = path.relative_to(root).with_suffix("").parts
    room = parts[0]
    if room == FRONT_DOOR:
        return
    if room not in RANK:
        yield f"{path}: {room!r} has no place in the order; add it to ROWS of check_imports.py"
        return
    package = ".".join([PACKAGE, *parts[:-1]])
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for line, module in imported(tree, package):
        top, _, rest = module.partition(".")
        if top == PACKAGE and (problem := fault(room, rest.partition(".")[0])):
            yield f"{path}:{line}: {problem}"


def check(root: Path) -> list[str]:
    """All faults of the package whose folder is `root`, in the order of its files."""
    return [problem for path in sorted(root.rglob("*.py")) for problem in check_file(path, root)]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / PACKAGE
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
