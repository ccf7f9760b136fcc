"""Live runs: the function itself does its work, and a learner makes its choices.

The world is unknown and nothing is replayed. A state is a position in the code, what the function
lets the learner observe there, and how the last `outcome` went. Calls and returns of programs are
reported to the learner, so that its choices in a function depend on what the results are worth to
the caller.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from recurl.env.protocol import require_single
from recurl.errors import BusyError, LimitError, RecurlError
from recurl.learn.env_engine import EnvEngine, Notes
from recurl.learn.loop_kernel import BEGIN
from recurl.learn.turns import by_one_thread
from recurl.model.tables import CALLS, EXITS, STEP
from recurl.programs.language import RUNNER, amount_of, attempt, running

if TYPE_CHECKING:
    from recurl.learn.tabular import TabularLearner
    from recurl.model.spec import Number
    from recurl.programs.decorator import Program

MOST_OPTIONS = 64
"""Options that a choice of a live run may have."""


class LiveWorld(gym.Env[str, Any]):
    """The environment of a live learner: names of states, and options.

    It is never stepped by the learner: the program calls, the learner answers.
    """

    observation_space = spaces.Text(1000)
    action_space = spaces.Discrete(MOST_OPTIONS)

    def __init__(self) -> None:
        # By name of each choice: its function and line, what is seen there, and its options, as
        # text; kept in checkpoints.
        self.notes: Notes = {}

    metadata: dict[str, Any] = {"render_modes": [], "root_as_callee": True}  # noqa: RUF012

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Not possible: call the live program instead."""
        raise RecurlError("a live program is not stepped: call it, as in live(arguments)")


class Live:
    """A program that learns while it works; made by `Program.live`.

    Calling it runs the function for real and returns what that returns. An exception that the
    function raises ends the episode and propagates: what was paid before it is learned, and nothing
    more is earned. Ctrl-C, and an error of this library, say nothing about the choices: what was
    paid after the last choice is dropped. One thread at a time may call it.

    Args:
        program: The function.
        learner: A tabular learner on a `LiveWorld`.

    Attributes:
        learner: The learner; save it with ``learner.save``.
        total: Rewards of the last episode, added up.
        decisions: Choices made so far.
    """

    def __init__(self, program: Program, learner: TabularLearner) -> None:
        if not isinstance(learner.engine, EnvEngine):
            raise RecurlError("a live program needs a learner on LiveWorld(), not on a model")
        self.program, self.learner = program, learner
        self._engine = learner.engine
        self._notes: dict[str, Any] = getattr(self._engine.env.unwrapped, "notes", {})
        self._vertices: dict[Any, int] = {}
        self._boxes: dict[Any, tuple[int, list[int]]] = {}
        self._options: dict[Any, tuple[Any, ...]] = {}
        self._named: dict[str, Any] = {}
        self._learned_before = set(self._engine.numbering.vertices)
        self._random = random.Random(learner.settings.seed)
        self._learning = True
        self.total, self.decisions = 0.0, 0
        self._reset()

    def _reset(self) -> None:
        self._move, self._which, self._paid = BEGIN, 0, 0.0
        self._frames: list[Program] = [self.program]
        self._outcome: list[str] = [""]
        self._contexts = [0]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the function for real, learning."""
        return self._episode(arguments, named, learning=True)

    def greedy(self, *arguments: Any, **named: Any) -> Any:
        """Run the function for real with the best choices known; nothing is learned."""
        return self._episode(arguments, named, learning=False)

    @property
    def one_thread(self) -> Any:
        """Held by the thread that uses the learner."""
        return self.learner.one_thread

    @by_one_thread
    def _episode(self, arguments: tuple[Any, ...], named: dict[str, Any], learning: bool) -> Any:
        if RUNNER.get() is self:
            raise BusyError(
                f"{self.program.name} runs live already: inside, call {self.program.name}(...)"
            )
        self._reset()
        self._learning, self.total = learning, 0.0
        try:
            with running(self):
                result = self.program.function(*arguments, **named)
        except (KeyboardInterrupt, RecurlError):
            raise  # says nothing about the choices
        except RecursionError as error:
            self._end()
            raise LimitError(
                f"{self.program.name} calls deeper than Python's recursion limit of "
                f"{sys.getrecursionlimit()}, of which a call of a program takes about four: call "
                "sys.setrecursionlimit, or bound the depth"
            ) from error
        except BaseException:
            self._end()
            raise
        self._end()
        self._check_known()
        return result

    def _check_known(self) -> None:
        """Warn if the first episode with choices met nothing of what the learner knew before."""
        if self._options and self._learned_before:
            if self._learned_before.isdisjoint(self._named):
                warnings.warn(
                    f"{self.program.name} met none of the {len(self._learned_before)} places that "
                    "the learner knows: what it learned is for other functions, or for choices "
                    "and calls in another order",
                    stacklevel=5,
                )
            self._learned_before = set()

    def _end(self) -> None:
        """Report the end of an episode to the learner."""
        if self._learning:
            if self._move != BEGIN:
                self._settle(self.program)
                self._engine.tell(0, EXITS, -1, self._paid)
            self._engine.count_episode(self.total)

    def choices(self) -> dict[tuple[str, int], dict[Any, Any]]:
        """The best choice known, for each function and line, by what is observed there.

        These are the choices of runs whose callers do not care which result they get. Choices that
        were learned before, and not met since, are on the line on which they stood then.
        """
        found: dict[tuple[str, int], dict[Any, Any]] = {}
        for name, (function, line, text, texts) in self._notes.items():
            vertex = self._engine.numbering.find(name)
            if name not in self._named and vertex is not None:
                option = texts[self._engine.greedy_action(0, vertex)]
                found.setdefault((function, line), {})[_value(text)] = _value(option)
        for place, options in self._options.items():
            code, at, seen, *_ = place
            action = self._engine.greedy_action(0, self._vertices[place])
            found.setdefault((code.co_name, _line(code, at)), {})[seen] = options[action]
        return found

    # Requests of programs

    def choose(self, options: tuple[Any, ...], frame: FrameType) -> Any:
        """The learner's choice."""
        self.decisions += 1
        place = (frame.f_code, frame.f_lasti, self._seen(frame), self._outcome[-1], len(options))
        vertex = self._vertices.get(place)
        if vertex is None:
            name = self._name(place)
            vertex = self._new_vertex(place, name, len(options))
            self._options[place] = options
            code, at, seen = place[:3]
            texts = list(map(repr, options))
            self._notes[name] = code.co_name, _line(code, at), repr(seen), texts
        return options[self._land(vertex)]

    def draw(self, outcomes: Mapping[Any, Number]) -> Any:
        """Draw by the numbers."""
        (drawn,) = self._random.choices(list(outcomes), [float(p) for p in outcomes.values()])
        return drawn

    def reward(self, amount: Number) -> None:
        """Count a reward towards the last choice or event."""
        paid = amount if type(amount) is float else float(amount_of(amount))
        self._paid += paid
        self.total += paid

    def outcome(self, work: Callable[[], Any], exceptions: tuple[type[Exception], ...]) -> Any:
        """Do some work, and note how it went."""
        result = attempt(work, exceptions)
        failed = isinstance(result, exceptions)
        self._outcome[-1] = type(result).__name__ if failed else "ok"
        return result

    def call(
        self, program: Program, arguments: tuple[Any, ...], named: dict[str, Any], frame: FrameType
    ) -> Any:
        """Run what is called, and report the call and the return to the learner."""
        place = (frame.f_code, frame.f_lasti, self._seen(frame), self._outcome[-1])
        if self._move != STEP:
            self._land(self._forced(place))
        box, ports = self._boxes.get((place, program)) or self._new_box(place, program)
        self._move, self._which = CALLS, box
        self._frames.append(program)
        self._outcome.append("")
        try:
            result = program.function(*arguments, **named)
        except BaseException as error:
            # A caller may catch it and go on: to the learner this is a result.
            self._leave(program, ports, program.exit_of(error))
            raise
        self._leave(program, ports, program.exit_of(result))
        return result

    def _leave(self, program: Program, ports: list[int], index: int) -> None:
        """Report a return through an exit to the learner."""
        self._settle(program)
        self._move, self._which = EXITS, index
        self._frames.pop()
        self._outcome.pop()
        self._land(ports[index])

    # Reports to the learner

    def _settle(self, program: Program) -> None:
        """Land somewhere in a function that made no choice, before it is left."""
        if self._move != STEP:
            self._land(self._forced(("end of", program)))

    def _land(self, vertex: int) -> int:
        """Report a step that led to a vertex; returns the action there."""
        if self._learning:
            action = self._engine.tell(vertex, self._move, self._which, self._paid)
        else:
            action = self._follow(vertex)
        self._move, self._which, self._paid = STEP, 0, 0.0
        return action

    def _follow(self, vertex: int) -> int:
        """The greedy action; calls and returns move the stack of contexts."""
        if self._move == CALLS and not self._engine.flat:
            entered = self._engine.greedy_call(self._contexts[-1], self._which, vertex)
            self._contexts.append(entered)
        elif self._move == EXITS and not self._engine.flat:
            self._contexts.pop()
        return self._engine.greedy_action(self._contexts[-1], vertex)

    # Names and numbers

    def _seen(self, frame: FrameType) -> Any:
        return self._frames[-1].observed(frame)

    def _name(self, place: tuple[Any, ...]) -> str:
        code, at, *rest = place
        name = f"{code.co_qualname}: {_ordinal(code, at)} {rest}"
        while self._named.setdefault(name, place) != place:
            name += " again"  # another function of the same name
        return name

    def _new_vertex(self, place: Any, name: str, actions: int) -> int:
        if actions > MOST_OPTIONS:
            raise LimitError(f"{name}: {actions} options; a live choice has at most {MOST_OPTIONS}")
        mask = np.zeros(MOST_OPTIONS, np.int8)
        mask[:actions] = 1
        vertex = self._vertices[place] = self._engine.numbering.visit(name, mask)
        return vertex

    def _forced(self, place: tuple[Any, ...]) -> int:
        """A vertex at which nothing is chosen."""
        vertex = self._vertices.get(place)
        if vertex is None:
            name = f"{place[0]} {place[1].name}" if place[0] == "end of" else self._name(place)
            vertex = self._new_vertex(place, f"at {name}", 1)
        return vertex

    def _new_box(self, place: tuple[Any, ...], program: Program) -> tuple[int, list[int]]:
        require_single(self._engine.settings.box_gamma, program.n_exits)
        names = [f"after {self._name(place)} {i}" for i in range(program.n_exits)]
        ports = [self._new_vertex((place, program, i), name, 1) for i, name in enumerate(names)]
        box = self._boxes[place, program] = self._engine.numbering.box(names), ports
        return box


@cache
def _ordinal(code: CodeType, at: int) -> str:
    """A call in a function by what is called and its number among such calls: ``choose 1``.

    Neither lines nor other calls count, so that it stays what it is when the rest is edited.
    """
    places = list(code.co_positions())
    steps = dis.get_instructions(code)
    calls = {places[s.offset // 2] for s in steps if s.opname.startswith("CALL")}
    own = places[at // 2]
    names = {place: _called(code, place) for place in {own, *calls}}
    alike = [place for place, name in names.items() if name == names[own]]
    return f"{names[own]} {sorted(alike, key=_order).index(own) + 1}"


_Position = tuple[int | None, int | None, int | None, int | None]


def _order(place: _Position) -> tuple[int, ...]:
    line, last, column, end = place
    return line or 0, column or 0, -(last or 0), -(end or 0)


def _called(code: CodeType, place: _Position) -> str:
    """The text of the function called at a place, if the source is there."""
    line, _, column, _ = place
    text = linecache.getline(code.co_filename, line) if line and column is not None else ""
    found = re.match(r"[\w.]+", text.encode()[column:].decode(errors="replace"))
    return found[0] if found else "call"


def _value(text: str) -> Any:
    """The value that a text stands for, or the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _line(code: Any, at: int) -> int:
    lines = [line for begin, end, line in code.co_lines() if begin <= at < end and line]
    return lines[0] if lines else int(code.co_firstlineno)


Observe = Callable[..., Any] | tuple[str, ...]
"""The locals of a function that are observed: their names, or a function of some."""


def observer(observe: Observe | None) -> Callable[[FrameType], Any]:
    """The function from a frame to what is observed in it; locals without a value are None."""
    if observe is None:
        return lambda frame: None
    if not callable(observe):
        names = tuple(observe)
        return lambda frame: _frozen(tuple(map(frame.f_locals.get, names)))
    wanted, look = tuple(inspect.signature(observe).parameters), observe
    return lambda frame: _frozen(look(*map(frame.f_locals.get, wanted)))


def _frozen(seen: Any) -> Any:
    """The same with tuples and frozensets in place of what can change, to be looked up."""
    try:
        hash(seen)
    except TypeError:
        if isinstance(seen, Mapping):
            return frozenset((key, _frozen(value)) for key, value in seen.items())
        if isinstance(seen, set | frozenset):
            return frozenset(map(_frozen, seen))
        if isinstance(seen, Iterable):
            return tuple(map(_frozen, seen))
        raise
    return seen
