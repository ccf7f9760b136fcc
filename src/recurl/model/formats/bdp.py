"""Branching decision processes in the files of Mungojerrie, read as recursive models.

Such a file is a program in the language of PRISM that begins with ``bdp``, has one module and two
players. In states of the first player one command is chosen; in states of the second, nature, every
command happens: each is a child that lives on by itself. States labelled ``"final"`` are extinct.
The total reward of an individual is its own and that of all its descendants. It becomes one
component: a child is a call, and the exit ``extinct`` says that an individual and all its
descendants are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recurl.errors import LimitError
from recurl.model.assemble import assemble
from recurl.model.formats.format import Format, Options, errors_of, refuse
from recurl.model.formats.tokens import Expression, Tokens, Value, expression
from recurl.model.limits import Clock, read_text
from recurl.model.report import shown
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

State = tuple[Value, ...]
_MOST = 1_000_000


def is_branching(text: str) -> bool:
    """Whether a text begins with the word ``bdp``, after comments."""
    for line in text.splitlines():
        words = line.partition("//")[0].split()
        if words:
            return words[0] == "bdp"
    return False


def read(path: Path, options: Options) -> RMDP:
    """Read a branching decision process as a model."""
    text = read_text(path)
    try:
        with errors_of(path):
            program = _Parser(Tokens(text, path)).program()
            return assemble(_Explorer(program, path, options).spec())
    except RecursionError:
        refuse(path, "is nested too deep", "flatten it")


class _Branch(NamedTuple):
    prob: Expression
    updates: list[tuple[str, Expression]]


class _Command(NamedTuple):
    action: str
    guard: Expression
    branches: list[_Branch]


class _Reward(NamedTuple):
    action: str | None
    guard: Expression
    amount: Expression


@dataclass
class _Program:
    names: dict[str, Value | Expression] = field(default_factory=dict)
    variables: dict[str, tuple[Value, Value, Value]] = field(default_factory=dict)
    commands: list[_Command] = field(default_factory=list)
    labels: dict[str, Expression] = field(default_factory=dict)
    rewards: dict[str, list[_Reward]] = field(default_factory=dict)
    players: list[set[str]] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)


class _Parser:
    """Reads the sections of a program."""

    def __init__(self, tokens: Tokens) -> None:
        self.t, self.made = tokens, _Program()

    def program(self) -> _Program:
        self.t.need("bdp")
        known = {
            "const": self.constant,
            "formula": self.formula,
            "label": self.label,
            "global": self.variable,
            "module": self.module,
            "rewards": self.rewards,
            "player": self.player,
        }
        while self.t.next.kind != "end":
            word = self.t.next.text
            if word not in known:
                self.t.fail(f"{shown(word)} does not begin a section", f"known: {', '.join(known)}")
            self.t.need(word)
            known[word]()
        return self.made

    def define(self, name: str, value: Value | Expression) -> None:
        if name in self.made.names or name in self.made.variables:
            self.t.fail(f"{shown(name)} is defined twice", "keep one of them")
        self.made.names[name] = value

    def constant(self) -> None:
        if self.t.next.text in ("int", "double", "bool"):
            self.t.name()
        name = self.t.name()
        self.t.need("=")
        self.define(name, expression(self.t)(self.made.names))
        self.t.need(";")

    def formula(self) -> None:
        name = self.t.name()
        self.t.need("=")
        self.define(name, expression(self.t))
        self.t.need(";")

    def label(self) -> None:
        name = self.t.need_kind("text", "a name in quotes")[1:-1]
        self.t.need("=")
        self.made.labels[name] = expression(self.t)
        self.t.need(";")

    def variable(self) -> None:
        name = self.t.name()
        self.t.need(":")
        low: Value = False
        high: Value = True
        if not self.t.take("bool"):
            self.t.need("[")
            low = expression(self.t)(self.made.names)
            self.t.need("..")
            high = expression(self.t)(self.made.names)
            self.t.need("]")
        first = expression(self.t)(self.made.names) if self.t.take("init") else low
        self.t.need(";")
        if name in self.made.names or name in self.made.variables:
            self.t.fail(f"{shown(name)} is defined twice", "keep one of them")
        self.made.variables[name] = (low, high, first)

    def module(self) -> None:
        self.made.modules.append(self.t.name())
        if len(self.made.modules) > 1 or self.t.next.text == "=":
            self.t.fail("has several modules", "write it as one module")
        while not self.t.take("endmodule"):
            if self.t.take("["):
                self.command()
            else:
                self.variable()

    def command(self) -> None:
        action = "" if self.t.next.text == "]" else self.t.name()
        self.t.need("]")
        guard = expression(self.t)
        self.t.need("->")
        branches = [self.branch()]
        while self.t.take("+"):
            branches.append(self.branch())
        self.t.need(";")
        self.made.commands.append(_Command(action, guard, branches))

    def branch(self) -> _Branch:
        sure = self.t.next.text == "(" and self.t.ahead(2).text == "'"
        if sure or (self.t.next.text == "true" and self.t.ahead(1).text == ";"):
            return _Branch(lambda names: Fraction(1), self.updates())
        prob = expression(self.t)
        self.t.need(":")
        return _Branch(prob, self.updates())

    def updates(self) -> list[tuple[str, Expression]]:
        if self.t.take("true"):
            return []
        found = []
        while True:
            self.t.need("(")
            name = self.t.name()
            self.t.need("'")
            self.t.need("=")
            found.append((name, expression(self.t)))
            self.t.need(")")
            if not self.t.take("&"):
                return found

    def rewards(self) -> None:
        named = self.t.next.kind == "text"
        name = self.t.need_kind("text", "a name")[1:-1] if named else ""
        items = self.made.rewards.setdefault(name, [])
        while not self.t.take("endrewards"):
            action = None
            if self.t.take("["):
                action = "" if self.t.next.text == "]" else self.t.name()
                self.t.need("]")
            guard = expression(self.t)
            self.t.need(":")
            items.append(_Reward(action, guard, expression(self.t)))
            self.t.need(";")

    def player(self) -> None:
        self.t.name()
        owned = set()
        while not self.t.take("endplayer"):
            if self.t.take("["):
                owned.add("" if self.t.next.text == "]" else self.t.name())
                self.t.need("]")
            else:
                self.t.fail("a player owns actions here", "list them: [a], [b]")
            if not self.t.take(","):
                self.t.need("endplayer")
                break
        self.made.players.append(owned)


class _Choice(NamedTuple):
    """A command in a state: its action, its reward, and where it leads."""

    action: str
    reward: Fraction
    edges: list[tuple[State, Fraction]]


class _Explorer:
    """Explores the states of a program, and makes a component of them."""

    def __init__(self, program: _Program, path: Path, options: Options) -> None:
        self.program, self.path = program, path
        self.rewards = self._rewards(options.rewards)
        self.variables = list(program.variables)
        if "final" not in program.labels:
            refuse(path, 'has no label "final"', 'write: label "final" = ...; for extinction')
        if len(program.players) > 2:
            refuse(path, f"has {len(program.players)} players: two are known, the second is nature")
        self.nature = program.players[1] if len(program.players) == 2 else set[str]()
        self.start: State = tuple(first for _, _, first in program.variables.values())
        self.choices: dict[State, list[_Choice]] = {}
        self.born: dict[State, None] = {self.start: None}
        self._explore()

    def _rewards(self, wanted: str | None) -> list[_Reward]:
        known = self.program.rewards
        if wanted is not None and wanted not in known:
            refuse(self.path, f"has no rewards {shown(wanted)}", f"known: {', '.join(known)}")
        if wanted is None and len(known) > 1:
            refuse(self.path, "has several rewards", f"name one of {', '.join(known)}")
        return known[wanted] if wanted is not None else next(iter(known.values()), [])

    def _explore(self) -> None:
        clock = Clock(str(self.path))
        waiting = [self.start]
        seen = {self.start}
        while waiting:
            state = waiting.pop()
            if self._holds(self.program.labels["final"], state):
                self.choices[state] = []
                continue
            found = self.choices[state] = self._choices(state)
            children = self._is_nature(state)
            for place, choice in enumerate(found):
                for target, _ in choice.edges:
                    if target not in seen:
                        seen.add(target)
                        waiting.append(target)
                    if children and place < len(found) - 1:
                        self.born[target] = None
            clock.check(len(seen))
            if len(seen) > _MOST:
                raise LimitError(f"{self.path}: has more than {_MOST:,} states")

    def _names(self, state: State) -> dict[str, Value | Expression]:
        return {**self.program.names, **dict(zip(self.variables, state, strict=True))}

    def _holds(self, test: Expression, state: State) -> bool:
        return bool(test(self._names(state)))

    def _is_nature(self, state: State) -> bool:
        """Whether all commands of a state are nature's."""
        owned = [choice.action in self.nature for choice in self.choices[state]]
        if any(owned) and not all(owned):
            refuse(self.path, f"both players move in {self._name(state)}", "tell them apart")
        return any(owned)

    def _choices(self, state: State) -> list[_Choice]:
        names = self._names(state)
        found = []
        for command in self.program.commands:
            if command.guard(names) is not True:
                continue
            edges: dict[State, Fraction] = {}
            for branch in command.branches:
                target = self._moved(state, branch, names)
                edges[target] = edges.get(target, Fraction(0)) + self._number(branch.prob(names))
            likely = [(target, p) for target, p in edges.items() if p]
            found.append(_Choice(command.action, self._paid(command.action, names), likely))
        return found

    def _number(self, value: Value) -> Fraction:
        if isinstance(value, bool):
            refuse(self.path, "a truth value stands where a number is expected")
        return value

    def _moved(self, state: State, branch: _Branch, names: dict[str, Value | Expression]) -> State:
        values = dict(zip(self.variables, state, strict=True))
        for name, update in branch.updates:
            if name not in values:
                refuse(self.path, f"unknown variable {shown(name)}", "declare it")
            low, high, _ = self.program.variables[name]
            value = update(names)
            if not low <= value <= high or isinstance(value, bool) != isinstance(low, bool):
                place = self._name(state)
                refuse(
                    self.path, f"{name} becomes {value}, which its range does not have", "", place
                )
            values[name] = value
        return tuple(values.values())

    def _paid(self, action: str, names: dict[str, Value | Expression]) -> Fraction:
        total = Fraction(0)
        for reward in self.rewards:
            if reward.action in (None, action) and reward.guard(names) is True:
                total += self._number(reward.amount(names))
        return total

    # The component

    def spec(self) -> ModelSpec:
        """The model, in plain words."""
        component = ComponentSpec([f"new {self._name(s)}" for s in self.born], ["extinct"])
        for state, found in self.choices.items():
            if self._final(state):
                continue
            name = self._name(state)
            if not self._is_nature(state):
                component.vertices[name] = self._decision(state, found)
            else:
                self._children(component, name, found)
        for state in self.born:
            if self._final(state):
                name = f"new {self._name(state)}"
                component.vertices[name] = {"end": ActionSpec(0, [EdgeSpec("extinct")])}
            else:
                copied = component.vertices[self._name(state)]
                component.vertices[f"new {self._name(state)}"] = copied
        start = {f"main.new {self._name(self.start)}": 1}
        return ModelSpec(self.path.stem or "bdp", dict(start), {"main": component})

    def _final(self, state: State) -> bool:
        return self._holds(self.program.labels["final"], state)

    def _decision(self, state: State, found: list[_Choice]) -> dict[str, ActionSpec]:
        if not found:
            return {"stay": ActionSpec(0, [EdgeSpec(self._name(state))])}
        words = [choice.action or "a" for choice in found]
        twice = len(set(words)) < len(words)
        return {
            f"{word}:{i}" if twice else word: ActionSpec(
                choice.reward, [EdgeSpec(self._target(t), p) for t, p in choice.edges]
            )
            for i, (word, choice) in enumerate(zip(words, found, strict=True))
        }

    def _target(self, state: State) -> str:
        return "extinct" if self._final(state) else self._name(state)

    def _children(self, component: ComponentSpec, name: str, found: list[_Choice]) -> None:
        """A state of nature: one child after the other is called, the last one goes on here."""
        for i, choice in enumerate(found):
            last = i == len(found) - 1
            box, after = f"{name} child {i}", f"{name} after {i}"
            edges = [
                EdgeSpec(
                    self._target(t)
                    if last
                    else after
                    if self._final(t)
                    else f"{box}.new {self._name(t)}",
                    p,
                )
                for t, p in choice.edges
            ]
            actions = {choice.action or "a": ActionSpec(choice.reward, edges)}
            for place in self._places(name, i, found):
                component.vertices[place] = actions
            if not last and any(not self._final(t) for t, _ in choice.edges):
                component.boxes[box] = "main"

    def _places(self, name: str, i: int, found: list[_Choice]) -> Iterator[str]:
        """Where child i is born: the state itself, or where the child before it may end."""
        if i == 0:
            yield name
            return
        targets = [t for t, _ in found[i - 1].edges]
        if any(self._final(t) for t in targets):
            yield f"{name} after {i - 1}"
        if any(not self._final(t) for t in targets):
            yield f"{name} child {i - 1}.extinct"

    def _name(self, state: State) -> str:
        values = (
            str(int(v)) if isinstance(v, bool) or v.denominator == 1 else str(v) for v in state
        )
        return ",".join(f"{n}={v}" for n, v in zip(self.variables, values, strict=True))


FORMAT = Format(
    "bdp",
    "branching decision processes of Mungojerrie (.bdp, or .prism that begins with bdp)",
    (".bdp",),
    read,
    takes=("rewards",),
    recursive=True,
)
