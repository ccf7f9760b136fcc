"""Flat models: states, choices, branches, labels and rewards as arrays, and what they become.

A flat model becomes one component: states with a goal label are its exits, the initial state is its
entry, all others are nodes. A model without boxes becomes flat states, exits being absorbing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import ModelError, Problem
from recurl.model.array_checks import Arrays, array_problems
from recurl.model.names import LazyNames, Names, is_name, is_text
from recurl.model.numbers import ExactNumbers
from recurl.model.report import shown
from recurl.model.rmdp import RMDP
from recurl.model.tables import EXIT, Layout, Tables, runs

if TYPE_CHECKING:
    from recurl.model.formats.format import Options

STAY = "stay"
START = "start"
END = "end"
_HIDDEN = ("init", "deadlock")


@dataclass(slots=True)
class Flat:
    """A Markov decision process as arrays.

    Numbers are floats, or `fractions.Fraction` in arrays of objects where they are exact.

    Attributes:
        name: Name of the model.
        choices: First choice of each state, and the end of the last one. ``[S + 1]``
        branches: First branch of each choice, and the end of the last one. ``[C + 1]``
        target: State that a branch leads to. ``[B]``
        prob: Probability of a branch. ``[B]``
        reward: Reward of a branch. ``[B]``
        initial: The initial state.
        labels: Which states have a label.
        state_names: A name per state, if there are any.
        action_names: A name per choice, if there are any.
        goal: Labels that are the exits unless others are asked for.
        component: Name of the component that it becomes.
    """

    name: str
    choices: np.ndarray
    branches: np.ndarray
    target: np.ndarray
    prob: np.ndarray
    reward: np.ndarray
    initial: int
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    state_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None
    goal: tuple[str, ...] = ()
    component: str = "main"

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.choices) - 1


class _States(LazyNames):
    """Names of vertices: those of states."""

    def __init__(self, first: list[str], states: np.ndarray, names: Sequence[str] | None) -> None:
        self._first, self._states, self._names = first, states, names

    def __len__(self) -> int:
        return len(self._first) + len(self._states)

    def make(self, index: int) -> str:
        """The name of a vertex."""
        if index < len(self._first):
            return self._first[index]
        state = int(self._states[index - len(self._first)])
        return f"s{state}" if self._names is None else self._names[state]


class _Actions(LazyNames):
    """Names of actions: labels of choices, numbered where a state has a label twice or none."""

    def __init__(self, names: Sequence[str], choice: np.ndarray, number: np.ndarray) -> None:
        self._names, self._choice, self._number = names, choice, number

    def __len__(self) -> int:
        return len(self._choice)

    def make(self, index: int) -> str:
        """The name of an action."""
        choice, number = int(self._choice[index]), int(self._number[index])
        label = self._names[choice] if choice >= 0 else STAY
        return label if number < 0 else f"{label if is_text(label) else 'a'}:{number}"


def model_of(flat: Flat, exits: Mapping[str, np.ndarray]) -> RMDP:
    """The model of a flat one, its exits being sets of states by name; the first set counts.

    Raises:
        ModelError: Probabilities do not sum to 1, or there is no exit.
    """
    names = list(exits)
    exit_of = np.full(flat.n_states, -1)
    for k, mask in reversed(list(enumerate(exits.values()))):
        exit_of[mask] = k
    if not names:
        raise ModelError([Problem("", "has no goal", "name a label: goal=LABEL")])
    kept = flat.prob != 0
    inner = np.flatnonzero(exit_of < 0)
    copied = _is_target(flat, kept, exit_of, inner) or exit_of[flat.initial] >= 0
    if not copied:
        inner = inner[inner != flat.initial]
    return _Assembly(flat, names, exit_of, inner, copied, kept).model()


def _is_target(flat: Flat, kept: np.ndarray, exit_of: np.ndarray, inner: np.ndarray) -> bool:
    """Whether a run may come back to the initial state."""
    source = np.repeat(np.arange(flat.n_states), np.diff(flat.branches[flat.choices]))
    back = kept & (flat.target == flat.initial) & (exit_of[source] < 0)
    stays = flat.choices[flat.initial] == flat.choices[flat.initial + 1]
    return bool(back.any() or stays)


class _Assembly:
    """Vertices, actions and transitions of a model from a flat one.

    The vertices are the entry, the exits, and a node for each of the `inner` states; if runs may
    come back to the initial state it is among these too, and the entry is a copy of it.
    """

    def __init__(
        self,
        flat: Flat,
        exits: list[str],
        exit_of: np.ndarray,
        inner: np.ndarray,
        copied: bool,
        kept: np.ndarray,
    ) -> None:
        self.flat, self.exits, self.copied = flat, exits, copied
        self.states = np.concatenate([[flat.initial], np.full(len(exits), -1), inner])
        self.vertex_of = np.where(exit_of >= 0, 1 + exit_of, 0)
        self.vertex_of[inner] = 1 + len(exits) + np.arange(len(inner))
        # A state without choices, and an initial state that is a goal, get one action of ours.
        counts = np.where(self.states < 0, 0, np.diff(flat.choices)[self.states])
        if exit_of[flat.initial] >= 0:
            counts[0] = 0
        own = (counts == 0) & (self.states >= 0)
        first = np.where(own, -1, flat.choices[self.states])
        self.counts = counts + own
        self.choice = np.where(
            np.repeat(own, self.counts), -1, runs(np.where(own, 0, first), self.counts)
        )
        self.vertex = np.repeat(np.arange(len(self.states)), self.counts)
        self._branches(kept)

    def _branches(self, kept: np.ndarray) -> None:
        flat, own = self.flat, self.choice < 0
        sizes = np.where(own, 1, _taken(np.diff(flat.branches), self.choice))
        branch = runs(np.where(own, 0, flat.branches[self.choice]), sizes)
        action = np.repeat(np.arange(len(self.choice)), sizes)
        mine = own[action]
        use = kept[branch] | mine if len(kept) else mine
        branch, action, mine = branch[use], action[use], mine[use]
        self.sizes = np.bincount(action, minlength=len(self.choice))
        home = self.vertex_of[self.states[self.vertex[action]]]
        self.target = np.where(mine, home, _taken(self.vertex_of, _taken(flat.target, branch)))
        self.prob = np.where(mine, 1, _taken(flat.prob, branch))
        self.reward = np.where(mine, 0, _taken(flat.reward, branch))

    def model(self) -> RMDP:
        """The model."""
        flat, binary = self.flat, self.flat.prob.dtype != object
        layout = Layout.of([1], [len(self.exits)], [len(self.states) - 1 - len(self.exits)])
        columns: dict[str, Any] = {
            "action_start": np.concatenate([[0], np.cumsum(self.counts)]),
            "transition_start": np.concatenate([[0], np.cumsum(self.sizes)]),
            "target": self.target,
            "prob": self.prob.astype(np.float64),
            "reward": self.reward.astype(np.float64),
            "start_prob": np.ones(1),
        }
        problems = array_problems(layout, 0, Arrays(**columns))
        if not binary and not problems:
            problems = list(_inexact(self.prob.tolist(), columns["transition_start"]))
        if problems:
            raise ModelError(problems, headline=f"model {flat.name}: ")
        tables = Tables.of(layout, start_component=0, **columns)
        written = [None] * 3 if binary else [[1], self.prob.tolist(), self.reward.tolist()]
        floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
        names = Names(
            [flat.component], self._vertex_names(), [], self._action_names(tables), tables=tables
        )
        return RMDP(flat.name, tables, names, exact=ExactNumbers(*written, floats=floats))

    def _vertex_names(self) -> Sequence[str]:
        given, inner = self.flat.state_names, self.states[1 + len(self.exits) :]
        taken = {START} if given is None else {given[s] for s in inner.tolist()}
        entry = f"s{self.flat.initial}" if given is None else given[self.flat.initial]
        if self.copied:
            entry = _free(START, set() if given is None else taken)
        exits = _unlike(self.exits, {entry, *taken}, numbered=given is None)
        return _States([entry, *exits], inner, given)

    def _action_names(self, tables: Tables) -> Sequence[str]:
        if self.flat.action_names is None:
            return Names.numbered(tables).actions
        labels = self.flat.action_names
        texts = [labels[c] if c >= 0 else STAY for c in self.choice.tolist()]
        _, ids = np.unique(np.array(texts, dtype=object).astype(str), return_inverse=True)
        order = np.lexsort((ids, self.vertex))
        same = (np.diff(ids[order]) == 0) & (np.diff(self.vertex[order]) == 0)
        odd = np.zeros(len(self.states), bool)
        odd[self.vertex[order][1:][same]] = True
        bad = {text for text in set(texts) if not is_text(text)}
        if bad:
            odd[self.vertex[[text in bad for text in texts]]] = True
        place = np.arange(len(texts)) - tables.action_start[self.vertex]
        return _Actions(labels, self.choice, np.where(odd[self.vertex], place, -1))


def _taken(column: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements of a column; zeros of a column that has none."""
    return column[index] if len(column) else np.zeros(len(index), np.int64)


def _inexact(prob: list[Fraction], start: np.ndarray) -> Iterator[Problem]:
    """Distributions that do not sum to 1, twenty at most."""
    sums: dict[tuple[int, ...], Fraction] = {}  # the same numbers come again and again
    ids, found = list(map(id, prob)), 0
    for choice, (first, last) in enumerate(itertools.pairwise(start.tolist())):
        row = tuple(ids[first:last])
        if row not in sums:
            sums[row] = sum(prob[first:last], Fraction(0))
        if sums[row] != 1 and found < 20:
            found += 1
            yield Problem(
                f"choice {choice}", f"probabilities sum to {sums[row]}", "make them sum to 1"
            )


def _unlike(exits: list[str], taken: set[str], *, numbered: bool) -> list[str]:
    """Names of exits that no state has; states may be named s0, s1, ..."""
    result: list[str] = []
    for k, name in enumerate(exits):
        text = name if is_name(name) else f"exit{k}"
        if numbered and text[:1] == "s" and text[1:].isdecimal():
            text += "_"
        result.append(_free(text, {*taken, *result}))
    return result


def _free(word: str, taken: set[str]) -> str:
    while word in taken:
        word += "'"
    return word


def exits_of(flat: Flat, options: Options, file: str) -> dict[str, np.ndarray]:
    """The sets of states that options make the exits: by a property, by labels, or by default.

    Without either, a file says itself which labels are its exits, or has one label; in a model
    without labels, absorbing states that pay nothing are the exit ``end``.
    """
    from recurl.model.formats.properties import asked, holds

    if options.property is not None:
        question = asked(options.property)
        goal = holds(question.goal, flat.labels, flat.n_states)
        exits = {"goal": goal}
        if question.stay is not None:
            exits["lost"] = ~goal & ~holds(question.stay, flat.labels, flat.n_states)
        return exits
    usual = [name for name in flat.labels if name not in _HIDDEN]
    wanted = options.goal or flat.goal or tuple(usual if len(usual) == 1 else ())
    if not wanted and not usual:
        return {END: _absorbing(flat)}
    if not wanted:
        fix = f"name one: goal=LABEL; labels: {_some(flat.labels)}"
        raise ModelError([Problem("", "has several labels", fix)], headline=f"{file}: ")
    for name in wanted:
        if name not in flat.labels:
            fix = f"labels: {_some(flat.labels)}"
            message = f"unknown label {shown(name)}"
            raise ModelError([Problem("goal", message, fix)], headline=f"{file}: ")
    return {name: flat.labels[name] for name in wanted}


def _some(names: Mapping[str, object]) -> str:
    listed = [shown(name)[1:-1] for name in list(names)[:20]]
    return ", ".join([*listed, "..."] if len(names) > 20 else listed) or "none"


def _absorbing(flat: Flat) -> np.ndarray:
    """States that have no choice, or only choices that stay and pay nothing."""
    source = np.repeat(np.arange(flat.n_states), np.diff(flat.branches[flat.choices]))
    leaves = (flat.target != source) & (flat.prob != 0) | (flat.reward != 0)
    return np.asarray(np.bincount(source[leaves], minlength=flat.n_states) == 0)


def flat_of(model: RMDP) -> Flat:
    """A model as flat states: hierarchical ones are flattened, exits are absorbing and labelled.

    A start distribution over several entries becomes a separate initial state, whose only
    choice leads to them and pays nothing.

    Raises:
        ModelError: The model is recursive.
    """
    from recurl.model.transforms.columns import Transitions
    from recurl.model.transforms.unravelling import flatten

    if model.tables.n_boxes or model.tables.n_components > 1:
        model = flatten(model)
    t, edges = model.tables, Transitions.of(model)
    exits = np.flatnonzero(t.vertex_kind == EXIT)
    size = t.n_vertices
    counts = np.diff(t.action_start)
    counts[exits] = 1
    branch_counts = np.diff(t.transition_start)
    place = int(t.action_start[exits[0]])
    loops = np.full(len(exits), 1)
    column = edges.column
    prob, reward = edges.prob, edges.reward
    at = int(t.transition_start[place])
    names = [model.names.nodes[v] for v in range(size)]
    actions = list(model.names.actions)
    actions[place:place] = [END] * len(exits)
    flat = Flat(
        model.name,
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([[0], np.cumsum(np.insert(branch_counts, place, loops))]),
        np.insert(t.target.astype(np.int64), at, exits),
        np.insert(prob, at, column.full(len(exits), 1)),
        np.insert(reward, at, column.full(len(exits), 0)),
        int(t.starts[0]),
        {names[v]: np.arange(size) == v for v in exits.tolist()},
        names,
        actions,
        tuple(names[v] for v in exits.tolist()),
        model.names.components[0],
    )
    return flat if len(t.starts) == 1 else _with_start(flat, model, column.start(model))


def _with_start(flat: Flat, model: RMDP, start: np.ndarray) -> Flat:
    """The same model with an initial state that leads to the entries."""
    used = np.flatnonzero(model.tables.start_prob)
    assert flat.state_names is not None
    assert flat.action_names is not None
    zero = np.zeros(len(used), flat.reward.dtype)
    return Flat(
        flat.name,
        np.append(flat.choices, flat.choices[-1] + 1),
        np.append(flat.branches, flat.branches[-1] + len(used)),
        np.concatenate([flat.target, used]),
        np.concatenate([flat.prob, start[used]]),
        np.concatenate([flat.reward, zero]),
        flat.n_states,
        {name: np.append(mask, False) for name, mask in flat.labels.items()},
        [*flat.state_names, _free(START, set(flat.state_names))],
        [*flat.action_names, START],
        flat.goal,
        flat.component,
    )
