"""The text format of PReMo, for recursive Markov chains and recursive decision processes.

```
A(1,2);                      // component A has one entry and two exits

A {
  again(A);                  // box `again` calls A
  entry(1): 1/3: call again(1);  1/3: goto u;  1/3: return 1;
  again(1): 1: return 1;     // after exit 1 of the box
  again(2): 1: goto u;
  max u:    return 1;  return 2;
}
```

Components are declared with their numbers of entries and exits, then defined: boxes, then the
entries, internal nodes and box exits, each with its transitions, a probability and a ``goto``,
``call`` or ``return``. At a node marked ``max`` or ``min`` a player chooses one of the
instructions, which have no probabilities. The format has no rewards: it asks for the probability to
return.

Instructions are spelled as PReMo's manual describes them; ``entry(1)``, ``box(1)``, ``max`` and
``min`` before the colon are spelled as above. The first component is the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from recurl.model.assemble import assemble, disassemble
from recurl.model.files import write_atomic
from recurl.model.formats.format import Format, Options, errors_of
from recurl.model.formats.tokens import Tokens
from recurl.model.limits import read_text
from recurl.model.report import shown
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_INSTRUCTIONS = ("goto", "call", "return")
_WORDS = (*_INSTRUCTIONS, "entry", "max", "min")
_MOST_PORTS = 100_000


def read(path: Path, options: Options) -> RMDP:
    """Read a file of PReMo as a model."""
    text = read_text(path)
    with errors_of(path):
        return assemble(_Parser(Tokens(text, path), path.stem or "model").model())


class _Parser:
    """Reads declarations, then definitions."""

    def __init__(self, tokens: Tokens, name: str) -> None:
        self.t, self.spec = tokens, ModelSpec(name)
        self.players: set[str] = set()

    def model(self) -> ModelSpec:
        while self.t.next.kind == "word" and self.t.ahead(1).text == "(":
            self.declaration()
        if not self.spec.components:
            self.t.fail("declares no component", "begin with NAME(ENTRIES, EXITS);")
        defined: set[str] = set()
        while self.t.next.kind != "end":
            defined.add(self.definition(defined))
        for name in self.spec.components:
            if name not in defined:
                self.t.fail(f"component {shown(name)} is declared, not defined", "define it")
        self.spec.start = {f"{next(iter(self.spec.components))}.en1": 1}
        return self.spec

    def declaration(self) -> None:
        name = self.t.name()
        self.t.need("(")
        entries = self.ports()
        self.t.need(",")
        exits = self.ports()
        self.t.need(")")
        self.t.need(";")
        if name in self.spec.components:
            self.t.fail(f"component {shown(name)} is declared twice", "keep one of them")
        self.spec.components[name] = ComponentSpec(
            [f"en{k}" for k in range(1, entries + 1)], [f"ex{k}" for k in range(1, exits + 1)]
        )

    def ports(self) -> int:
        count = self.t.whole()
        if not 1 <= count <= _MOST_PORTS:
            self.t.fail(f"{count} is not a number from 1 to {_MOST_PORTS}")
        return count

    def definition(self, defined: set[str]) -> str:
        name = self.t.name()
        component = self.component(name)
        if name in defined:
            self.t.fail(f"component {shown(name)} is defined twice", "keep one of them")
        self.t.need("{")
        while self.t.next.kind == "word" and self.t.ahead(2).kind == "word":
            if self.t.ahead(1).text != "(":
                break
            box = self.t.name()
            self.t.need("(")
            callee = self.t.name()
            self.component(callee)
            self.t.need(")")
            self.t.need(";")
            if box in component.boxes:
                self.t.fail(f"box {shown(box)} is there twice", "keep one of them")
            component.boxes[box] = callee
        while not self.t.take("}"):
            self.state(component)
        return name

    def component(self, name: str) -> ComponentSpec:
        if name not in self.spec.components:
            fix = f"declared: {', '.join(list(self.spec.components)[:20])}"
            self.t.fail(f"unknown component {shown(name)}", fix)
        return self.spec.components[name]

    def state(self, component: ComponentSpec) -> None:
        player = next((word for word in ("max", "min") if self.t.take(word)), "")
        if player:
            self.players.add(player)
            if len(self.players) > 1:
                self.t.fail("has nodes of max and of min: games of two players are not known here")
        name = self.vertex(component)
        if name in component.vertices:
            self.t.fail(f"{shown(name)} is there twice", "keep one of them")
        self.t.need(":")
        edges = list(self.edges(component, chosen=bool(player)))
        if not player:
            component.vertices[name] = {"go": ActionSpec(0, edges)}
        else:
            actions = {f"a{i}": ActionSpec(0, [edge]) for i, edge in enumerate(edges, 1)}
            component.vertices[name] = actions

    def vertex(self, component: ComponentSpec) -> str:
        word = self.t.name()
        if word != "entry" and not self.t.take("("):
            return word
        if word == "entry":
            bracket = self.t.take("(")
            number = self.t.whole()
            if bracket:
                self.t.need(")")
            return f"en{number}"
        number = self.t.whole()
        self.t.need(")")
        if word not in component.boxes:
            self.t.fail(f"unknown box {shown(word)}", "declare it first: BOX(COMPONENT);")
        return f"{word}.ex{number}"

    def edges(self, component: ComponentSpec, *, chosen: bool) -> Iterator[EdgeSpec]:
        while True:
            if chosen:
                prob = Fraction(1)
                if self.t.next.text not in _INSTRUCTIONS:
                    return
            elif self.t.next.kind == "number":
                prob = self.probability()
                self.t.need(":")
            else:
                return
            if prob:
                yield EdgeSpec(self.target(component), prob)
            else:
                self.target(component)

    def probability(self) -> Fraction:
        prob = self.t.number()
        if self.t.take("/"):
            below = self.t.number()
            if not below:
                self.t.fail("a probability divides by zero")
            prob /= below
        return prob

    def target(self, component: ComponentSpec) -> str:
        if self.t.take("goto"):
            target = self.t.name()
        elif self.t.take("call"):
            box = self.t.name()
            self.t.need("(")
            target = f"{box}.en{self.t.whole()}"
            self.t.need(")")
        else:
            self.t.need("return")
            target = f"ex{self.t.whole()}"
        self.t.need(";")
        return target


# Writing


def write(model: RMDP, path: Path) -> None:
    """Write a model as a file of PReMo; rewards, which the format does not have, are left out."""
    write_atomic(path, "\n".join(_Writer(model).lines()) + "\n")


class _Writer:
    """The lines of a model; names that are not words of the format become numbered ones."""

    def __init__(self, model: RMDP) -> None:
        spec = disassemble(model)
        entry = next(iter(spec.start))
        first = entry.partition(".")[0]
        others = {name: c for name, c in spec.components.items() if name != first}
        self.components = {first: spec.components[first], **others}
        if len(spec.start) > 1 or entry != f"{first}.{self.components[first].entries[0]}":
            self.components = {**_start_component(spec), **self.components}
        self.names = _words(list(self.components), "C")

    def lines(self) -> Iterator[str]:
        for name, component in self.components.items():
            sizes = f"({len(component.entries)},{len(component.exits)});"
            yield f"{self.names[name]}{sizes}"
        for name, component in self.components.items():
            yield f"\n{self.names[name]} {{"
            yield from self.body(component)
            yield "}"

    def body(self, component: ComponentSpec) -> Iterator[str]:
        boxes = _words(list(component.boxes), "b")
        nodes = [n for n in component.vertices if "." not in n and n not in component.entries]
        # Boxes and nodes share one set of words.
        words = {**boxes, **_words(nodes, "n", {*boxes.values()})}
        for box, callee in component.boxes.items():
            yield f"  {boxes[box]}({self.names[callee]});"
        for vertex, actions in component.vertices.items():
            head = self.place(component, vertex, words)
            if len(actions) == 1:
                (action,) = actions.values()
                yield f"  {head}: {self.chance(component, action, words)}"
            else:
                yield from self.decision(component, head, list(actions.values()), words)

    def decision(
        self, component: ComponentSpec, head: str, actions: list[ActionSpec], words: dict[str, str]
    ) -> Iterator[str]:
        """A node of the player; an action that is left to chance gets a separate node."""
        ways, extra = [], []
        for action in actions:
            if len(action.edges) == 1:
                ways.append(self.instruction(component, action.edges[0].target, words))
                continue
            node = _unused("a", {*words.values()})
            words[f"\0{node}"] = node
            ways.append(f"goto {node};")
            extra.append(f"  {node}: {self.chance(component, action, words)}")
        yield f"  max {head}: {'  '.join(ways)}"
        yield from extra

    def chance(self, component: ComponentSpec, action: ActionSpec, words: dict[str, str]) -> str:
        return "  ".join(
            f"{edge.prob}: {self.instruction(component, edge.target, words)}"
            for edge in action.edges
        )

    def place(self, component: ComponentSpec, vertex: str, words: dict[str, str]) -> str:
        if vertex in component.entries:
            return f"entry({component.entries.index(vertex) + 1})"
        if "." not in vertex:
            return words[vertex]
        box, _, name = vertex.partition(".")
        callee = self.components[component.boxes[box]]
        return f"{words[box]}({callee.exits.index(name) + 1})"

    def instruction(self, component: ComponentSpec, target: str, words: dict[str, str]) -> str:
        if target in component.exits:
            return f"return {component.exits.index(target) + 1};"
        box, _, entry = target.partition(".")
        if box in component.boxes and (entry or target not in component.vertices):
            callee = self.components[component.boxes[box]]
            number = callee.entries.index(entry) + 1 if entry else 1
            return f"call {words[box]}({number});"
        return f"goto {words[target]};"


def _start_component(spec: ModelSpec) -> dict[str, ComponentSpec]:
    """A component that begins where the model does, by calling the start component."""
    first = next(iter(spec.start)).partition(".")[0]
    exits = spec.components[first].exits
    name = _unused("start", {*spec.components})
    edges = [EdgeSpec(f"run.{entry.partition('.')[2]}", p) for entry, p in spec.start.items()]
    up = {f"run.{end}": {"up": ActionSpec(0, [EdgeSpec(end)])} for end in exits}
    begin = {"in": {"go": ActionSpec(0, edges)}}
    return {name: ComponentSpec(["in"], list(exits), {"run": first}, {**begin, **up})}


def _words(names: list[str], letter: str, taken: set[str] | None = None) -> dict[str, str]:
    """A word of the format for each name, itself where it is one."""
    used = {*(taken or ()), *_WORDS}
    words: dict[str, str] = {}
    for name in names:
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name not in used
        words[name] = name if plain else _unused(letter, {*used, *names})
        used.add(words[name])
    return words


def _unused(letter: str, taken: set[str]) -> str:
    return next(word for i in range(len(taken) + 1) if (word := f"{letter}{i}") not in taken)


FORMAT = Format(
    "premo",
    "recursive Markov chains and decision processes of PReMo",
    (".rmc", ".premo"),
    read,
    write,
    recursive=True,
)
