"""The gallery: a page for every model of the zoo and every example.

A page shows what the model is, its optimum, its picture, and an episode of the best policy with its
call stack, in the replay that reports have. In the light form of the site nothing is solved, and
the episode is one of the uniform policy.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import recurl
from recurl import RMDP, Policy, zoo
from recurl.experiment.replay import replay_data
from recurl.experiment.report import page_parts, script_json

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"

PAGE = """\
# {title}

{summary}

```console
{commands}
```

{found}

## Drawing

![{title}]({name}.{picture})

{note}

## A run, step by step

{replay}
"""

REPLAY = """\
```{{raw}} html
<link rel="stylesheet" href="../../_static/replay.css">
{body}
<script type="application/json" id="data">{data}</script>
<script src="../../_static/replay.js"></script>
```
"""


def write_static(folder: Path) -> None:
    """Writes the style and the script of the replay to a folder of static files."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = page_parts()
    (folder / "replay.css").write_text(parts["REPLAY_STYLE"], encoding="utf-8")
    (folder / "replay.js").write_text(parts["SCRIPT"], encoding="utf-8")


def replay_block(name: str, run: str, data: dict[str, Any], worth: float | None) -> str:
    """The replay of an episode, as a block of a page."""
    shown = {"name": name, "run": run, **data}
    if worth is not None:
        shown["exact"] = worth
    return REPLAY.format(body=page_parts()["REPLAY"], data=script_json({"replays": [shown]}))


@dataclass(frozen=True)
class Entry:
    """A page of the gallery about a model.

    Attributes:
        name: Name of the page.
        title: Its heading.
        summary: What the model is.
        commands: Commands that show it, with their prompts.
        model: Makes the model.
        note: A remark below the picture.
    """

    name: str
    title: str
    summary: str
    commands: str
    model: Callable[[], RMDP]
    note: str = ""

    def write(self, folder: Path, *, light: bool) -> None:
        """Writes the page, its picture and its replay."""
        model = self.model()
        policy, found, worth, run = Policy.uniform(model), "", None, "the uniform policy"
        if not light:
            solution = recurl.solve(model)
            policy, found, worth = solution.policy, f"**Optimum.** {solution}", solution.value
            run = "the best policy"
        model.draw(None if light else policy).save(folder / f"{self.name}.svg")
        write_page(
            folder,
            self,
            picture="svg",
            found=found,
            replay=replay_block(model.name, run, replay_data(policy), worth),
        )


def write_page(folder: Path, entry: Any, **parts: str) -> None:
    """Writes the page of an entry."""
    text = PAGE.format(
        title=entry.title,
        name=entry.name,
        summary=entry.summary,
        commands=entry.commands,
        note=entry.note,
        **parts,
    )
    (folder / f"{entry.name}.md").write_text(text, encoding="utf-8")


def zoo_entries() -> list[Entry]:
    """The models of the zoo, with their default parameters."""
    return [
        Entry(
            name,
            name,
            zoo.summary(name),
            f"$ recurl describe {name}\n$ recurl solve {name}",
            lambda name=name: zoo.make(name),
        )
        for name in zoo.names()
    ]


SUMMARIES = {
    "reward_machine.txt": "A reward machine in the published text format: fetch coffee, then bring "
    "it to the office. As a model of its own it is a game of words.",
    "towers.hddl": "A planning domain: move a tower of blocks as a whole, or in two halves by way "
    "of a spare place. Half of the blocks that are carried slip.",
}
FILES = ("brackets.yaml", "coffee.yaml", "epidemic.yaml", "lock.bp", "nested.yaml")


def file_entries() -> list[Entry]:
    """The examples that are model files."""
    entries = [
        Entry(
            file.replace(".", "_"),
            file,
            SUMMARIES.get(file) or first_comment(EXAMPLES / file),
            f"$ recurl describe examples/{file}\n$ recurl solve examples/{file}",
            lambda file=file: recurl.load(EXAMPLES / file),
        )
        for file in (*FILES, "reward_machine.txt")
    ]
    if importlib.util.find_spec("unified_planning") is not None:
        entries.append(
            Entry(
                "towers_hddl",
                "towers.hddl",
                SUMMARIES["towers.hddl"],
                "$ python examples/slipping_plans.py --hddl",
                lambda: example("slipping_plans").hddl_model(Fraction(1, 2)),
            )
        )
    return entries


def first_comment(file: Path) -> str:
    """The comment that a file begins with, without the command at its end."""
    lines = file.read_text(encoding="utf-8").splitlines()
    count = next(i for i, line in enumerate(lines) if not line.startswith(("#", "//")))
    text = " ".join(line.lstrip("#/ ") for line in lines[:count])
    return re.sub(r"[:.]? recurl solve \S+$", ".", text)


def example(name: str) -> Any:
    """The module of an example."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))


def summary_of(name: str) -> str:
    """The docstring of an example without its usage."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    text = ast.get_docstring(tree) or ""
    return re.sub(r"\n\n\s*python examples/.*", "", text, flags=re.DOTALL)


def retries_model() -> RMDP:
    """The call graph of the story, on a normal day."""
    return example("retries").model(example("call_graphs").drawn(seed=5, recursive=True))


def toll_road_model(places: int = 20) -> RMDP:
    """The toll road with as many places, its steps rounded to whole places."""
    from recurl.automaton import LabelledMDP, product

    road = example("toll_road")
    width = 2 / places
    lengths = sorted({round(road.SHORTEST / width) + i for i in (0, 1)})

    def step(place: int, action: str) -> list[tuple[Any, ...]]:
        signs = {"west": -1, "east": 1, "buy": 0}
        ahead = [min(places, max(0, place + signs[action] * n)) for n in lengths]
        moves = []
        for there in ahead:
            where = [[-1 + width * place], [-1 + width * there]]
            labels = road.labels(where[0], road.BUY if action == "buy" else road.EAST, where[1])
            half = Fraction(1, 2)
            moves.append((there, half * Fraction("0.97"), road.STEP, labels, False))
            moves.append((there, half * Fraction("0.03"), road.STEP, labels, True))
        return moves

    starts = [place for place in range(places + 1) if -1 + width * place <= road.TOWN]
    process = LabelledMDP.explore(
        "toll road",
        {place: Fraction(1, len(starts)) for place in starts},
        lambda place: ("west", "east", "buy"),
        step,
        labels=["ticket", "gate", "town"],
        state_name=lambda place: f"x{place}",
    )
    return product(process, road.tickets())


MODELS: dict[str, tuple[Callable[[], RMDP], str]] = {
    "call_or_answer": (
        lambda: example("call_or_answer").question.model(12),
        "The model has a budget of 12,000 tokens. [The story](../../stories/call_or_answer.md) "
        "has other budgets.",
    ),
    "cloud_program": (lambda: example("cloud_program").T.model(), ""),
    "retries": (
        retries_model,
        "The model is one of the call graphs of [the story](../../stories/retries.md), on a "
        "normal day.",
    ),
    "slipping_plans": (
        lambda: example("slipping_plans").move.model(8, Fraction(1, 2)),
        "The model has eight blocks, and each slips with probability 1/2. "
        "[The story](../../stories/slipping_plans.md) has other probabilities.",
    ),
    "toll_road": (
        toll_road_model,
        "The road of the example is continuous. This model has 21 places on it and rounds the "
        "length of a step to whole places, so that its optimum is near that of the example (6.63).",
    ),
}
"""Examples with a model: how it is made, and a remark."""


def program_entries() -> list[Entry]:
    """The examples in Python that have a model."""
    return [
        Entry(
            name,
            f"{name}.py",
            summary_of(name),
            f"$ python examples/{name}.py --quick",
            model,
            note,
        )
        for name, (model, note) in MODELS.items()
    ]


CARD = """\
:::{{grid-item-card}} {title}
:link: {part}/{name}
:link-type: doc
:img-top: {part}/{picture}
:img-alt: Drawing of {title}
{line}
:::
"""


def write_gallery(folder: Path, *, light: bool) -> None:
    """Writes `models/NAME.md`, `examples/NAME.md`, and the cards of the index for both."""
    from site_live import live_entries

    cards = folder.parent / "_build" / "gallery"
    cards.mkdir(parents=True, exist_ok=True)
    for part, entries in {
        "models": zoo_entries(),
        "examples": [*file_entries(), *program_entries(), *live_entries()],
    }.items():
        place = folder / part
        place.mkdir(exist_ok=True)
        for entry in entries:
            entry.write(place, light=light)
        wall = "".join(_card(part, place, entry) for entry in entries)
        text = f"::::{{grid}} 2 3 4 4\n:gutter: 2\n:class-container: gallery\n\n{wall}::::\n"
        (cards / f"{part}.md").write_text(text, encoding="utf-8")


def _card(part: str, folder: Path, entry: Any) -> str:
    """The small picture of an entry, with the first sentence of its summary."""
    picture = next(
        f"{entry.name}{s}" for s in (".svg", ".png") if (folder / (entry.name + s)).exists()
    )
    line = re.split(r"(?<=[.:?])\s", " ".join(entry.summary.split()))[0].rstrip(":")
    return CARD.format(part=part, name=entry.name, title=entry.title, picture=picture, line=line)
