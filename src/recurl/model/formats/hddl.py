"""HDDL, hierarchical planning with totally ordered tasks, through unified-planning.

A task with its arguments, called in a state, is a component; a method is a choice, a primitive
action a step, and the states that the task can end in are its exits. An action pays minus its cost:
what it adds to ``total-cost``, or 1 in domains without costs. Where no method applies, or the next
action cannot be taken, the run is stuck and pays 1 forever, so that plans avoid it. ``slips``, an
annotation of ours, names actions that fail with a probability: they cost, change nothing, and are
tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recurl.errors import LimitError, MissingExtraError
from recurl.model.assemble import assemble
from recurl.model.formats.format import Format, Options, errors_of, refuse, refuse_line
from recurl.model.limits import LARGEST_NOTE, Clock, cut, read_text
from recurl.model.numbers import exact
from recurl.model.report import shown
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

Atom = tuple[str, ...]
State = frozenset[Atom]
_MOST_EXITS = 5_000
_MOST_STATES = 200_000
_COST = "total-cost"


def read(path: Path, options: Options) -> RMDP:
    """Read a domain and a problem as a model."""
    if options.problem is None:
        refuse(path, "is a domain without a problem", "name one: problem=FILE")
    domain, problem = read_text(path, LARGEST_NOTE), read_text(options.problem, LARGEST_NOTE)
    slips = {} if options.slips is None else _slips(Path(options.slips))
    parsed = _parsed(path, domain, problem)
    with errors_of(path):
        return assemble(_Explorer(parsed, path, slips).spec())


def _slips(path: Path) -> dict[str, Fraction]:
    """Lines ``ACTION PROBABILITY``; what follows a # is a comment."""
    found = {}
    for number, line in enumerate(read_text(path, LARGEST_NOTE).splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            name, chance = words[0].lower(), exact(words[1])
        except (ValueError, IndexError):
            refuse_line(path, number, "is not ACTION PROBABILITY", "as in: drive 1/10")
        if len(words) != 2 or not 0 <= chance < 1:
            refuse_line(path, number, "is not ACTION PROBABILITY", "as in: drive 1/10")
        found[name] = chance
    return found


def _parsed(path: Path, domain: str, problem: str) -> Any:
    """The problem as unified-planning has it; its failures are one clear error."""
    try:
        from unified_planning.io import PDDLReader
        from unified_planning.model.htn import HierarchicalProblem
    except ImportError:
        raise MissingExtraError("Reading HDDL", "planning") from None
    try:
        parsed = PDDLReader().parse_problem_string(domain, problem)
    except RecursionError:
        refuse(path, "is nested too deep", "flatten it")
    except Exception as error:  # whatever the parser stumbles over
        refuse(path, f"unified-planning cannot read it: {cut(str(error) or repr(error))}")
    if not isinstance(parsed, HierarchicalProblem):
        refuse(path, "has no tasks: it is a problem of PDDL, not of HDDL")
    return parsed


class _Step(NamedTuple):
    """A subtask: its task or action, and its arguments as expressions."""

    name: str
    primitive: bool
    arguments: tuple[Any, ...]


class _Method(NamedTuple):
    name: str
    parameters: list[Any]
    bound: list[str]
    tests: list[Any]
    steps: list[_Step]


class _Way(NamedTuple):
    """A method with values of its parameters."""

    method: _Method
    values: Mapping[str, str]

    @property
    def name(self) -> str:
        return " ".join([self.method.name, *self.values.values()])


@dataclass
class _Component:
    """A task with its arguments, called in a state, as far as it is explored."""

    name: str
    task: str
    arguments: tuple[str, ...]
    state: State
    ways: dict[str, str] = field(default_factory=dict)
    exits: dict[State, None] = field(default_factory=dict)
    steps: dict[str, ActionSpec] = field(default_factory=dict)
    boxes: dict[str, tuple[_Way, int, _Component]] = field(default_factory=dict)
    callers: list[tuple[_Component, _Way, int]] = field(default_factory=list)


class _Explorer:
    """Explores which states tasks are entered in and left in, then writes the components."""

    def __init__(self, problem: Any, path: Path, slips: dict[str, Fraction]) -> None:
        self.problem, self.path, self.slips = problem, path, slips
        self.clock, self.size = Clock(str(path)), 0
        self.methods = self._methods()
        self.actions = {action.name: action for action in problem.actions}
        for name in slips:
            if name not in self.actions:
                refuse(path, f"slips: unknown action {shown(name)}", ", ".join(self.actions))
        changing = {e.fluent.fluent().name for a in problem.actions for e in a.effects}
        true = [
            (atom.fluent().name, *(str(x) for x in atom.args))
            for atom, value in problem.initial_values.items()
            if value.is_bool_constant() and value.bool_constant_value()
        ]
        self.fixed = {atom for atom in true if atom[0] not in changing}
        self.amounts = {
            (atom.fluent().name, *(str(x) for x in atom.args)): Fraction(str(value))
            for atom, value in problem.initial_values.items()
            if value.is_int_constant() or value.is_real_constant()
        }
        self.numbers: dict[State, int] = {}
        self.components: dict[tuple[tuple[str, ...], State], _Component] = {}
        self.waiting: list[_Component] = []
        self.start: State = frozenset(atom for atom in true if atom[0] in changing)
        self.top = self._component(("",), self.start)
        while self.waiting:
            self._expand(self.waiting.pop())

    # What the problem says

    def _methods(self) -> dict[str, list[_Method]]:
        found: dict[str, list[_Method]] = {"": [self._top_method()]}
        for method in self.problem.methods:
            task = method.achieved_task
            bound = [p.name for p in task.parameters]
            tests = [*method.preconditions, *method.non_temporal_constraints()]
            steps = self._ordered(method.name, method)
            made = _Method(method.name, list(method.parameters), bound, _conjuncts(tests), steps)
            found.setdefault(task.task.name, []).append(made)
        return found

    def _top_method(self) -> _Method:
        network = self.problem.task_network
        tests = _conjuncts(network.non_temporal_constraints())
        return _Method("plan", list(network.variables), [], tests, self._ordered("plan", network))

    def _ordered(self, name: str, network: Any) -> list[_Step]:
        by_name = {task.identifier: task for task in network.subtasks}
        order = list(by_name) if len(by_name) < 2 else network.total_order()
        if order is None:
            refuse(self.path, f"the tasks of {name} are not totally ordered", "order them")
        tasks = {task.name for task in self.problem.tasks}
        return [
            _Step(by_name[i].task.name, by_name[i].task.name not in tasks, by_name[i].parameters)
            for i in order
        ]

    def _holds(self, test: Any, names: Mapping[str, str], state: State) -> bool:
        """Whether an expression holds, parameters and variables being names of objects."""
        if test.is_fluent_exp():
            atom = (test.fluent().name, *(self._object(x, names) for x in test.args))
            return atom in state or atom in self.fixed
        if test.is_bool_constant():
            return bool(test.bool_constant_value())
        if test.is_equals():
            left, right = (self._object(x, names) for x in test.args)
            return left == right
        if test.is_not():
            return not self._holds(test.arg(0), names, state)
        if test.is_and() or test.is_or():
            parts = (self._holds(x, names, state) for x in test.args)
            return all(parts) if test.is_and() else any(parts)
        if test.is_implies():
            return not self._holds(test.arg(0), names, state) or self._holds(
                test.arg(1), names, state
            )
        if test.is_forall() or test.is_exists():
            ways = self._assignments(test.variables(), dict(names))
            parts = (self._holds(test.arg(0), way, state) for way in ways)
            return all(parts) if test.is_forall() else any(parts)
        return refuse(self.path, f"the condition {shown(test)} is not known here")

    def _object(self, term: Any, names: Mapping[str, str]) -> str:
        if term.is_parameter_exp():
            return names[term.parameter().name]
        if term.is_variable_exp():
            return names[term.variable().name]
        if term.is_object_exp():
            return str(term.object().name)
        return refuse(self.path, f"the term {shown(term)} is not known here")

    def _assignments(self, variables: Any, names: dict[str, str]) -> Iterator[dict[str, str]]:
        if not variables:
            yield names
            return
        for thing in self.problem.objects(variables[0].type):
            yield from self._assignments(variables[1:], {**names, variables[0].name: thing.name})

    def _ways(self, method: _Method, arguments: tuple[str, ...], state: State) -> Iterator[_Way]:
        """Values of a method's parameters in which its conditions hold."""
        given = dict(zip(method.bound, arguments, strict=True))
        free = [p for p in method.parameters if p.name not in given]
        known = set(given)
        # Each condition is looked at as soon as all its parameters have values.
        stages: list[list[Any]] = [[] for _ in range(len(free) + 1)]
        for test in method.tests:
            needed = _parameters(test) - known
            last = max((i for i, p in enumerate(free, 1) if p.name in needed), default=0)
            stages[last].append(test)

        def search(i: int, values: dict[str, str]) -> Iterator[_Way]:
            if not all(self._holds(test, values, state) for test in stages[i]):
                return
            if i == len(free):
                yield _Way(method, values)
                return
            for thing in self.problem.objects(free[i].type):
                yield from search(i + 1, {**values, free[i].name: thing.name})

        yield from search(0, given)

    def _applied(self, action: Any, names: dict[str, str], state: State) -> State | None:
        """The state after an action, or None if it cannot be taken."""
        if not all(self._holds(test, names, state) for test in action.preconditions):
            return None
        gone: set[Atom] = set()
        come: set[Atom] = set()
        for effect in action.effects:
            if effect.fluent.fluent().name == _COST or effect.is_increase():
                continue
            for way in self._assignments(tuple(effect.forall), names):
                if self._holds(effect.condition, way, state):
                    args = (self._object(x, way) for x in effect.fluent.args)
                    atom = (effect.fluent.fluent().name, *args)
                    (come if self._holds(effect.value, way, state) else gone).add(atom)
        return (state - gone) | come

    def _cost(self, action: Any, names: dict[str, str]) -> Fraction:
        paid = [e for e in action.effects if e.is_increase() and e.fluent.fluent().name == _COST]
        if not any(
            e.is_increase() and e.fluent.fluent().name == _COST
            for a in self.problem.actions
            for e in a.effects
        ):
            return Fraction(1)
        return sum((self._amount(effect.value, names) for effect in paid), Fraction(0))

    def _amount(self, value: Any, names: dict[str, str]) -> Fraction:
        if value.is_fluent_exp():
            atom = (value.fluent().name, *(self._object(x, names) for x in value.args))
            return self.amounts.get(atom, Fraction(0))
        return Fraction(str(value))

    # Exploring

    def _component(self, call: tuple[str, ...], state: State) -> _Component:
        """The component of a task with its arguments, in the state in which it is called.

        One for each such state: what a task does in one of them tells nothing about another.
        """
        key = (call, state)
        if key not in self.components:
            words = " ".join(call).strip() or "plan"
            name = f"{words} in {self._number(state)}" if call != ("",) else words
            self.components[key] = made = _Component(name, call[0], call[1:], state)
            self.waiting.append(made)
        return self.components[key]

    def _number(self, state: State) -> int:
        return self.numbers.setdefault(state, len(self.numbers))

    def _expand(self, component: _Component) -> None:
        state, ways = component.state, component.ways
        for method in self.methods.get(component.task, []):
            for way in self._ways(method, component.arguments, state):
                ways[way.name] = self._target(component, way, 0, state)

    def _target(self, component: _Component, way: _Way, place: int, state: State) -> str:
        """Where a task goes on with the steps of a method from a place on."""
        if place == len(way.method.steps):
            return self._leave(component, state)
        step = way.method.steps[place]
        arguments = tuple(self._object(x, way.values) for x in step.arguments)
        if not step.primitive:
            return self._call(component, way, place, (step.name, *arguments), state)
        name = f"{way.name}: {place}, {self._number(state)}"
        if name not in component.steps:
            self._count()
            component.steps[name] = ActionSpec()
            self._take(component, (way, place), (step.name, arguments), state, name)
        return name

    def _take(
        self,
        component: _Component,
        at: tuple[_Way, int],
        step: tuple[str, tuple[str, ...]],
        state: State,
        name: str,
    ) -> None:
        """A primitive action, which may slip."""
        action = self.actions[step[0]]
        names = dict(zip((p.name for p in action.parameters), step[1], strict=True))
        after = self._applied(action, names, state)
        if after is None:
            component.steps[name] = ActionSpec(0, [EdgeSpec("stuck")])
            return
        slip = self.slips.get(step[0], Fraction(0))
        edges = [EdgeSpec(self._target(component, at[0], at[1] + 1, after), 1 - slip)]
        edges += [EdgeSpec(name, slip)] * bool(slip)
        component.steps[name] = ActionSpec(-self._cost(action, names), edges)

    def _call(
        self, component: _Component, way: _Way, place: int, key: tuple[str, ...], state: State
    ) -> str:
        callee = self._component(key, state)
        box = f"{way.name}: {place}, {self._number(state)}"
        if box not in component.boxes:
            component.boxes[box] = (way, place, callee)
            callee.callers.append((component, way, place))
            for left in list(callee.exits):
                self._target(component, way, place + 1, left)
        return f"{box}.in"

    def _leave(self, component: _Component, state: State) -> str:
        if component is self.top:
            goal = all(self._holds(test, {}, state) for test in self.problem.goals)
            return "done" if goal else "stuck"
        if state not in component.exits:
            self._count()
            component.exits[state] = None
            if len(component.exits) > _MOST_EXITS:
                raise LimitError(
                    f"{self.path}: the task {component.name} can end in more than {_MOST_EXITS:,} "
                    "states, each of which would be an exit: take a smaller problem"
                )
            for caller, way, place in list(component.callers):
                self._target(caller, way, place + 1, state)
        return f"out {self._number(state)}"

    def _count(self) -> None:
        self.size += 1
        self.clock.check(self.size)
        if self.size > _MOST_STATES:
            widest = max(self.components.values(), key=lambda c: len(c.exits))
            raise LimitError(
                f"{self.path}: has more than {_MOST_STATES:,} steps; the task {widest.name} has "
                f"{len(widest.exits):,} exits: take a smaller problem"
            )

    # The components

    def spec(self) -> ModelSpec:
        """The model, in plain words."""
        components = {c.name: self._written(c) for c in self.components.values()}
        start: dict[str, Any] = {f"{self.top.name}.in": 1}
        return ModelSpec(self.problem.name or self.path.stem, start, components)

    def _exits(self, component: _Component) -> list[str]:
        if component is self.top:
            return ["done"]
        return [f"out {self._number(state)}" for state in component.exits] or ["never"]

    def _written(self, component: _Component) -> ComponentSpec:
        made = ComponentSpec(["in"], self._exits(component))
        stuck = {"stuck": ActionSpec(0, [EdgeSpec("stuck")])}
        ways = component.ways.items()
        actions = {name: ActionSpec(0, [EdgeSpec(target)]) for name, target in ways}
        made.vertices["in"] = actions or stuck
        for name, action in component.steps.items():
            made.vertices[name] = {"go": action}
        for box, (way, place, callee) in component.boxes.items():
            made.boxes[box] = callee.name
            for left in callee.exits:
                target = self._target(component, way, place + 1, left)
                after = {"next": ActionSpec(0, [EdgeSpec(target)])}
                made.vertices[f"{box}.out {self._number(left)}"] = after
            if not callee.exits:
                made.vertices[f"{box}.never"] = stuck
        if any(e.target == "stuck" for v in made.vertices.values() for a in v.values()
               for e in a.edges):  # fmt: skip
            made.vertices["stuck"] = {"stuck": ActionSpec(-1, [EdgeSpec("stuck")])}
        return made


def _conjuncts(tests: Any) -> list[Any]:
    """Conditions, those that are joined by `and` one by one."""
    found, waiting = [], list(tests)
    while waiting:
        test = waiting.pop(0)
        if test.is_and():
            waiting[:0] = test.args
        else:
            found.append(test)
    return found


def _parameters(test: Any) -> set[str]:
    """Names of the parameters of a condition."""
    found, waiting = set(), [test]
    while waiting:
        part = waiting.pop()
        if part.is_parameter_exp():
            found.add(part.parameter().name)
        waiting += part.args
    return found


FORMAT = Format(
    "hddl",
    "hierarchical planning domains (HDDL), with problem=FILE",
    (".hddl",),
    read,
    extra="planning",
    takes=("problem", "slips"),
    recursive=True,
)
