"""Counts of outcomes by state and action, with the components and calls that events reveal.

A component is a set of states that steps and returns connect; a box is named by the states after
its exits. Both are found as they are met, through the recursive protocol alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from recurl.env.protocol import (
    NOT_OBSERVATIONS,
    allowed_actions,
    changed_mask,
    check_form,
    not_in_space,
)
from recurl.learn.numbering import key_function

STEP, CALL, EXIT, LEAVE, END = range(5)
"""Kinds of outcomes: to a state, into a box, through an exit of a call, out of the outermost
component (through an exit that is not named), and to the end of a run with calls pending."""
_REWARDS = 8
"""Rewards of the same target that are outcomes of their own; the last one takes all others."""


class OutcomeCounts:
    """States, pairs of state and action, boxes, and how often each outcome was observed.

    Args:
        observations: The observation space.
        actions: The action space.

    Attributes:
        pairs_of: Pairs of each state, empty where no run has stood.
        pair_state: State of each pair.
        pair_action: Action of each pair, as the environment numbers it.
        tried: How often each pair was tried.
        outcomes: Outcomes of each pair, by number.
        owner: Pair of each outcome.
        kind: Kind of each outcome.
        target: Its state, entry or exit.
        box: Its box, or -1.
        count: How often it was observed.
        reward: Sum of its rewards.
        paid: Its reward, or the first one of many.
        boxes: Number of each box, by the states after its exits.
        after: States after the exits of each box.
        entries: Some entry that each box calls.
        starts: How often runs have begun at each state.
        root_states: States of the outermost call, where it has states of its own. Their keys are
            tuples of one, which no other key in the same space is.

    Example:
        >>> counts = OutcomeCounts(spaces.Discrete(3), spaces.Discrete(2))
        >>> counts.begin(counts.visit(0, None))
        >>> counts.add(counts.pairs_of[0][1], STEP, counts.visit(2, None), -1, -0.5)
        >>> counts.tried, counts.component(1) == counts.component(0)
        ([0, 1, 0, 0], True)
    """

    def __init__(self, observations: spaces.Space[Any], actions: spaces.Discrete) -> None:
        self.spaces, self._observations = f"{observations}, {actions}", observations
        self.first_number, self.width = int(actions.start), int(actions.n)
        self.key = key_function(observations)
        self.states: dict[Hashable, int] = {}
        self.pairs_of: list[list[int]] = []
        self.parent: list[int] = []
        self.pair_state: list[int] = []
        self.pair_action: list[int] = []
        self.tried: list[int] = []
        self.outcomes: list[list[int]] = []
        self.owner: list[int] = []
        self.kind: list[int] = []
        self.target: list[int] = []
        self.box: list[int] = []
        self.count: list[int] = []
        self.reward: list[float] = []
        self.paid: list[float] = []
        self.boxes: dict[tuple[int, ...], int] = {}
        self.after: list[tuple[int, ...]] = []
        self.entries: list[int] = []
        self.starts: dict[int, int] = {}
        self.root_states: set[int] = set()
        self._places: dict[tuple[int, int, int, int], list[int]] = {}
        # The latest mask of each state, as bytes; True where there was none.
        self._masks: dict[int, bytes | bool] = {}

    def state(self, observation: Any, at_root: bool = False) -> int:
        """Number of an observation, new if it was never met; at the root, it has another one."""
        number = self.find(observation, at_root)
        if number < 0:
            check_form(observation, self._observations)
            key = self.key(observation)
            number = self.add_state((key,) if at_root else key)
            if at_root:
                self.root_states.add(number)
        return number

    def find(self, observation: Any, at_root: bool = False) -> int:
        """Number of an observation; -1 if it was never met."""
        try:
            key = self.key(observation)
        except NOT_OBSERVATIONS:
            raise not_in_space(observation, self._observations) from None
        return self.states.get((key,) if at_root else key, -1)

    def add_state(self, key: Hashable) -> int:
        """A new state, by the key of its observation."""
        number = self.states[key] = len(self.states)
        self.pairs_of.append([])
        self.parent.append(number)
        return number

    def visit(self, observation: Any, mask: np.ndarray | None, at_root: bool = False) -> int:
        """Number of the state that a run stands at; its pairs are known from now on."""
        state = self.state(observation, at_root)
        text = mask.tobytes() if isinstance(mask, np.ndarray) else mask is None
        if text and self._masks.get(state) == text:
            return state
        known = [self.pair_action[pair] for pair in self.pairs_of[state]]
        allowed = [self.first_number + action for action in allowed_actions(mask, self.width)]
        if known and known != allowed:
            raise changed_mask(observation, allowed, known)
        for action in () if known else allowed:
            self.add_pair(state, action)
        self._masks[state] = text
        return state

    def add_pair(self, state: int, action: int) -> None:
        """A new pair."""
        self.pairs_of[state].append(len(self.tried))
        self.pair_state.append(state)
        self.pair_action.append(action)
        self.tried.append(0)
        self.outcomes.append([])

    def begin(self, state: int) -> None:
        """Count the start of a run."""
        if state not in self.starts:
            self.starts[state] = 0
            self._join(next(iter(self.starts)), state)
        self.starts[state] += 1

    def find_box(self, after: Sequence[int], entry: int) -> int:
        """Number of the box with these states after its exits, which calls an entry."""
        number = self.boxes.setdefault(tuple(after), len(self.boxes))
        if number == len(self.entries):
            self.entries.append(entry)
            self.after.append(tuple(after))
            for state in after:
                self._join(after[0], state)
        else:
            self._join(self.entries[number], entry)
        return number

    def add(
        self, pair: int, kind: int, target: int, box: int, reward: float, times: int = 1
    ) -> None:
        """Count an outcome of a pair; different rewards are different outcomes.

        Args:
            pair: The pair.
            kind: The kind of outcome.
            target: The state, the entry or the exit; 0 for the end of a run.
            box: The box of a call, as `find_box` has returned it, else -1.
            reward: The reward, or the sum of several.
            times: How often it was observed.
        """
        key, paid = (pair, kind, target, box), reward / times
        places = self._places.get(key, [])
        for place in places:
            if self.paid[place] == paid:
                break
        else:
            place = places[-1] if len(places) == _REWARDS else self.add_outcome(key, paid)
        self.put(place, reward, times)

    def put(self, place: int, reward: float, times: int) -> None:
        """Count an outcome by its number, with the sum of its rewards."""
        self.tried[self.owner[place]] += times
        self.count[place] += times
        self.reward[place] += reward

    def add_outcome(self, key: tuple[int, int, int, int], paid: float) -> int:
        """A new outcome: pair, kind, target and box, with a reward; its number."""
        pair, kind, target, box = key
        place = len(self.count)
        self._places.setdefault(key, []).append(place)
        self.outcomes[pair].append(place)
        self.owner.append(pair)
        self.kind.append(kind)
        self.target.append(target)
        self.box.append(box)
        self.paid.append(paid)
        self.count.append(0)
        self.reward.append(0.0)
        if kind == STEP:
            self._join(self.pair_state[pair], target)
        elif kind == CALL:
            self._join(self.pair_state[pair], self.after[box][0])
        return place

    def _join(self, one: int, other: int) -> None:
        self.parent[self.component(one)] = self.component(other)

    def component(self, state: int) -> int:
        """A state that stands for the component of a state."""
        parent = self.parent
        while parent[state] != state:
            parent[state] = parent[parent[state]]
            state = parent[state]
        return state
