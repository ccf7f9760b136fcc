"""Reference pages that are made from the code: settings with their values, limits, and verbs."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

import recurl
from recurl.cli.app import app
from recurl.learn import settings as tabular
from recurl.learn.deep import settings as deep
from recurl.learn.model_based import settings as model_based
from recurl.model import limits

FIELD = re.compile(r"^    (\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)
SETTINGS = """\
# Settings and presets

These tables are made from the code when the site is built. A setting that is not given has the
value of the preset, and the preset is `{preset}` unless another is named. All learners take the
settings by name, in Python, in experiment files and as options of `recurl learn`.

## `RecursiveQLearning` and `QLearning`

{tabular}

## `DeepRecursiveQLearning`

{deep}

## `DQN`

Settings that differ from those of `DeepRecursiveQLearning`:

{flat}

## `ModelBasedRecursiveLearning`

{model_based}

## `PACLearner`

{pac}

## `solve`

{solve}

## Limits of readers

Every reader of files keeps these (`recurl.model.limits`).

{limits}
"""


def described(kind: Any, section: str = "Attributes") -> dict[str, str]:
    """Descriptions by name, from a section of a Google docstring."""
    text = inspect.cleandoc(kind.__doc__ or "").partition(f"{section}:\n")[2]
    text = re.split(r"\n\n\S", text)[0]
    return {name: " ".join(words.split()) for name, words in FIELD.findall(text)}


def value_text(value: Any) -> str:
    """A value as it is written in Python."""
    if isinstance(value, float):
        return f"`{value:.6g}`"
    return f"`{value:_}`" if type(value) is int else f"`{value!r}`"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of a page."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    escaped = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {line} |" for line in escaped)


def preset_table(kind: type[Any], presets: Mapping[str, Mapping[str, Any]]) -> str:
    """The settings of a learner by preset, with their descriptions."""
    made = {name: kind(**given) for name, given in presets.items()}
    rows = [
        [f"`{name}`", *(value_text(getattr(one, name)) for one in made.values()), words]
        for name, words in described(kind).items()
    ]
    return table(["setting", *(f"`{name}`" for name in made), "meaning"], rows)


def flat_table() -> str:
    """The settings of `DQN` that differ."""
    own, other = deep.FLAT_PRESETS["swift"], deep.PRESETS["swift"]
    changed = {name: value for name, value in own.items() if other.get(name) != value}
    rows = [[f"`{name}`", value_text(value)] for name, value in sorted(changed.items())]
    return table(["setting", "`swift`"], rows)


def parameter_table(function: Any, described_by: Any) -> str:
    """The parameters of a function with their defaults."""
    words = described(described_by, "Args")
    rows = [
        [
            f"`{one.name}`",
            "" if one.default is one.empty else value_text(one.default),
            words.get(one.name, ""),
        ]
        for one in inspect.signature(function).parameters.values()
        if one.name != "self"
    ]
    return table(["argument", "if not given", "meaning"], rows)


def limit_table() -> str:
    """The limits of readers with their values, from the texts below them."""
    body = ast.parse(inspect.getsource(limits)).body
    rows = []
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(after, ast.Expr):
            (name,) = (one.id for one in node.targets if isinstance(one, ast.Name))
            words = ast.literal_eval(after.value)
            rows.append([f"`{name}`", value_text(getattr(limits, name)), " ".join(words.split())])
    return table(["limit", "value", "meaning"], rows)


def settings_page() -> str:
    """The page of settings, presets and limits."""
    return SETTINGS.format(
        preset=tabular.DEFAULT_PRESET,
        tabular=preset_table(tabular.Settings, tabular.PRESETS),
        deep=preset_table(deep.DeepSettings, deep.PRESETS),
        flat=flat_table(),
        model_based=preset_table(model_based.ModelBasedSettings, model_based.PRESETS),
        pac=parameter_table(recurl.PACLearner.__init__, recurl.PACLearner),
        solve=parameter_table(recurl.solve, recurl.solve),
        limits=limit_table(),
    )


VERBS = """\
# Verbs and options

Every verb of `recurl` with its arguments and options, as `--help` shows them. This page is made
from the code when the site is built; [the command line](command_line.md) explains what the verbs
have in common.

"""


def verbs_page() -> str:
    """The page of verbs, groups of verbs included."""
    root = typer.main.get_command(app)
    return VERBS + "\n".join(verb_sections(root, "recurl"))


def verb_sections(command: Any, name: str) -> Iterable[str]:
    """The sections of a verb and of those within it."""
    if hasattr(command, "commands"):
        for inner, verb in sorted(command.commands.items()):
            if not verb.hidden:
                yield from verb_sections(verb, f"{name} {inner}")
        return
    text = re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))[0]
    rows = [
        [" ".join(f"`{one}`" for one in names(parameter)), default_text(parameter), words]
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for words in [" ".join((getattr(parameter, "help", None) or "").split())]
    ]
    yield f"## {name}\n\n{' '.join(text.split())}\n\n{table(['option', 'default', ''], rows)}\n"


def names(parameter: Any) -> list[str]:
    """How an argument or an option is written."""
    if parameter.param_type_name == "argument":
        return [parameter.metavar or parameter.name.upper()]
    return [*parameter.opts, *parameter.secondary_opts]


def default_text(parameter: Any) -> str:
    """The default of an option, if it has one."""
    shown = parameter.default
    if shown is None or shown is False or shown in ("", ()) or callable(shown):
        return ""
    return "" if type(shown).__name__ == "Sentinel" else f"`{shown}`"


def write_reference(folder: Path) -> None:
    """Writes `settings.md` and `verbs.md`."""
    for name, text in {"settings": settings_page(), "verbs": verbs_page()}.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
