"""All states that a program can reach: position and locals, function by function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recurl.errors import LimitError, RecurlError
from recurl.model.limits import Clock
from recurl.policy.reached import CallSearch
from recurl.programs.code import RETURNED, Code, Values, described, value_text
from recurl.programs.language import amount_of, coin, distribution, options_of, types_in
from recurl.programs.purity import generator_states

if TYPE_CHECKING:
    from recurl.programs.decorator import Program

_CHECKED = 1024
"""States after which the clock is looked at."""

START, CHOICE, CHANCE, REWARD, CALLING, RETURN = range(6)
"""Kinds of states. A start is where a call begins, with its arguments, before anything is run."""


@dataclass(slots=True)
class State:
    """A function at a position with its locals.

    Attributes:
        function: Number of the function.
        position: Its position, an event; -1 at a start or a return.
        values: Locals that matter there; the arguments at a start, the value at a return.
        kind: What happens there.
        next: States that may come next; by option, outcome, or exit of what is called.
        options: Options of a choice.
        odds: Probabilities of a draw.
        amount: Reward.
        entry: Start of what is called.
        behind: Where a call continues behind each exit.
    """

    function: int
    position: int
    values: Values
    kind: int = START
    next: list[int] = field(default_factory=list)
    options: Values = ()
    odds: Sequence[Fraction] = ()
    amount: Fraction = Fraction(0)
    entry: int = -1
    behind: dict[int, int] = field(default_factory=dict)


class Exploration:
    """The states of a program that can be reached from a call of it.

    Args:
        program: The function called.
        arguments: What it is called with.
        state_limit: States after which to give up.

    Raises:
        LimitError: There are more; the message names the local that took the most values.
        ModelError: A function does something that a model cannot express.
    """

    def __init__(self, program: Program, arguments: Values, state_limit: int) -> None:
        self.limit = state_limit
        self._clock = Clock(f"program {program.name}")
        self.functions: list[Program] = []
        self.codes: list[Code] = []
        self.states: list[State] = []
        self.starts: list[list[int]] = []
        self.returns: list[list[int]] = []
        self._numbers: dict[Any, int] = {}
        before = generator_states()
        try:
            self.first = self._start(program, arguments, {})
        except TypeError as error:
            raise RecurlError(_misfit(program, error)) from None
        self.search = CallSearch()
        self.search.enter(self.first)
        for place in self.search.places():
            self._follow(place)
        if generator_states() != before:
            for code in self.codes:
                if code.helpers:
                    raise code.impure(code.helpers, "draws from a random generator")

    @cached_property
    def deciding(self) -> set[int]:
        """Starts from which a choice can be reached before the call returns."""
        found: set[int] = set()
        for frame, number in zip(self.search.frame, self.search.node, strict=True):
            if self.states[number].kind == CHOICE:
                found.add(self.search.entry[frame])
        todo = list(found)
        while todo:
            new = self.callers.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    @cached_property
    def callers(self) -> dict[int, set[int]]:
        """Starts whose calls make a call, by the start of that."""
        found: dict[int, set[int]] = {}
        for frame, number in zip(self.search.frame, self.search.node, strict=True):
            if self.states[number].kind == CALLING:
                found.setdefault(self.states[number].entry, set()).add(self.search.entry[frame])
        return found

    def _function(self, program: Program) -> int:
        if program in self.functions:
            return self.functions.index(program)
        self.functions.append(program)
        self.codes.append(program.code)
        self.starts.append([])
        self.returns.append([])
        return len(self.functions) - 1

    def _start(self, program: Program, arguments: Values, named: dict[str, Any]) -> int:
        function = self._function(program)
        return self._number(function, -1, self.codes[function].enter(arguments, named), START)

    def _number(self, function: int, position: int, values: Values, kind: int) -> int:
        """Number of a state, new or known; what is equal but of another type is another value."""
        key = (function, kind, position, values, types_in(values))
        number = self._numbers.get(key)
        if number is None:
            if len(self.states) >= self.limit:
                raise LimitError(self._complaint())
            if len(self.states) % _CHECKED == 0:
                self._clock.check(len(self.states))
            number = self._numbers[key] = len(self.states)
            self.states.append(State(function, position, values, kind))
            if kind in (START, RETURN):
                (self.starts if kind == START else self.returns)[function].append(number)
        return number

    def _settled(self, function: int, position: int, values: Values) -> int:
        """The next event or return of a function, run from a position that is not an event."""
        position, values = self.codes[function].run(position, values, self.limit)
        if position == RETURNED:
            return self._number(function, -1, values, RETURN)
        word = self.codes[function].events[position].word
        kind = _KINDS[word] if isinstance(word, str) else CALLING
        return self._number(function, position, values, kind)

    def _resumed(self, state: State, result: Any) -> int:
        event = self.codes[state.function].events[state.position]
        return self._settled(state.function, *event.resume(result, state.values))

    # How it goes on

    def exits_of(self, start: int) -> list[int]:
        """Returns that a call from a start can reach."""
        return list(self.search.exits[self.search.frame_at(start)])

    def _follow(self, place: int) -> None:
        number = self.search.node[place]
        state = self.states[number]
        if state.kind == RETURN:
            self.search.leave(place, number)
            return
        if not state.next and state.entry < 0:
            self._expand(state)
        if state.kind == CALLING:
            self.search.call(place, state.entry, lambda leaving: self._behind(state, leaving))
        for successor in state.next:
            self.search.visit(self.search.frame[place], successor)

    def _behind(self, state: State, leaving: int) -> int:
        if leaving not in state.behind:
            state.behind[leaving] = self._resumed(state, self.states[leaving].values[0])
        return state.behind[leaving]

    def _expand(self, state: State) -> None:
        code = self.codes[state.function]
        if state.kind == START:
            state.next = [self._settled(state.function, *code.entered(state.values))]
            return
        event = code.events[state.position]
        try:
            arguments, named = code.operands(event, state.values, self.limit)
            results = self._event(state, event.word, arguments, named)
        except RecurlError:
            raise
        except Exception as error:
            raise code.failure(error, state.position, state.values) from error
        state.next = [self._resumed(state, result) for result in results]

    def _event(
        self, state: State, word: Any, arguments: Values, named: dict[str, Any]
    ) -> Iterable[Any]:
        """Note what happens at an event; returns the results that it may have."""
        if state.kind == CALLING:
            state.entry = self._start(word, arguments, named)
            return ()
        if state.kind == CHOICE:
            state.options = options_of(arguments)
            return state.options
        (given,) = (*arguments, *named.values())
        if state.kind == REWARD:
            state.amount = amount_of(given)
            return (None,)
        odds = coin(given) if word == "flip" else distribution(given)
        state.odds = list(odds.values())
        return odds

    # Too many states

    def _complaint(self) -> str:
        name = self.functions[self._widest()[0]].name
        return (
            f"program {name} has more than {self.limit} states: {self.widest()}. Bound it, as in "
            "min(n + 1, 10), or raise state_limit"
        )

    def widest(self) -> str:
        """The local that took the most values, in words."""
        _, name, values = self._widest()
        examples = ", ".join(map(value_text, values[:5]))
        return f"{name} took {len(values)} different values ({examples}, ...)"

    def _widest(self) -> tuple[int, str, list[Any]]:
        """The local that took the most values, and these in the order of discovery."""
        seen: dict[tuple[int, str], dict[Any, None]] = {}
        for state in self.states:
            for name, value in zip(self._names(state), state.values, strict=True):
                seen.setdefault((state.function, name), {})[value] = None
        function, name = max(seen, key=lambda key: len(seen[key]))
        return function, name, list(seen[function, name])

    def _names(self, state: State) -> list[str]:
        code = self.codes[state.function]
        if state.kind == START:
            return list(code.source.signature.parameters)
        if state.kind == RETURN:
            return [f"the value that {code.source.name} returns"]
        place = f" in {code.source.name}"
        return [code.meaning(name) + place for name in code.events[state.position].names]

    def describe(self, number: int) -> str:
        """A state in words: line, source and locals."""
        state = self.states[number]
        code = self.codes[state.function]
        if state.kind == START:
            return f"{code.source.name}({described(self._names(state), state.values)})"
        if state.kind == RETURN:
            return f"{code.source.name} returns {value_text(state.values[0])}"
        there = code.locals_text(state.position, state.values)
        text = code.texts[state.position]
        return f"{text} with {there}" if there else text


def _misfit(program: Program, error: TypeError) -> str:
    """The message for arguments that do not fit, or for a method without its object."""
    parameters = list(program.code.source.signature.parameters)
    if parameters[:1] == ["self"]:
        return (
            f"{program.name} is a method, and its object is an argument like any other: call it as "
            f"in .solve(object) or .live()(object); a model needs an object that is a value"
        )
    return f"{program.name}({', '.join(parameters)}): {error}"


_KINDS = {"choose": CHOICE, "flip": CHANCE, "pick": CHANCE, "reward": REWARD}
