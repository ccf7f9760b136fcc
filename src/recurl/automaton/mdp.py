"""Finite Markov decision processes whose steps carry labels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from recurl.errors import LimitError, ModelError, Problem
from recurl.model.action_columns import ActionColumns
from recurl.model.names import is_name, is_text
from recurl.model.numbers import NumberColumn, exact, number_text
from recurl.model.report import Report, shown
from recurl.model.spec import Number
from recurl.model.tables import Longs

Labels = Callable[[Any, Any, Any], Iterable[str]]
"""Labels of a step, given state, action and next state."""


class Move(NamedTuple):
    """One thing that a step may do: where it leads, how likely it is, and what it says.

    Attributes:
        target: Next state.
        p: Probability.
        reward: Reward.
        labels: Labels that are true of the step.
        ends: Whether the run ends with it.
    """

    target: Hashable
    p: Number = 1
    reward: Number = 0
    labels: Iterable[str] = ()
    ends: bool = False


class LabelledMDP:
    """A finite MDP whose steps carry labels, for products with machines.

    Made by `explore` from functions, by `from_table` from a transition table as Gymnasium's toy
    texts have it, by `from_env` from such an environment, by `from_arrays`, or by `gridworld`.

    Args:
        name: Name of the process.
        rows: For each state its actions by name, each with its moves; targets are state numbers.
        start: Probability of each state to be the first, by number.
        states: Names of the states.
        labels: All labels that may occur; those that do occur are added.
        features: Features of the states, one row each.
        feature_names: Their names.

    Raises:
        ModelError: With everything that is wrong.

    Example:
        >>> coin = LabelledMDP.explore(
        ...     "coin", {"hand": 1}, lambda state: ["toss"],
        ...     lambda state, action: [
        ...         Move("hand", "1/2", labels=["heads"]), Move("hand", "1/2", labels=["tails"])
        ...     ],
        ... )
        >>> coin
        <LabelledMDP coin: 1 state, 1 action, 2 labels>
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[Mapping[str, Sequence[Move]]],
        start: Mapping[int, Number],
        *,
        states: Sequence[str],
        labels: Iterable[str] = (),
        features: npt.ArrayLike | None = None,
        feature_names: Sequence[str] = (),
    ) -> None:
        self.name, self.states = name, tuple(states)
        self.features = None if features is None else np.asarray(features, np.float64)
        self.feature_names = tuple(feature_names)
        writer = _Writer(name)
        for number, row in enumerate(rows):
            writer.add_state(self.states[number], row)
        self.start = writer.start(start, self.states)
        writer.report.raise_any()
        counts = np.array([len(row) for row in rows], np.int64)
        self.action_start: Longs = np.concatenate([[0], np.cumsum(counts)])
        self.actions = tuple(writer.actions)
        self.transition_start: Longs = np.array(writer.transition_start, np.int64)
        self.target: Longs = np.array(writer.target, np.int64)
        self.label: Longs = np.array(writer.label, np.int64)
        self.ends = np.array(writer.ends, np.bool_)
        self.prob: Longs = np.array(writer.prob, np.int64)
        self.reward: Longs = np.array(writer.reward, np.int64)
        self.prob_values, self.reward_values = tuple(writer.probs), tuple(writer.rewards)
        self.label_sets = tuple(writer.label_sets)
        self.labels = tuple(sorted(set(labels).union(*self.label_sets)))

    @classmethod
    def explore(
        cls,
        name: str,
        start: Mapping[Any, Number],
        actions: Callable[[Any], Iterable[str]],
        step: Callable[[Any, str], Iterable[Move]],
        *,
        labels: Iterable[str] = (),
        state_name: Callable[[Any], str] = str,
        features: Callable[[Any], Sequence[float]] | None = None,
        feature_names: Sequence[str] = (),
        limit: int = 1_000_000,
    ) -> LabelledMDP:
        """The states that can be reached from the first ones, given by functions.

        Args:
            name: Name of the process.
            start: Probability of each first state; states are anything hashable.
            actions: Names of the actions of a state.
            step: Outcomes of an action in a state.
            labels: All labels that may occur; those that do occur are added.
            state_name: Name of a state.
            features: Features of a state.
            feature_names: Their names.
            limit: Most states.

        Raises:
            LimitError: There are more states than the limit.
        """
        number = {state: index for index, state in enumerate(start)}
        found = list(number)
        rows: list[dict[str, list[Move]]] = []
        for state in found:  # grows on the way
            row = {}
            for action in actions(state):
                moves = [Move(*move) for move in step(state, action)]
                # Nothing happens any more where a run has ended: any state will do.
                targets = [state if move.ends else move.target for move in moves]
                for target in targets:
                    if target not in number:
                        number[target] = len(found)
                        found.append(target)
                row[action] = [
                    move._replace(target=number[target])
                    for move, target in zip(moves, targets, strict=True)
                ]
            rows.append(row)
            if len(found) > limit:
                raise LimitError(f"{name} has more than {limit} states: raise `limit`")
        return cls(
            name,
            rows,
            {number[state]: p for state, p in start.items()},
            states=[state_name(state) for state in found],
            labels=labels,
            features=None if features is None else [list(features(state)) for state in found],
            feature_names=feature_names,
        )

    @classmethod
    def from_table(
        cls,
        table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
        labels: Labels,
        start: Mapping[int, Number],
        *,
        name: str = "table",
        actions: Sequence[str] = (),
        known: Iterable[str] = (),
        state_name: Callable[[int], str] = str,
    ) -> LabelledMDP:
        """A process from a table ``P[state][action] = [(p, next state, reward, ends), ...]``.

        Args:
            table: The table, as Gymnasium's toy texts have it.
            labels: Labels of a step, by (state, action, next state), all numbers.
            start: Probability of each first state.
            name: Name of the process.
            actions: Names of the actions; a0, a1, ... if not given.
            known: All labels that may occur; those that do occur are added.
            state_name: Name of a state.
        """

        def names(state: int) -> list[str]:
            return [actions[a] if actions else f"a{a}" for a in table[state]]

        def step(state: int, action: str) -> list[Move]:
            number = list(table[state])[names(state).index(action)]
            return [
                Move(int(there), _number(p), _number(r), labels(state, number, int(there)), ends)
                for p, there, r, ends in table[state][number]
                if p > 0
            ]

        chosen = {int(state): p for state, p in start.items()}
        return cls.explore(name, chosen, names, step, labels=known, state_name=state_name)

    @classmethod
    def from_env(
        cls,
        env: gym.Env[Any, Any],
        labels: Labels,
        start: Mapping[int, Number] | None = None,
        *,
        actions: Sequence[str] = (),
        known: Iterable[str] = (),
        state_name: Callable[[int], str] = str,
    ) -> LabelledMDP:
        """A process from a Gymnasium environment that shows its table ``P``, as toy texts do.

        Args:
            env: The environment, such as ``gymnasium.make("FrozenLake-v1")``.
            labels: Labels of a step, by (state, action, next state), all numbers.
            start: Probability of each first state; the environment's own if not given.
            actions: Names of the actions.
            known: All labels that may occur.
            state_name: Name of a state.

        Example:
            >>> lake = gym.make("FrozenLake-v1")
            >>> LabelledMDP.from_env(lake, lambda s, a, t: ["goal"] if t == 15 else [])
            <LabelledMDP FrozenLake-v1: 11 states, 4 actions, 1 label>
        """
        bare: Any = env.unwrapped
        if not hasattr(bare, "P"):
            fix = "give its moves to LabelledMDP.explore, or wrap it by MachineEnv"
            raise ModelError([Problem(str(env), "shows no transition table P", fix)])
        if start is None:
            row = np.asarray(bare.initial_state_distrib, np.float64)
            start = {int(s): _number(row[s]) for s in np.flatnonzero(row)}
        name = env.spec.id if env.spec is not None else type(bare).__name__
        return cls.from_table(
            bare.P, labels, start, name=name, actions=actions, known=known, state_name=state_name
        )

    @classmethod
    def from_arrays(
        cls,
        prob: npt.ArrayLike,
        reward: npt.ArrayLike,
        labels: Labels,
        *,
        start: Mapping[int, Number],
        ends: Iterable[int] = (),
        name: str = "arrays",
        actions: Sequence[str] = (),
    ) -> LabelledMDP:
        """A process from arrays.

        Args:
            prob: Probability of each next state. ``[S, A, S]``
            reward: Reward of each action, or of each step. ``[S, A]`` or ``[S, A, S]``
            labels: Labels of a step, by (state, action, next state), all numbers.
            start: Probability of each first state.
            ends: States that end the run when they are reached.
            name: Name of the process.
            actions: Names of the actions; a0, a1, ... if not given.

        Example:
            >>> prob = [[[0.5, 0.5]], [[0, 1]]]
            >>> LabelledMDP.from_arrays(prob, [[1], [0]], lambda s, a, t: [], start={0: 1})
            <LabelledMDP arrays: 2 states, 1 action, 0 labels>
        """
        p, last = np.asarray(prob, np.float64), frozenset(ends)
        if p.ndim != 3 or p.shape[0] != p.shape[2]:
            raise ValueError(f"prob has the shape {p.shape}: give [states, actions, states]")
        r = np.asarray(reward, np.float64)
        paid = np.broadcast_to(r[:, :, None] if r.ndim == 2 else r, p.shape)
        table = {
            s: {
                a: [
                    (float(p[s, a, t]), int(t), float(paid[s, a, t]), int(t) in last)
                    for t in np.flatnonzero(p[s, a])
                ]
                for a in range(p.shape[1])
            }
            for s in range(p.shape[0])
        }
        return cls.from_table(table, labels, start, name=name, actions=actions)

    def with_breakdown(self, p: Number, reward: Number = 0) -> LabelledMDP:
        """The same process in which each step first breaks down, which ends the run.

        Every transition becomes (1 - p) times as likely; the rest goes to a step without labels
        that pays `reward`. So every run ends, whatever the agent does.
        """
        break_p = exact(p)
        if not 0 <= break_p < 1:
            raise ValueError(f"the probability of a breakdown must be in [0, 1), not {p}")
        broken = [] if not break_p else [(break_p, reward)]
        rows = []
        for state in range(len(self.states)):
            stop = [Move(state, q, r, ends=True) for q, r in broken]
            rows.append({a: [*m, *stop] for a, m in self._row(state, 1 - break_p)})
        return LabelledMDP(
            self.name,
            rows,
            {s: q for s, q in enumerate(self.start) if q},
            states=self.states,
            labels=self.labels,
            features=self.features,
            feature_names=self.feature_names,
        )

    def _row(self, state: int, scale: Fraction) -> Iterable[tuple[str, list[Move]]]:
        for action in range(self.action_start[state], self.action_start[state + 1]):
            moves = [
                Move(
                    int(self.target[t]),
                    self.prob_values[self.prob[t]] * scale,
                    self.reward_values[self.reward[t]],
                    self.label_sets[self.label[t]],
                    bool(self.ends[t]),
                )
                for t in range(self.transition_start[action], self.transition_start[action + 1])
            ]
            yield self.actions[action], moves

    def __repr__(self) -> str:
        names = (len(self.states), "state"), (len(set(self.actions)), "action")
        sizes = (*names, (len(self.labels), "label"))
        words = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in sizes]
        return f"<LabelledMDP {self.name}: {', '.join(words)}>"


class _Writer:
    """Columns that grow, numbers and label sets kept once each."""

    def __init__(self, name: str) -> None:
        self.report = Report(f"labelled process {name}: ")
        self._rows = ActionColumns(binary=False, report=self.report)
        self._settled: dict[tuple[str, ...], list[Fraction]] = {}
        self.actions: list[str] = []
        self.transition_start = [0]
        self.target: list[int] = []
        self.prob: list[int] = []
        self.reward: list[int] = []
        self.label: list[int] = []
        self.ends: list[bool] = []
        self.probs: dict[Fraction, int] = {}
        self.rewards: dict[Fraction, int] = {}
        self.label_sets: dict[frozenset[str], int] = {}

    def add_state(self, name: str, row: Mapping[str, Sequence[Move]]) -> None:
        if not is_name(name):
            self.report.add(("state", name), "is not a usable name", "use no dots")
        if not row:
            self.report.add(("state", name), "has no action", "add one")
        for action, moves in row.items():
            path = ("state", name, "action", action)
            if not is_text(action) or not moves:
                self.report.add(path, "has no usable name, or leads nowhere", "correct it")
            self._add_moves(moves, path)
            self.actions.append(action)
            self.transition_start.append(len(self.target))

    def _add_moves(self, moves: Sequence[Move], path: tuple[str, ...]) -> None:
        for p, move in zip(self._distribution(moves, path), moves, strict=True):
            labels = frozenset(move.labels)
            self.target.append(move.target)  # type: ignore[arg-type]
            self.prob.append(self.probs.setdefault(p, len(self.probs)))
            paid = self._exact(move.reward, path)
            self.reward.append(self.rewards.setdefault(paid, len(self.rewards)))
            self.label.append(self.label_sets.setdefault(labels, len(self.label_sets)))
            self.ends.append(bool(move.ends))

    def _exact(self, number: Number, path: tuple[str, ...]) -> Fraction:
        try:
            return exact(number)
        except ValueError as error:
            self.report.add(path, f"reward: {error}", "give a finite number")
            return Fraction(0)

    def _distribution(self, moves: Sequence[Move], path: tuple[str, ...]) -> list[Fraction]:
        """Exact probabilities; a sum that misses 1 by rounding is made up for by the last."""
        row = tuple(NumberColumn.read([move.p for move in moves]).texts)
        if row not in self._settled:
            values = NumberColumn.read(row).values
            for value in values:
                if not 0 < value <= 1:
                    message = f"a probability is {value}, not in (0, 1]"
                    self.report.add(path, message, "give probabilities that sum to 1")
                    return [Fraction(1)] * len(moves)
            texts = self._rows.settled(list(row), path)
            self._settled[row] = [exact(text) for text in texts]
        return self._settled[row]

    def start(self, given: Mapping[int, Number], states: Sequence[str]) -> tuple[Fraction, ...]:
        likely = {s: p for s, p in given.items() if exact(p) != 0}
        if not likely or not all(0 <= s < len(states) for s in likely):
            message = f"names {shown(sorted(likely))}"
            self.report.add(("start",), message, "give states and probabilities that sum to 1")
            return ()
        moves = [Move(0, p) for p in likely.values()]
        probs = dict(zip(likely, self._distribution(moves, ("start",)), strict=True))
        return tuple(probs.get(s, Fraction(0)) for s in range(len(states)))


def _number(value: Any) -> str:
    """A number of a table, whatever its type, as text."""
    return number_text(float(value))
