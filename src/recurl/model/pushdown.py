"""Pushdown systems and recursive models, each as the other.

A configuration of a pushdown system is a state and a stack of symbols; a rule is one outcome of an
action at a state with a symbol on top, and puts a word of symbols in its place. As a model, a
symbol is a component: its entries are the states in which it comes to the top, its exits those in
which it has been popped. A rule that pushes ``B C`` calls B, and what C does afterwards stands at
the return ports of that box; a rule that pushes one symbol goes on in the same component.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from recurl.errors import LimitError
from recurl.model.assemble import assemble, disassemble
from recurl.model.limits import Clock
from recurl.model.names import is_name, is_text, unused_name
from recurl.model.numbers import exact
from recurl.model.report import Report, shown
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec, Number

Head = tuple[str, str]
"""A state and the symbol on top."""
Word = tuple[str, ...]
"""Symbols, the top first."""

_LONGEST_WORD = 100
_LONGEST_NAME = 100
_LARGEST = 5_000_000
_SLACK = 1e-9


class PushdownRule(NamedTuple):
    """One outcome of an action of a pushdown system.

    Attributes:
        state: The state before.
        symbol: The symbol on top, which is popped.
        action: Name of the action; its outcomes have the same state, symbol and action.
        prob: Probability of this outcome.
        to: The state afterwards.
        pushed: The symbols that are pushed, the top first.
        reward: What the outcome pays.
    """

    state: str
    symbol: str
    action: str
    prob: Number
    to: str
    pushed: Word
    reward: Number


def pushdown(
    rules: Iterable[tuple[str, str, str, Number, str, str | Iterable[str], Number]],
    start: Head | Mapping[Head, Number] | None = None,
    *,
    name: str = "pushdown",
) -> RMDP:
    """The model of a pushdown system.

    A run begins with one symbol on the stack and ends when the stack is empty: the state it is left
    in is the exit. An action of the system is an action of the model, with the same outcomes; a
    rule that pushes more than two symbols takes a step of reward 0 more for each further symbol,
    when it comes to the top.

    Args:
        rules: Outcomes as in `PushdownRule`: state, symbol, action, probability, state, symbols
            pushed (a text of words, or a sequence; the top first), reward.
        start: State and symbol at the start, or the probability of each such pair, all with one
            symbol. By default that of the first rule.
        name: Name of the model.

    Raises:
        ModelError: A rule is wrong, or runs get to a state and a symbol that have no rule.

    Example:
        >>> model = pushdown([
        ...     ("p", "A", "go", "1/3", "p", "A A", -1),
        ...     ("p", "A", "go", "2/3", "q", "", -1),
        ...     ("q", "A", "go", 1, "q", "", -1),
        ... ])
        >>> model
        <RMDP pushdown: 1 component, 4 vertices, 1-exit, recursive>
        >>> import recurl
        >>> round(recurl.solve(model).value, 6)
        -2.0
    """
    report = Report(f"pushdown system {name}: ")
    read = _rules(rules, report)
    begin = _start(start, read, report)
    report.raise_any()
    system = _Reached(read, begin, report)
    report.raise_any()
    symbol = next(iter(begin))[1]
    entries = system.entry_names[symbol]
    starts = {f"{symbol}.{entries[state]}": prob for (state, _), prob in begin.items()}
    return assemble(ModelSpec(name, starts, {s: system.component(s) for s in system.entry_names}))


def pushdown_rules(model: RMDP) -> tuple[list[PushdownRule], dict[Head, Number]]:
    """A model as a pushdown system: its rules, and where runs start.

    Symbols are the components and the boxes, states the nodes. `pushdown` makes a model of it that
    has the same actions in the same order wherever runs get to; names may differ, and features and
    labels are left out.

    Example:
        >>> import recurl
        >>> rules, start = pushdown_rules(recurl.zoo.succinct(2))
        >>> for rule in rules[:2]:
        ...     print(*rule)
        in M2 a 1 in ('M1', 'first') 0
        in M2 b 1 out () 0
        >>> recurl.solve(pushdown(rules, start)).value
        3.0
    """
    spec = disassemble(model)
    first = next(iter(spec.start)).partition(".")[0]
    taken, boxes = {*spec.components}, dict[Head, str]()
    for name, component in spec.components.items():
        for box in component.boxes:
            boxes[name, box] = unused_name(box if box not in taken else f"{name}:{box}", taken, "_")
            taken.add(boxes[name, box])
    rules = []
    for name in sorted(spec.components, key=lambda name: name != first):
        for vertex, actions in spec.components[name].vertices.items():
            box, dot, exit = vertex.partition(".")
            head = (exit, boxes[name, box]) if dot else (vertex, name)
            for action, ways in actions.items():
                for edge in ways.edges:
                    to = _pushed(spec, name, boxes, edge.target)
                    reward = ways.reward if edge.reward is None else edge.reward
                    rules.append(PushdownRule(*head, action, edge.prob, *to, reward))
    starts = [(entry, component) for component, entry in (e.split(".") for e in spec.start)]
    return rules, dict(zip(starts, spec.start.values(), strict=True))


def _pushed(spec: ModelSpec, name: str, boxes: Mapping[Head, str], target: str) -> tuple[str, Word]:
    """The state and the symbols that a target of a component stands for."""
    component = spec.components[name]
    box, _, entry = target.partition(".")
    if box in component.boxes:
        callee = component.boxes[box]
        return entry or spec.components[callee].entries[0], (callee, boxes[name, box])
    return target, () if target in component.exits else (name,)


def _rules(rules: Iterable[Any], report: Report) -> list[PushdownRule]:
    """The rules, each checked by itself, and the probabilities of each action."""
    read: list[PushdownRule] = []
    sums, first = defaultdict[Word, float](float), dict[Word, int]()
    for index, given in enumerate(rules):
        place = ("rules", index)
        try:
            state, symbol, action, prob, to, pushed, reward = given
            word = tuple(pushed.split() if isinstance(pushed, str) else pushed)
        except (TypeError, ValueError):
            parts = "state, symbol, action, probability, state, symbols pushed, reward"
            report.add(place, "is not a rule", f"give {parts}")
            continue
        for what, text in (("state", state), ("symbol", symbol), ("state", to)):
            _check_name(text, what, place, report)
        for text in word[:_LONGEST_WORD]:
            _check_name(text, "symbol", place, report)
        if not is_text(action):
            report.add(place, f"{shown(action)} is not a name for an action")
        if len(word) > _LONGEST_WORD:
            report.add(place, f"pushes {len(word)} symbols", f"push at most {_LONGEST_WORD}")
        try:
            exact(reward)
            chance = exact(prob)
        except ValueError as error:
            report.add(place, str(error))
            continue
        if not 0 < chance <= 1:
            report.add(place, f"{prob} is not a probability", "leave out what is impossible")
        key: Word = (str(state), str(symbol), str(action))
        first.setdefault(key, index)
        sums[key] += float(chance)
        read.append(PushdownRule(state, symbol, action, prob, to, word, reward))
    for key, total in sums.items():
        if abs(total - 1) > _SLACK:
            message = f"the probabilities of {', '.join(map(shown, key))} sum to {total:.10g}"
            report.add(("rules", first[key]), message, "make them sum to 1")
    if not read:
        report.add((), "there is no rule", "give at least one")
    return read


def _check_name(text: object, what: str, place: tuple[str, int], report: Report) -> None:
    if not is_name(text):
        fix = "use printable characters, no dots, no blanks at the ends, at most 250 in all"
        report.add(place, f"{shown(text)} is not a name for a {what}", fix)


def _start(
    given: Head | Mapping[Head, Number] | None, rules: list[PushdownRule], report: Report
) -> dict[Head, Number]:
    """The probability of each start."""
    if given is None:
        return {(rules[0].state, rules[0].symbol): 1} if rules else {}
    starts: dict[Any, Number] = dict(given) if isinstance(given, Mapping) else {tuple(given): 1}
    for head in starts:
        if not (isinstance(head, tuple) and len(head) == 2 and all(map(is_name, head))):
            report.add(("start",), f"{shown(head)} is not a start", "give a state and a symbol")
    report.raise_any()
    if len({symbol for _, symbol in starts}) != 1:
        fix = "let one symbol be replaced by several in the first step"
        report.add(("start",), "does not begin with one symbol", fix)
    return starts


class _Reached:
    """Where runs get to, and the components that follow from it.

    Saturation: a frame is a state in which a symbol comes to the top, and the heads that take its
    place until something is popped. Those who call it, each with what is below, are kept with it,
    so that a pop goes on in all of them.
    """

    def __init__(self, rules: list[PushdownRule], start: Iterable[Head], report: Report) -> None:
        self._rules, self._report = rules, report
        self._of = defaultdict[Head, list[int]](list)
        for index, rule in enumerate(rules):
            self._of[rule.state, rule.symbol].append(index)
        self._heads, self._pops = dict[Head, set[Head]](), dict[Head, dict[str, None]]()
        self._callers = defaultdict[Head, dict[tuple[Head, Word], int]](dict)
        self._queue, self._size = deque[tuple[Head, Head]](), 0
        self._clock = Clock("the pushdown system")
        self.entry_names: dict[str, dict[str, str]] = {}
        # By component: exits, heads that replace the symbol, boxes, return ports in use.
        self._exits = defaultdict[str, dict[str, str]](dict)
        self._tails = defaultdict[str, dict[Head, str]](dict)
        self._boxes = defaultdict[str, dict[tuple[str, Word], str]](dict)
        self._ports = defaultdict[str, set[tuple[str, Word, str]]](set)
        for head in start:
            self._frame(head, None)
        self._saturate()
        for symbol, entries in self.entry_names.items():
            self._name(symbol, entries)

    def _saturate(self) -> None:
        while self._queue:
            frame, head = self._queue.popleft()
            for index in self._of[head]:
                rule = self._rules[index]
                if rule.pushed:
                    self._go_on(frame, rule.to, rule.pushed, index)
                    continue
                if rule.to not in self._pops[frame]:
                    self._pops[frame][rule.to] = None
                    self._exits[frame[1]][rule.to] = rule.to
                    for (caller, below), origin in list(self._callers[frame].items()):
                        self._return(caller, frame[1], below, rule.to, origin)

    def _go_on(self, frame: Head, state: str, word: Word, origin: int) -> None:
        """A frame gets to a state with a word in the place of its symbol."""
        symbol, below = word[0], word[1:]
        if not below:
            self._tails[frame[1]][state, symbol] = ""
            self._head(frame, (state, symbol), origin)
            return
        called = (state, symbol)
        self._boxes[frame[1]][symbol, below] = ""
        if (frame, below) not in self._callers[called]:
            self._callers[called][frame, below] = origin
            self._frame(called, origin)
            for popped in list(self._pops[called]):
                self._return(frame, symbol, below, popped, origin)

    def _return(self, frame: Head, called: str, below: Word, state: str, origin: int) -> None:
        """A call of a frame returns in a state."""
        self._clock.check(self._size)
        self._ports[frame[1]].add((called, below, state))
        if len(below) == 1:
            self._head(frame, (state, below[0]), origin)
        else:
            self._go_on(frame, state, below, origin)

    def _frame(self, head: Head, origin: int | None) -> None:
        if head not in self._heads:
            self._heads[head], self._pops[head] = set(), {}
            self.entry_names.setdefault(head[1], {})[head[0]] = head[0]
            self._head(head, head, origin)

    def _head(self, frame: Head, head: Head, origin: int | None) -> None:
        """A frame gets to a head."""
        if head in self._heads[frame]:
            return
        self._heads[frame].add(head)
        self._queue.append((frame, head))
        self._grow(1)
        if head not in self._of:
            place = ("start",) if origin is None else ("rules", origin)
            message = f"runs get to {shown(head[0])} with {shown(head[1])} on top, without a rule"
            self._report.add(place, message, "add one; to itself, if they stay there")
            self._of[head] = []

    def _grow(self, count: int) -> None:
        self._clock.check(self._size)
        self._size += count
        if self._size > _LARGEST:
            raise LimitError(
                f"the pushdown system has more than {_LARGEST:,} vertices, counted for each state "
                "in which a symbol comes to the top: let fewer states push"
            )

    def _name(self, symbol: str, entries: dict[str, str]) -> None:
        """Names of the nodes and boxes of a component; exits are called as their states."""
        if not self._exits[symbol]:
            self._exits[symbol]["never"] = "never"  # every component has an exit
        taken = {*self._exits[symbol]}

        def name(plain: str, other: str) -> str:
            free = plain if plain not in taken else unused_name(other[:_LONGEST_NAME], taken, "_")
            taken.add(free)
            return free

        for state in entries:
            entries[state] = name(state, f"{state}-in")
        for state, top in self._tails[symbol]:
            other = f"{state}-{top}"
            self._tails[symbol][state, top] = name(state if top == symbol else other, other)
        for called, below in self._boxes[symbol]:
            word = "+".join(below)[:_LONGEST_NAME].strip()
            self._boxes[symbol][called, below] = name(word, f"{called}:{word}")
            self._grow(len(self._exits[called]) + len(self.entry_names[called]))

    def component(self, symbol: str) -> ComponentSpec:
        """The component of a symbol."""
        vertices = {
            name: self._actions(symbol, (state, symbol))
            for state, name in self.entry_names[symbol].items()
        }
        for head, name in self._tails[symbol].items():
            vertices[name] = self._actions(symbol, head)
        for (called, below), box in self._boxes[symbol].items():
            for state in self._exits[called]:
                vertices[f"{box}.{state}"] = self._port(symbol, called, below, state)
        return ComponentSpec(
            entries=list(self.entry_names[symbol].values()),
            exits=list(self._exits[symbol]),
            boxes={name: called for (called, _), name in self._boxes[symbol].items()},
            vertices=vertices,
        )

    def _port(self, symbol: str, called: str, below: Word, state: str) -> dict[str, ActionSpec]:
        """The actions of a return port; no run gets to those that are not in use."""
        if (called, below, state) not in self._ports[symbol]:
            return {"never": ActionSpec(0, [EdgeSpec(next(iter(self._exits[symbol])))])}
        if len(below) == 1:
            return self._actions(symbol, (state, below[0]))
        return {"go": ActionSpec(0, [EdgeSpec(self._target(symbol, state, below))])}

    def _actions(self, symbol: str, head: Head) -> dict[str, ActionSpec]:
        actions = defaultdict[str, ActionSpec](ActionSpec)
        for rule in (self._rules[index] for index in self._of[head]):
            target = self._target(symbol, rule.to, rule.pushed)
            actions[rule.action].edges.append(EdgeSpec(target, rule.prob, rule.reward))
        return dict(actions)

    def _target(self, symbol: str, state: str, word: Word) -> str:
        if not word:
            return self._exits[symbol][state]
        if len(word) == 1:
            return self._tails[symbol][state, word[0]]
        return f"{self._boxes[symbol][word[0], word[1:]]}.{self.entry_names[word[0]][state]}"
