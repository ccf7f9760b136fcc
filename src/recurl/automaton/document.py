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
reward machines. A grid without a machine is a plain process. A machine without a grid is watched in
a world where the agent says one label at a time; `discount` is 0.99 there unless it is given, so
that runs end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from recurl.model import formats
from recurl.model.document import make_model
from recurl.model.document.pieces import TreePieces
from recurl.model.document.source import format_of, read_document
from recurl.model.document.tree import Tree
from recurl.model.formats.format import Options
from recurl.model.limits import read_text
from recurl.model.numbers import exact
from recurl.model.report import Report, shown
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.model.transforms.discounting import discount_steps
from recurl.programs.boolean.translate import load_boolean_program

KINDS = ("components", "grammar", "grid", "machine")
KEYS = ("recurl", "name", "grid", "machine", "discount")
ALONE = "0.99"
"""Discount of machines in separate files, where nothing else ends a run."""
GRID_KEYS = (
    "map", "start", "slip", "sideways", "stays", "replaced", "breakdown", "step_reward", "rewards",
    "ends",
)  # fmt: skip


def load(
    path: str | os.PathLike[str],
    *,
    goal: str | Sequence[str] | None = None,
    rewards: str | None = None,
    constants: str | Mapping[str, object] | None = None,
    property: str | None = None,
    problem: str | os.PathLike[str] | None = None,
    slips: str | os.PathLike[str] | None = None,
) -> RMDP:
    """The model in a file of any format; the suffix of its name says which.

    Documents (``.yaml``, ``.json``) hold a model, a grammar, a machine, a grid, or a grid with a
    machine; ``.txt`` is a reward machine in the published text format, ``.bp`` a boolean program.
    The other formats are those of `recurl.model.formats`: ``recurl formats`` lists them all.

    Args:
        path: The file.
        goal: Label, or labels, whose states are the exits of a flat model.
        rewards: Name of the reward structure, where a file has several.
        constants: Values of undefined constants, as a mapping or as ``"N=3,p=0.5"``.
        property: A property such as ``Pmax=? [ F "done" ]``, instead of a goal.
        problem: The problem file of a planning domain.
        slips: A file with outcomes that actions may have beside the intended one.

    Raises:
        DocumentError: With everything that is wrong, by line.
        MissingExtraError: The format needs an extra; the command that installs it is named.
    """
    options = Options.of(
        goal=goal,
        rewards=rewards,
        constants=constants,
        property=property,
        problem=problem,
        slips=slips,
    )
    return load_with(path, options)


def load_with(path: str | os.PathLike[str], options: Options) -> RMDP:
    """The model in a file of any format, read with options; see `load`."""
    file = Path(path)
    suffix = file.suffix.lower()
    if format_of(file) is None and suffix in formats.suffixes():
        return formats.read_with(file, options)
    if options.given():
        raise RecurlError(f"{file}: {options.given()[0]} has no meaning for a file of this kind")
    if suffix == ".bp":
        return load_boolean_program(file).unfold(name=file.stem).model
    if suffix == ".txt":
        return alone(load_reward_machine(file), discount=ALONE)
    text = read_text(str(file))
    return read_document(text, _maker(file.parent), str(file), format=format_of(file))


def loads(text: str, folder: str | os.PathLike[str] = ".") -> RMDP:
    """The model in a text that holds a model, a grammar, a machine, a grid, or a watched grid.

    Args:
        text: The document.
        folder: Where files that it names are looked for.

    Example:
        >>> loads("{recurl: 1, grid: {map: S.G, ends: G, rewards: {G: 1}}}")
        <RMDP grid: 1 component, 4 vertices, 1-exit, deterministic, hierarchical>
    """
    return read_document(text, _maker(Path(folder)))


def alone(machine: Machine, name: str | None = None, *, discount: Number = 1) -> RMDP:
    """A machine as a model: in each step the agent says one of its labels, or none.

    Args:
        machine: The machine.
        name: Name of the model; that of the machine if not given.
        discount: Probability that the run goes on after a step; see `recurl.discount_steps`.

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
    return _discounted(product(world, machine, name), discount)


def _discounted(model: RMDP, discount: Number) -> RMDP:
    return model if exact(discount) == 1 else discount_steps(model, discount)


def _maker(folder: Path) -> Callable[[Tree, Report], RMDP]:
    """The function that makes a model of a tree, by the first known key of the tree."""

    def make(tree: Tree, report: Report) -> RMDP:
        kind = next((key for key in KINDS if key in tree), None)
        if kind == "components":
            return make_model(tree, report)
        pieces = TreePieces(report)
        if pieces.check_version(tree) and kind is None:
            pieces.fields(tree, (), (*KINDS, *KEYS))
            report.add((), "holds no model", f"give one of {', '.join(KINDS)}")
        report.raise_any()
        if kind == "grammar":
            return model_of(read_grammar(tree, report))
        return _world(tree, report, folder)

    return make


def _world(tree: Tree, report: Report, folder: Path) -> RMDP:
    """A grid, a machine, or both."""
    pieces = TreePieces(report)
    fields = pieces.fields(tree, (), KEYS)
    name = pieces.text(fields["name"], ("name",)) if "name" in fields else None
    machine = _machine(pieces, fields["machine"], folder) if "machine" in fields else None
    grid = _grid(pieces, fields["grid"], name or "grid") if "grid" in fields else None
    discount = _discount(pieces, fields.get("discount", "1" if grid is not None else ALONE))
    report.raise_any()
    if grid is not None:
        return _discounted(_watched(grid, machine or _IDLE, name or grid.name, report), discount)
    assert machine is not None
    return alone(machine, name or machine.name, discount=discount)


def _watched(grid: LabelledMDP, machine: Machine, name: str, report: Report) -> RMDP:
    try:
        return product(grid, machine, name)
    except ModelError as error:
        for problem in error.problems:
            report.add(("machine",), f"{problem.place}: {problem.message}", problem.fix)
        raise ModelError(report.problems) from None


def _discount(pieces: TreePieces, tree: Tree) -> str:
    text = pieces.text(tree, ("discount",))
    with suppress(ValueError):
        if 0 < exact(text) <= 1:
            return text
    message = f"{shown(text)} is not in (0, 1]"
    pieces.report.add(("discount",), message, "write a number such as 0.9")
    return "1"


_IDLE = Machine("idle", [rule("idle", "False", "idle")])
"""Watches and does nothing."""


def _machine(pieces: TreePieces, tree: Tree, folder: Path) -> Machine | None:
    if not isinstance(tree, str):
        return read_machine(tree, pieces, ("machine",))
    file = folder / tree
    if file.suffix.lower() == ".txt":
        return load_reward_machine(file)

    def make(other: Tree, report: Report) -> Machine | None:
        return read_machine(other.get("machine", {}), TreePieces(report), ("machine",))

    return read_document(read_text(str(file)), make, str(file))


def _grid(pieces: TreePieces, tree: Tree, name: str) -> LabelledMDP | None:
    path = ("grid",)
    fields = pieces.fields(tree, path, GRID_KEYS)
    if "map" not in fields:
        pieces.report.add(path, "has no map", "write map: and the rows of the map")
        return None
    text = {
        key: pieces.text(fields.pop(key), (*path, key))
        for key in ("map", "slip", "breakdown", "step_reward", "ends")
        if key in fields
    }
    layout = text.pop("map")
    sideways = pieces.truth(fields.pop("sideways", "true"), (*path, "sideways"))
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
            sideways=sideways,
            **text,  # type: ignore[arg-type]
            **tables,  # type: ignore[arg-type]
        )
    except ModelError as error:
        for problem in error.problems:
            pieces.report.add((*path, *problem.path), problem.message, problem.fix)
    except (ValueError, LookupError) as error:
        pieces.report.add(path, str(error), "correct the grid")
    return None


def _start(pieces: TreePieces, tree: Tree) -> dict[tuple[int, int], str]:
    """Cells written as ``ROW COLUMN``, and their probabilities."""
    cells = {}
    for place, p in pieces.texts(tree, ("grid", "start")).items():
        row, _, column = place.partition(" ")
        if not (row.isdecimal() and column.strip().isdecimal()):
            pieces.report.add(
                ("grid", "start", place), "is not a cell", "write ROW COLUMN, from 0 on"
            )
            continue
        cells[int(row), int(column)] = p
    return cells
