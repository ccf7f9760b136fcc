"""Files of all kinds as models: models, grammars, machines, grids, and grids watched by machines.

```yaml
recurl: 1
name: fetch
grid:
  map: |
    S.A
    ..B
  step_reward: -0.1
machine:
  final: done
  rules:
    - {from: go, read: A, push: A _}
    - {from: go, read: B, top: A, push: ""}
    - {from: go, read: S, top: bottom, to: done, reward: 1}
```

`machine` may also be the name of a file next to this one: YAML, or the published text format of
reward machines. A grid without a machine is a plain process; a machine without a grid is watched in
a world where the agent says one label at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from recurl.automaton.gridworld import gridworld
from recurl.automaton.machine import Machine, rule
from recurl.automaton.machine_document import read_machine
from recurl.automaton.mdp import LabelledMDP, Move
from recurl.automaton.product import product
from recurl.automaton.reward_machine_text import load_reward_machine
from recurl.errors import ModelError, RecurlError
from recurl.grammar.document import read_grammar
from recurl.grammar.model import model_of
from recurl.grammar.pieces import Pieces, read_document, read_file
from recurl.model.document import load as load_model
from recurl.model.document.tree import Tree
from recurl.model.report import Report
from recurl.model.rmdp import RMDP
from recurl.model.transforms.discounting import discount_steps

KINDS = ("components", "grammar", "grid", "machine")
KEYS = ("recurl", "name", "grid", "machine", "discount")
GRID_KEYS = (
    "map", "start", "slip", "sideways", "stays", "replaced", "breakdown", "step_reward", "rewards",
    "ends",
)  # fmt: skip


def load(path: str | os.PathLike[str]) -> RMDP:
    """The model in a file: a model, a grammar, a machine, a grid, or a grid with a machine.

    A file whose name ends in ``.txt`` is a reward machine in the published text format.

    Raises:
        DocumentError: With everything that is wrong, by line.
    """
    file = Path(path)
    if file.suffix.lower() == ".txt":
        return alone(load_reward_machine(file))
    kind = _kind(file)
    if kind == "components":
        return load_model(file)
    return read_document(read_file(str(file)), _maker(kind, file.parent), str(file))


def loads(text: str, folder: str | os.PathLike[str] = ".") -> RMDP:
    """The model in a YAML text that holds a grammar, a machine, a grid, or a grid with a machine.

    Args:
        text: The document.
        folder: Where files that it names are looked for.

    Example:
        >>> loads("{recurl: 1, grid: {map: S.G, ends: G, rewards: {G: 1}}}")
        <RMDP grid: 1 component, 4 vertices, 1-exit, deterministic, hierarchical>
    """

    def make(tree: Tree, report: Report) -> RMDP:
        return _maker(_kind_of(tree), Path(folder))(tree, report)

    return read_document(text, make)


def alone(machine: Machine) -> RMDP:
    """A machine as a model of its own: in each step the agent says one of its labels, or none.

    Example:
        >>> from recurl.automaton import Machine, rule
        >>> alone(Machine("one", [rule("go", "a", "done", reward=1)], final="done"))
        <RMDP one: 1 component, 3 vertices, 1-exit, deterministic, hierarchical>
    """
    words = {label: [label] for label in machine.labels}
    said = {**words, "nothing": []}
    world = LabelledMDP.explore(
        "words",
        {"world": 1},
        lambda state: list(said),
        lambda state, action: [Move("world", labels=said[action])],
    )
    return product(world, machine)


def _kind(file: Path) -> str:
    """What a file holds; a file that cannot be told is for the reader of models to refuse."""
    try:
        return read_document(read_file(str(file)), lambda tree, _: _kind_of(tree))
    except RecurlError:
        return "components"


def _kind_of(tree: Tree) -> str:
    return next((key for key in KINDS if key in tree), "components")


def _maker(kind: str, folder: Path) -> Callable[[Tree, Report], RMDP]:
    if kind == "grammar":
        return lambda tree, report: model_of(read_grammar(tree, report))
    return lambda tree, report: _world(tree, report, folder)


def _world(tree: Tree, report: Report, folder: Path) -> RMDP:
    """A grid, a machine, or both."""
    pieces = Pieces(report)
    fields = pieces.fields(tree, (), KEYS)
    name = pieces.text(fields["name"], ("name",)) if "name" in fields else None
    machine = _machine(pieces, fields["machine"], folder) if "machine" in fields else None
    grid = _grid(pieces, fields["grid"], name or "grid") if "grid" in fields else None
    report.raise_any()
    if grid is None and machine is not None:
        model = alone(machine)
    elif grid is not None:
        model = product(grid, machine or _IDLE, name or grid.name)
    else:
        report.add((), "holds neither a grid nor a machine", f"give one of {', '.join(KINDS)}")
        raise ModelError(report.problems)
    if "discount" in fields:
        return discount_steps(model, pieces.text(fields["discount"], ("discount",)))
    return model


_IDLE = Machine("idle", [rule("idle", "False", "idle")])
"""Watches and does nothing."""


def _machine(pieces: Pieces, tree: Tree, folder: Path) -> Machine | None:
    if not isinstance(tree, str):
        return read_machine(tree, pieces, ("machine",))
    file = folder / tree
    if file.suffix.lower() == ".txt":
        return load_reward_machine(file)

    def make(other: Tree, report: Report) -> Machine | None:
        return read_machine(other.get("machine", {}), Pieces(report), ("machine",))

    return read_document(read_file(str(file)), make, str(file))


def _grid(pieces: Pieces, tree: Tree, name: str) -> LabelledMDP | None:
    path = ("grid",)
    fields = pieces.fields(tree, path, GRID_KEYS)
    if "map" not in fields:
        pieces.report.add(path, "has no map", "write map: and the rows of the map")
        return None
    text = {
        key: pieces.text(fields.pop(key), (*path, key))
        for key in ("map", "slip", "breakdown", "step_reward", "ends", "sideways")
        if key in fields
    }
    layout, sideways = text.pop("map"), text.pop("sideways", "true").lower()
    if sideways not in ("true", "false"):
        pieces.report.add((*path, "sideways"), "is neither true nor false", "write one of them")
    start = fields.pop("start", None)
    first = _start(pieces, start) if isinstance(start, dict) else start
    tables = {key: pieces.texts(value, (*path, key)) for key, value in fields.items()}
    if pieces.report.problems:
        return None
    try:
        return gridworld(
            layout,
            name,
            start=first,
            sideways=sideways == "true",
            **text,  # type: ignore[arg-type]
            **tables,  # type: ignore[arg-type]
        )
    except (ValueError, LookupError) as error:
        pieces.report.add(path, str(error), "mend the grid")
        return None


def _start(pieces: Pieces, tree: Tree) -> dict[tuple[int, int], str]:
    """Cells written as ``ROW COLUMN``, and their probabilities."""
    cells = {}
    for place, p in pieces.texts(tree, ("grid", "start")).items():
        row, _, column = place.partition(" ")
        if not (row.isdecimal() and column.strip().isdecimal()):
            pieces.report.add(("grid", "start", place), "is no cell", "write ROW COLUMN, from 0 on")
            continue
        cells[int(row), int(column)] = p
    return cells
